"""Combinations of models against a search by hand, and minimum-risk decoding against its definition."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from experiments.combination.minimum_risk import choose_least_risk, choose_oracle, probabilities, units_of
from experiments.combination.run import main
from experiments.end_to_end.run import main as run_end_to_end
from genrst.formats.files import write
from genrst.model.scoring.scorer import NetworkScorer
from genrst.model.storage import Model, load_model, make_network, save_model
from genrst.model.symbols import Symbols
from genrst.search.beam import BeamOptions, search_beams
from genrst.search.ensemble import Ensemble
from genrst.training.data import load_prepared, save_prepared
from genrst.training.dev import evaluate_parses, parseval_f1
from genrst.transitions.actions import ActionSet, Reduce
from genrst.vocabulary import Vocabulary
from tests.model.random_examples import N_LABELS, random_actions, random_example
from tests.parser.samples import write_ensemble, write_parser
from tests.training.samples import SMALL, make_document, prepare_samples

torch.set_num_threads(1)

LABELS = ActionSet(tuple(Reduce(relation, shape) for relation in ("cause", "joint") for shape in ("NN", "NS", "SN")))
SYMBOLS = Symbols(Vocabulary(()), Vocabulary(()), LABELS)
assert len(LABELS.labels) == N_LABELS


def f1(example: Any, gold: tuple[int, ...], found: tuple[int, ...]) -> float:
    """By the evaluation of whole documents."""
    (counts,) = evaluate_parses([replace(example, actions=gold)], [found], SYMBOLS).document_counts()
    return counts.f1


@given(st.integers(2, 7), st.integers(1, 6), st.randoms(use_true_random=False), st.sampled_from([0.5, 1, 20]))
def test_least_risk_is_the_highest_expected_f(n_edus: int, k: int, rng: random.Random, temperature: float):
    example = random_example(n_edus)
    trees = [random_actions(n_edus, rng) for _ in range(k)]
    scores = [rng.uniform(-1000, -990) for _ in trees]
    shares = probabilities(scores, temperature)
    expected = [
        sum(share * f1(example, gold, found) for gold, share in zip(trees, shares, strict=True)) for found in trees
    ]
    chosen = choose_least_risk([units_of(tree) for tree in trees], scores, temperature)
    assert expected[chosen] == pytest.approx(max(expected))
    gold = random_actions(n_edus, rng)
    oracle = choose_oracle([units_of(tree) for tree in trees], units_of(gold))
    assert f1(example, gold, trees[oracle]) == max(f1(example, gold, tree) for tree in trees)


def test_likelier_trees_count_more():
    """Three trees, two of them alike: cold, the likeliest wins; hot, one of the two."""
    trees = [units_of(actions) for actions in ((0, 0, 0, 1, 1), (0, 0, 2, 0, 2), (0, 0, 2, 0, 3))]
    assert choose_least_risk(trees, [-1, -3, -4], 0.1) == 0
    assert choose_least_risk(trees, [-1, -3, -4], 1000) == 1
    assert probabilities([-1e6, -1e6], 1) == [0.5, 0.5], "however small"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Features and two models of random weights, one of them generative."""
    folder = tmp_path_factory.mktemp("combination")
    prepared = prepare_samples()
    save_prepared(prepared, folder / "features.npz")
    for seed, config in enumerate((SMALL, replace(SMALL, kind="discriminative")), start=1):
        torch.manual_seed(seed)
        network = make_network(config, prepared.symbols).eval()
        for parameter in network.parameters():
            torch.nn.init.uniform_(parameter, -0.5, 0.5)
        save_model(Model(network, prepared.symbols), folder / f"seed-{seed}" / "model")
    return folder


def run(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    main([*words, "--device", "cpu"])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def models(folder: Path) -> list[str]:
    return [str(folder / f"seed-{seed}" / "model") for seed in (1, 2)]


def test_every_setting_is_a_search_of_its_own(folder: Path, capsys: pytest.CaptureFixture[str]):
    words = ["--prepared", str(folder / "features.npz"), "--models", *models(folder), "--beam", "3"]
    rows = run(capsys, *words, "--weights", "1,0.25", "0,1", "--word-weights", "0.5", "1", "--at-once", "2")
    assert [(row["weights"], row["word_weight"]) for row in rows] == [
        ([1, 0.25], 0.5),
        ([1, 0.25], 1),
        ([0, 1], 0.5),
        ([0, 1], 1),
    ]
    prepared = load_prepared(folder / "features.npz")
    members = [load_model(Path(name)) for name in models(folder)]
    for row in rows:
        found = []
        for example in prepared.dev:
            scorers = [NetworkScorer(one.network, [example], one.symbols.nucleus_is_right) for one in members]
            options = BeamOptions(3, word_weight=row["word_weight"])
            found.append(search_beams(Ensemble(scorers, row["weights"]), options)[0].parses[0].actions)
        expected = parseval_f1(evaluate_parses(prepared.dev, found, prepared.symbols))
        assert {aspect: row[aspect] for aspect in "SNRF"} == pytest.approx(expected, abs=0.006)
        assert (row["seeds"], row["documents"], row["edus"]) == ([1, 2], 3, 11)
        assert row["edus_per_second"] > 0
        assert row["hardware"]


def test_choices_among_the_best(folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    words = ["--prepared", str(folder / "features.npz"), "--models", models(folder)[0], "--beam", "2"]
    words += ["--minimum-risk", "5", "--results", str(tmp_path / "rows.jsonl")]
    best, cold, hot, oracle = run(capsys, *words, "--temperatures", "0.001", "50")
    assert best["beam"] == 5, "as many trees as are chosen among"
    assert [row["choice"] for row in (cold, hot, oracle)] == ["minimum risk", "minimum risk", "oracle"]
    for aspect in "SNRF":
        assert cold[aspect] == best[aspect], "without doubt the best tree is the best choice"
    assert oracle["F"] >= max(row["F"] for row in (best, cold, hot))
    assert oracle["F"] > best["F"]
    lines = (tmp_path / "rows.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [best, cold, hot, oracle]
    (row, *_) = run(capsys, *words, "--documents", "1")
    assert (row["documents"], row["edus"]) == (1, 3)


def test_a_corpus_gives_what_the_parser_gives(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for number in range(3):
        document = replace(make_document(number), tokens=(), sentences=())
        write(document, tmp_path / "corpus" / "dev" / f"{number}.json")
    write_parser(tmp_path / "one", has_segmenter=False)
    write_parser(tmp_path / "two", kind="discriminative", has_segmenter=False)
    write_ensemble(tmp_path / "both", {"../one": 1.0, "../two": 0.5})
    run_end_to_end([str(tmp_path / "corpus"), "--model", str(tmp_path / "both"), "--forms", "gold", "--device", "cpu"])
    expected = json.loads(capsys.readouterr().out)
    names = [str(tmp_path / name) for name in ("one", "two")]
    (row,) = run(capsys, str(tmp_path / "corpus"), "--models", *names, "--weights", "1,0.5", "--beam", "4")
    assert [row[aspect] for aspect in "SNRF"] == [expected[aspect] for aspect in "SNRF"]
    assert (expected["seeds"], row["seeds"], expected["documents"]) == ([None, None], [None, None], 3)
    assert row["torch"] == expected["torch"] == torch.__version__


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "documents must come from a corpus or from --prepared, was: both or neither"),
        (["gum", "--prepared", "F"], "documents must come from a corpus or from --prepared, was: both or neither"),
        (["--prepared", "F", "--split", "test"], "--prepared has dev documents alone, was: --split test"),
        (["--prepared", "F", "--temperatures", "2"], "--temperatures needs --minimum-risk"),
        (["--prepared", "F", "--weights", "1"], "--weights: there must be one for each of 2 models, was: (1.0,)"),
        (["--prepared", "F", "--weights", "1,x"], "must be numbers from 0 on, with commas, and not all 0, was: '1,x'"),
        (["--prepared", "F", "--weights", "0,0"], "must be numbers from 0 on, with commas, and not all 0, was: '0,0'"),
        (["--prepared", "F", "--weights=-1,1"], "must be numbers from 0 on, with commas, and not all 0, was: '-1,1'"),
        (["--prepared", "F", "--word-weights", "-1"], "word_weight: the value must be finite and 0 or more, was: -1.0"),
        (["--prepared", "F"], "F: the file must hold prepared features"),
        (["nowhere"], "nowhere"),
        (["--prepared", "F", "--models", "none"], "or be a folder, was: 'none'"),
        (["--prepared", "F", "--device", "tpu"], "a device must be auto, cpu, or a GPU"),
    ],
)
def test_errors_are_one_line(
    words: list[str], message: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as end:
        main(words if "--models" in words else [*words, "--models", *models(folder)])
    assert end.value.code in (1, 2)
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_an_ensemble_is_no_member(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    ensemble = str(write_ensemble(tmp_path / "both", dict.fromkeys(models(folder), 1.0)))
    with pytest.raises(SystemExit):
        main(["--prepared", str(folder / "features.npz"), "--models", ensemble])
    assert capsys.readouterr().err == f"{ensemble}: a model must have weights of its own, was: an ensemble\n"
