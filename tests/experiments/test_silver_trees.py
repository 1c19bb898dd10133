"""Silver trees by teachers that number words, relations, word pieces and actions in another way, and translation."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from experiments.silver_trees import join, label
from experiments.silver_trees.label import choose
from experiments.silver_trees.teachers import make_translation
from genrst.encoder.model import Model, save_model
from genrst.encoder.tokenizer import PieceTokenizer
from genrst.errors import UsageError
from genrst.rnng.config import NONE, SPECIALS, UNK, Symbols, Vocabulary
from genrst.rnng.examples import Example, prepare
from genrst.rnng.finder import RnngModel, load_rnng, make_network
from genrst.rnng.scoring.scorer import NetworkScorer
from genrst.rnng.search.beam import BeamOptions, search_beams, search_greedily
from genrst.rnng.search.scorer import Ensemble
from genrst.rnng.transitions.actions import GENERATE, ActionSet, Reduce
from genrst.rnng.transitions.features import Syntax
from genrst.training.prepared import Prepared, load_prepared, save_prepared
from genrst.training.run import MODEL, Run
from genrst.training.run_config import RunConfig, TrainingConfig
from tests.encoder.tiny_encoders import LETTERS, make_tokenizer, write_encoder
from tests.experiments.errors import ends_in_one_line
from tests.rnng.random_examples import random_actions, random_example
from tests.test_storage import trained as trained
from tests.training.samples import SMALL, make_document, prepare_samples

torch.set_num_threads(1)


def spell(*pieces: str) -> PieceTokenizer:
    tokenizer = Tokenizer(models.WordPiece({piece: n for n, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return PieceTokenizer(tokenizer.to_str())


def make_symbols(words: list[str], deprels: list[str], *labels: str) -> Symbols:
    actions = ActionSet(tuple(Reduce(*label.split()) for label in labels))
    return Symbols(Vocabulary((*SPECIALS, *words)), Vocabulary((NONE, UNK, *deprels)), actions)


OURS = make_symbols(["sea", "<pad>", "fog", "boat"], ["obj", "nsubj"], "cause NS", "joint NN", "cause SN")
THEIRS = make_symbols(["boat", "sea"], ["det", "nsubj", "obj"], "cause SN", "cause NS")
EXAMPLE = Example(
    "by hand",
    edu_words=np.array([4, 6, 2, 5, 7]),
    edu_lengths=np.array([2, 3]),
    token_words=np.array([7, 6, 4, 2, 4]),
    syntax=Syntax([0, 0, 0, 0, 0], [2, 3, 1, 0, 2], [0, 2, 5], [0, 0], [0, 0]),
    actions=(0, 0, 2),
    pieces=np.array([0, 1, 3, 4]),
    piece_lengths=np.array([2, 2]),
)


def by_hand(labels: Symbols = THEIRS, *, has_pieces: bool = True) -> tuple[Prepared, RnngModel]:
    tokenizers = spell("a", "[UNK]", "never", "##b", "c"), spell("[UNK]", "c", "a", "b")
    tokenizer = tokenizers[0].json if has_pieces else None
    prepared = Prepared("rnng", OURS, [], [EXAMPLE], None, {}, tokenizer=tokenizer)
    return prepared, Model(make_network(SMALL, labels), labels, tokenizers[1])


def test_a_document_by_hand():
    translation = make_translation(*by_hand())
    found = translation.to_model(EXAMPLE)
    # sea fog <unk> <pad>-the-word boat; <pad>, the word, and fog are unknown to the model.
    assert found.edu_words.tolist() == [5, 2, 2, 2, 4]
    assert found.token_words.tolist() == [4, 2, 5, 2, 5]
    # obj nsubj <unk> <none> obj
    assert found.syntax.deprels == [4, 3, 1, 0, 4]
    # a [UNK] ##b c
    assert found.pieces.tolist() == [2, 0, 0, 1]
    for name in ("edu_lengths", "piece_lengths"):
        assert getattr(found, name).tolist() == getattr(EXAMPLE, name).tolist()
    assert replace(found.syntax, deprels=EXAMPLE.syntax.deprels) == EXAMPLE.syntax
    # GEN GEN RE(cause, SN) GEN RE(cause, NS)
    assert translation.from_model([0, 0, 1, 0, 2]) == (0, 0, 3, 0, 1)


def test_special_symbols_are_themselves():
    translation = make_translation(*by_hand())
    assert translation.words[: len(SPECIALS)].tolist() == [0, 1, 2, 3]
    assert translation.deprels[:2].tolist() == [0, 1]


def test_a_model_without_an_encoder_needs_no_pieces():
    prepared, model = by_hand()
    for features in (prepared, replace(prepared, tokenizer=None)):
        assert make_translation(features, replace(model, tokenizer=None)).to_model(EXAMPLE).pieces is EXAMPLE.pieces


def test_what_does_not_fit():
    with pytest.raises(UsageError, match="prepare them with an encoder"):
        make_translation(*by_hand(has_pieces=False))
    with pytest.raises(UsageError, match=r"the features lack a label of the model: RE\(mode, NS\)"):
        make_translation(*by_hand(make_symbols([], [], "cause NS", "mode NS")))


def test_the_sample():
    silver = [random_example(n_edus, n_edus) for n_edus in range(1, 30)]
    found = choose(silver, range(10, 21), 5, seed=1)
    assert len({example.id for example in found}) == 5
    assert all(10 <= example.n_edus <= 20 for example in found)
    assert found == choose(silver, range(10, 21), 5, seed=1)
    assert found != choose(silver, range(10, 21), 5, seed=2)
    assert sorted(example.n_edus for example in choose(silver, range(10, 21), 99, seed=1)) == list(range(10, 21))
    with pytest.raises(UsageError, match="none of the 29 silver documents has 30 to 40 EDUs"):
        choose(silver, range(30, 41), 5, seed=1)


def turned_round(tokenizer: PieceTokenizer | None) -> Prepared:
    """The tiny documents, all symbols but the special ones numbered from the end; silver trees are random."""
    symbols = prepare_samples().symbols
    words, labels = symbols.words.symbols, symbols.actions.labels
    turned = Symbols(Vocabulary((*SPECIALS, *words[:3:-1])), symbols.deprels, ActionSet(labels[::-1]))
    documents = [make_document(number) for number in range(3)]
    gold = [prepare(document, turned, document.tree, tokenizer=tokenizer) for document in documents]
    rng = random.Random(1)
    silver = [replace(one, actions=random_actions(one.n_edus, rng, len(labels))) for one in gold]
    notes = {"inventory": "gum", "relations": {}}
    return Prepared("rnng", turned, gold[:1], gold, None, notes, silver, tokenizer.json if tokenizer else None)


@pytest.fixture(scope="module")
def trained_with_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A teacher that has learned the documents by heart, from word pieces and words."""
    folder = tmp_path_factory.mktemp("teacher")
    model = replace(SMALL, kind="discriminative", encoder=str(write_encoder(folder / "encoder")), document_size=8)
    training = TrainingConfig(learning_rate=1e-2, encoder_learning_rate=1e-3, max_epochs=60, patience=60)
    run = Run(RunConfig(model=model, training=training), 1, folder / "run", torch.device("cpu"))
    for record in run.records(prepare_samples(make_tokenizer())):
        if record.dev_scores["F"] == 100:
            return run.folder / MODEL
    pytest.fail("60 epochs were not enough")


def write_features(path: Path, tokenizer: PieceTokenizer | None = None) -> Prepared:
    prepared = turned_round(tokenizer)
    save_prepared(prepared, path)
    return prepared


def run_label(
    folder: Path, capsys: pytest.CaptureFixture[str], teachers: Sequence[Path], *options: str, output: str = "labelled"
) -> tuple[Prepared, list[dict[str, Any]]]:
    """What the command writes and prints."""
    words = ["--teacher", *map(str, teachers), "--prepared", str(folder / "features.npz"), "--device", "cpu"]
    label.main([*words, "--output", str(folder / f"{output}.npz"), "--min-edus", "1", *options])
    return load_prepared(folder / f"{output}.npz"), [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def check(
    teacher: Path, prepared: Prepared, folder: Path, capsys: pytest.CaptureFixture[str], at_once: str = "120"
) -> None:
    """A teacher that knows the documents by heart gives their silver copies the gold trees."""
    found, (dev, silver) = run_label(folder, capsys, [teacher], "--at-once", at_once)
    gold = {example.id: example.actions for example in prepared.dev}
    assert {example.id: example.actions for example in found.silver} == gold
    assert len(found.silver) == 3
    for mine, theirs in ((prepared.train, found.train), (prepared.dev, found.dev)):
        assert [(one.id, one.actions) for one in mine] == [(one.id, one.actions) for one in theirs]
    words_of = {example.id: example.edu_words.tolist() for example in prepared.silver}
    assert {example.id: example.edu_words.tolist() for example in found.silver} == words_of, "in our numbers"
    assert found.symbols == prepared.symbols
    assert found.tokenizer == prepared.tokenizer
    assert found.notes["inventory"] == "gum"
    assert found.notes["labelling"]["teacher"] == [str(teacher)]
    assert dev.items() >= {"documents": "dev", "n": 3, "S": 100, "N": 100, "R": 100, "F": 100}.items()
    assert (silver["documents"], silver["n"]) == ("silver", 3)
    assert silver["F"] < 100


@pytest.mark.slow
@pytest.mark.parametrize("at_once", ["1", "120"])
def test_the_teacher_s_trees(trained: RnngModel, at_once: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    save_model(trained, tmp_path / "teacher")
    check(tmp_path / "teacher", write_features(tmp_path / "features.npz"), tmp_path, capsys, at_once)


@pytest.mark.slow
def test_the_trees_of_a_teacher_with_an_encoder(
    trained_with_encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    pieces = ["[UNK]", ".", *(f"##{letter}" for letter in LETTERS[::-1]), *LETTERS[::-1]]
    prepared = write_features(tmp_path / "features.npz", spell(*pieces))
    assert prepared.dev[0].pieces.tolist() != prepare_samples(make_tokenizer()).dev[0].pieces.tolist()
    check(trained_with_encoder, prepared, tmp_path, capsys)


@pytest.fixture
def teachers(tmp_path: Path) -> list[Path]:
    """Three of random weights and the same labels; each numbers words in its own way. Features lie beside them."""
    write_features(tmp_path / "features.npz")
    symbols = prepare_samples().symbols
    words = list(symbols.words.symbols[len(SPECIALS) :])
    folders = []
    for seed in (1, 2, 3):
        random.Random(seed).shuffle(words)
        torch.manual_seed(seed)
        own = Symbols(Vocabulary((*SPECIALS, *words)), symbols.deprels, symbols.actions)
        network = make_network(SMALL, own).eval()
        for parameter in network.parameters():
            torch.nn.init.uniform_(parameter, -0.5, 0.5)
        folders.append(tmp_path / f"seed-{seed}" / "model")
        save_model(Model(network, own), folders[-1])
    return folders


@pytest.mark.parametrize("beam", [1, 3])
def test_teachers_choose_together(beam: int, teachers: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    found, rows = run_label(tmp_path, capsys, teachers, "--beam", str(beam))
    prepared = load_prepared(tmp_path / "features.npz")
    loaded = list(map(load_rnng, teachers))
    translations = [make_translation(prepared, model) for model in loaded]
    silver = {example.id: example for example in prepared.silver}
    for example in found.silver:
        scorers = [
            NetworkScorer(model.network, [translation.to_model(silver[example.id])], model.symbols.nucleus_is_right)
            for model, translation in zip(loaded, translations, strict=True)
        ]
        together = Ensemble(scorers, [1, 1, 1])
        options = BeamOptions(beam, word_weight=0.5)
        (best,) = search_greedily(together) if beam == 1 else (search_beams(together, options)[0].parses[0],)
        assert example.actions == translations[0].from_model(best.actions)
    assert all(row["seeds"] == [1, 2, 3] and row["hardware"] and row["torch"] for row in rows)


def units_of(actions: Sequence[int]) -> set[tuple[int, int, int]]:
    """The first EDU, the EDU after the last one, and the label of every unit."""
    starts: list[int] = []
    units, n_read = set(), 0
    for action in actions:
        if action == GENERATE:
            starts.append(n_read)
            n_read += 1
        else:
            starts.pop()
            units.add((starts[-1], n_read, action))
    return units


def label_shards(folder: Path, capsys: pytest.CaptureFixture[str], teacher: Path, n: int) -> list[str]:
    for number in range(1, n + 1):
        run_label(folder, capsys, [teacher], "--shard", f"{number}/{n}", output=f"part-{number}")
    return [str(folder / f"part-{number}.npz") for number in range(1, n + 1)]


def test_shards_are_joined(teachers: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    parts = label_shards(tmp_path, capsys, teachers[0], 2)
    assert [len(load_prepared(Path(part)).silver) for part in parts] == [2, 1]
    join.main([*parts[::-1], "--output", str(tmp_path / "joined.npz")])
    joined = load_prepared(tmp_path / "joined.npz")
    whole, _ = run_label(tmp_path, capsys, teachers[:1])
    assert [(one.id, one.actions) for one in joined.silver] == [(one.id, one.actions) for one in whole.silver]
    assert (joined.notes, joined.symbols, len(joined.dev)) == (whole.notes, whole.symbols, len(whole.dev))


@pytest.mark.slow
def test_shards_that_do_not_fit(teachers: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    first, second, _ = label_shards(tmp_path, capsys, teachers[0], 3)
    run_label(tmp_path, capsys, teachers[1:2], "--shard", "3/3", output="other")
    run_label(tmp_path, capsys, teachers[:1], output="whole")
    other, whole = (str(tmp_path / f"{name}.npz") for name in ("other", "whole"))
    for parts, message in [
        ([first, second], "the parts must be each of the 3 shards exactly once, got 1/3 2/3"),
        ([first, second, other], f"{first} and {other}: the parts have different features, teachers or settings"),
        ([first, whole], f"{whole}: not a shard of labelled documents (see label --shard)"),
    ]:
        with pytest.raises(SystemExit):
            join.main([*parts, "--output", str(tmp_path / "joined.npz")])
        assert capsys.readouterr().err == message + "\n"
    assert not (tmp_path / "joined.npz").exists()


def test_teachers_of_other_labels(teachers: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = load_rnng(teachers[1])
    symbols = replace(model.symbols, actions=ActionSet(model.symbols.actions.labels[::-1]))
    save_model(Model(model.network, symbols), teachers[1])
    with pytest.raises(SystemExit):
        run_label(tmp_path, capsys, teachers)
    assert capsys.readouterr().err == (f"{teachers[0]} and {teachers[1]}: the teachers must have the same labels\n")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--documents", "0"], "argument --documents: must be a positive integer, got '0'"),
        (["--shard", "3/2"], "argument --shard: must be I/N with 1 <= I <= N, got '3/2'"),
        (["--shard", "1"], "argument --shard: must be I/N with 1 <= I <= N, got '1'"),
        (["--teacher", "one", "one"], "--teacher: duplicate teachers, got one one"),
        (
            ["--shard", "1/4", "--min-edus", "1"],
            "the number of shards must be at most the number of documents, 3, got 4",
        ),
        (["--max-edus", "2", "--min-edus", "1"], "none of the 3 silver documents has 1 to 2 EDUs"),
        (["--min-edus", "9", "--max-edus", "2"], "none of the 3 silver documents has 9 to 2 EDUs"),
        (["--teacher", "nowhere", "--min-edus", "1"], "no model or folder named 'nowhere'"),
        (["--prepared", "none.npz"], "none.npz: not a file of prepared features"),
        (["--word-weight", "-1", "--min-edus", "1"], "word_weight: the value must be finite and 0 or more, got -1.0"),
    ],
)
def test_errors_are_one_line(
    option: list[str],
    message: str,
    teachers: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    words = ["--teacher", str(teachers[0]), "--prepared", "features.npz", "--output", "labelled.npz"]
    ends_in_one_line(lambda: label.main([*words, *option]), message, capsys)
    assert not Path("labelled.npz").exists()
