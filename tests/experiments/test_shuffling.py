"""Shuffled texts; and a language model without a stack: flat trees, what is seen of them, its place beside a parser."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import genrst
from experiments.shuffling import flatten, run
from genrst.document import Document, Span
from genrst.parser.parser import Parser
from genrst.rnng.batch import derive, make_batch
from genrst.rnng.examples import Example
from genrst.rnng.finder import make_network
from genrst.rnng.likelihood import score_trees
from genrst.rnng.network import Network
from genrst.training.prepared import load_prepared, save_prepared
from genrst.training.run import Run
from genrst.training.run_config import DataConfig, RunConfig, TrainingConfig
from genrst.trees.node import Leaf, Unit
from tests.experiments.errors import ends_in_one_line
from tests.parser.samples import LABELS, PIPELINE, rnng_finder, write_parser
from tests.training.samples import SMALL, make_document, prepare_samples

FULL = replace(SMALL, layout_size=4, direct_size=4, hidden_size=24, document_size=8)
"""With all that states can consist of."""


def make_numbers() -> Document:
    edus = ["One", "two .", "Three", "four .", "Five .", "Six", "seven ."]
    plain = Document.from_edus("numbers", edus, paragraph_starts=[4])
    sentences = tuple(Span(*plain.offsets(*part)) for part in [(0, 2), (2, 4), (4, 5), (5, 7)])
    return Document("numbers", plain.text, plain.edus, sentences=sentences, paragraphs=plain.paragraphs)


@pytest.mark.parametrize("level", ["edus", "sentences", "paragraphs"])
def test_shuffled_texts_have_the_same_words_in_another_order(level: run.Level):
    original = make_numbers()
    for seed in range(5):
        copy = run.shuffled(original, level, seed)
        assert Counter(copy.edu_texts) == Counter(original.edu_texts)
        assert copy.edu_texts != original.edu_texts
        whole = ["".join(original.edu_texts[edu] for edu in block) for block in run.blocks(original, level)]
        assert all(part in "".join(copy.edu_texts) for part in whole)
        paragraphs = copy.paragraph_of_edus()
        (start,) = [edu for edu in range(1, 7) if paragraphs[edu] != paragraphs[edu - 1]]
        if level == "sentences":
            assert sum(text.endswith(".") for text in copy.edu_texts[:start]) == 2, "two sentences are a paragraph"
        else:
            assert start == {"edus": 4, "paragraphs": 3}[level]


@pytest.mark.slow
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for number in range(3):
        genrst.write(make_document(number), tmp_path / "corpus" / "dev" / f"dev-{number}.json")
    model = write_parser(tmp_path / "model", has_segmenter=False)
    words = [str(tmp_path / "corpus"), "--models", str(model), "--output", str(tmp_path), "--device", "cpu"]
    run.main([*words, "--copies", "3", "--documents", "2"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["level"] for row in rows[:-1]} == {"edus", "sentences"}, "there is one paragraph"
    assert all(0 <= row["original_is_likelier"] <= 1 for row in rows[:-1])
    assert (tmp_path / "shuffling.svg").is_file()


def test_the_command_replaces_nothing_but_trees(tmp_path: Path):
    prepared = prepare_samples()
    save_prepared(replace(prepared, silver=prepared.train[1:], notes={"n_words": 3}), tmp_path / "features.npz")
    flatten.main(["--prepared", str(tmp_path / "features.npz"), "--output", str(tmp_path / "flat.npz")])
    before, after = load_prepared(tmp_path / "features.npz"), load_prepared(tmp_path / "flat.npz")
    assert [one.actions for one in after.train] == [(0, 0, 0, 1, 1), *2 * [(0, 0, 0, 0, 1, 1, 1)]]
    assert after.symbols == before.symbols
    assert after.notes == {"n_words": 3, "trees": "flat"}
    for part in ("train", "dev", "silver"):
        for old, new in zip(getattr(before, part), getattr(after, part), strict=True):
            assert new.actions == flatten.flat_actions(old.n_edus) != old.actions
            assert (new.id, new.syntax) == (old.id, old.syntax)
            for column in ("edu_words", "edu_lengths", "token_words"):
                assert getattr(new, column).tolist() == getattr(old, column).tolist()


def test_a_single_edu_is_flat():
    assert flatten.flat_actions(1) == (0,)


def test_what_is_no_features_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = ["--prepared", str(tmp_path / "none.npz"), "--output", str(tmp_path / "flat.npz")]
    ends_in_one_line(lambda: flatten.main(words), "not a file of prepared features", capsys)


def word_logps(network: Network, examples: list[Example], is_right: tuple[bool, ...]) -> list[float]:
    with torch.inference_mode():
        logps: list[float] = network(make_batch(examples, [derive(one, is_right) for one in examples])).words.tolist()
    return logps


def test_words_of_flat_trees_are_given_no_composed_unit():
    """Other weights of composition change the words of trees, but never those of flat ones."""
    prepared = prepare_samples()
    is_right = prepared.symbols.nucleus_is_right
    torch.manual_seed(1)
    network = make_network(FULL, prepared.symbols).eval()
    flat = flatten.flatten(prepared).train
    before, before_flat = (word_logps(network, examples, is_right) for examples in (prepared.train, flat))
    composition = network.composition
    for layer in (composition.relations, composition.from_input, composition.from_children):
        torch.nn.init.uniform_(layer.weight, -1, 1)
    assert word_logps(network, flat, is_right) == before_flat
    assert word_logps(network, prepared.train, is_right) != before


def test_words_of_flat_trees_are_given_all_earlier_edus():
    """The stack is an LSTM over EDUs: other words in the first one change those of the last."""
    prepared = prepare_samples()
    torch.manual_seed(1)
    network = make_network(SMALL, prepared.symbols).eval()
    example = flatten.flatten(prepared).train[1]
    assert example.n_edus == 4, "so that the first one is not among the last two when the last one is generated"
    words = example.edu_words.copy()
    words[0] += 1
    changed = replace(example, edu_words=words)
    before, after = (word_logps(network, [one], prepared.symbols.nucleus_is_right) for one in (example, changed))
    n_last = int(example.edu_lengths[-1]) + 1
    assert all(one != other for one, other in zip(before[-n_last:], after[-n_last:], strict=True))


@pytest.mark.slow
def test_without_a_stack_a_text_has_its_flat_tree(parser: Parser):
    document = run.ordered(make_document(0), range(3))
    (score,) = run.Judge(parser, has_stack=False).score([document])
    label = LABELS[0]
    inner = Unit(label.relation, label.nuclearity, (Leaf(1), Leaf(2)))
    (parse,) = score_trees(rnng_finder(parser), document, [Unit(label.relation, label.nuclearity, (Leaf(0), inner))])
    assert score.logp == pytest.approx(parse.logp, abs=1e-4)
    assert score.word_logp == pytest.approx(parse.word_logp, abs=1e-4)
    assert score.n_words == 3 + 4 + 1 + 3 + 1 + 3, "words and the ends of EDUs; a full stop is one"
    assert score.per_word == score.logp / score.n_words


@pytest.mark.slow
def test_with_a_stack_a_text_has_its_best_tree(parser: Parser):
    document = run.ordered(make_document(1), range(4))
    (score,) = run.Judge(parser).score([document])
    (parsed,) = parser.pipe([document])
    assert isinstance(parsed, genrst.Document)
    assert score.logp == pytest.approx(parsed.log_probability, abs=1e-4)
    assert score.word_logp > score.logp


def test_means_are_over_words():
    scores = [run.Score(-10.0, -8.0, 2), run.Score(-20.0, -4.0, 8)]
    assert run.means_per_word(scores) == {"logp_per_word": -3.0, "word_logp_per_word": -1.2}


def train(flat: Path, folder: Path) -> Path:
    """As `genrst train` does, with the settings that `flatten.py` names."""
    training = TrainingConfig(
        max_epochs=40, evaluate_epochs=10, checkpoint_epochs=40, patience=40, learning_rate=0.02,
        select="loss", evaluate_search="greedy",
    )  # fmt: skip
    config = RunConfig(DataConfig(pipeline=PIPELINE), SMALL, training)
    *_, last = Run(config, 1, folder, torch.device("cpu")).records(load_prepared(flat))
    assert last.dev_scores["F"] == 100, "greedy search finds flat trees"
    return folder / "model"


@pytest.mark.slow
def test_from_features_to_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    save_prepared(prepare_samples(), tmp_path / "features.npz")
    flatten.main(["--prepared", str(tmp_path / "features.npz"), "--output", str(tmp_path / "flat.npz")])
    flat = str(train(tmp_path / "flat.npz", tmp_path / "run"))
    model = str(write_parser(tmp_path / "model", has_segmenter=False))
    for number in range(3):
        genrst.write(make_document(number), tmp_path / "corpus" / "dev" / f"{number}.json")
    words = [str(tmp_path / "corpus"), "--output", str(tmp_path), "--device", "cpu", "--copies", "3"]
    run.main([*words, "--models", model, "--without-stack", flat, model])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    by_model = {row["model"]: row for row in rows if "documents" in row}
    assert list(by_model) == [model, f"{flat}, without a stack", f"{model}, without a stack"]
    trained, untrained = by_model[f"{flat}, without a stack"], by_model[f"{model}, without a stack"]
    assert trained["edus"] == 1, "texts that it was trained on"
    assert by_model[model]["logp_per_word"] > untrained["logp_per_word"], "no tree is better than the best one"
    assert trained["logp_per_word"] > untrained["logp_per_word"]
    assert trained["word_logp_per_word"] - trained["logp_per_word"] < 0.05, "a flat tree costs next to nothing"
    assert untrained["word_logp_per_word"] - untrained["logp_per_word"] > 0.05
    per_document = [row["logp_per_word"] for row in rows if row["model"] == model and row.get("level") == "edus"]
    assert min(per_document) < by_model[model]["logp_per_word"] < max(per_document)
    picture = (tmp_path / "shuffling.svg").read_text(encoding="utf-8")
    assert picture.count("without a stack") == 2
    other = str(write_parser(tmp_path / "other", kind="discriminative", has_segmenter=False))
    message = f"models must be generative, got {other}"
    ends_in_one_line(lambda: run.main([*words, "--models", model, "--without-stack", other]), message, capsys)
