"""Silver trees by a teacher that numbers words, relations, word pieces and actions in another way."""

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from experiments.silver_trees.label import choose, main
from experiments.silver_trees.translation import make_translation
from genrst.errors import UsageError
from genrst.model.example import Example
from genrst.model.piece_tokenizer import PieceTokenizer
from genrst.model.prepare import prepare
from genrst.model.store import Model, make_network, save_model
from genrst.model.symbols import Symbols
from genrst.model.vocabulary import NONE, SPECIALS, UNK, Vocabulary
from genrst.training.config import RunConfig, TrainingConfig
from genrst.training.prepared import Prepared, load_prepared, save_prepared
from genrst.training.run import MODEL, Run
from genrst.transitions.actions import ActionSet, Reduce
from genrst.transitions.features import Syntax
from tests.model.random_examples import random_actions, random_example
from tests.model.test_folder import trained as trained
from tests.model.tiny_encoders import LETTERS, make_tokenizer, write_encoder
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


def by_hand(labels: Symbols = THEIRS, *, has_pieces: bool = True) -> tuple[Prepared, Model]:
    tokenizers = spell("a", "[UNK]", "never", "##b", "c"), spell("[UNK]", "c", "a", "b")
    prepared = Prepared(OURS, [], [EXAMPLE], None, {}, tokenizer=tokenizers[0].json if has_pieces else None)
    return prepared, Model(make_network(SMALL, labels), labels, tokenizers[1])


def test_a_document_by_hand():
    translation = make_translation(*by_hand())
    found = translation.to_model(EXAMPLE)
    # sea fog <unk> <pad>-the-word boat; <pad>, the word, and fog are unknown to the teacher.
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


def test_a_teacher_without_an_encoder_needs_no_pieces():
    prepared, model = by_hand()
    for features in (prepared, replace(prepared, tokenizer=None)):
        assert make_translation(features, replace(model, tokenizer=None)).to_model(EXAMPLE).pieces is EXAMPLE.pieces


def test_what_does_not_fit():
    with pytest.raises(UsageError, match="must be prepared with an encoder, for the teacher has one"):
        make_translation(*by_hand(has_pieces=False))
    with pytest.raises(UsageError, match=r"must be among those of the features, was: RE\(mode, NS\)"):
        make_translation(*by_hand(make_symbols([], [], "cause NS", "mode NS")))


def test_the_sample():
    silver = [random_example(n_edus, n_edus) for n_edus in range(1, 30)]
    found = choose(silver, range(10, 21), 5, seed=1)
    assert len({example.id for example in found}) == 5
    assert all(10 <= example.n_edus <= 20 for example in found)
    assert found == choose(silver, range(10, 21), 5, seed=1)
    assert found != choose(silver, range(10, 21), 5, seed=2)
    assert sorted(example.n_edus for example in choose(silver, range(10, 21), 99, seed=1)) == list(range(10, 21))
    with pytest.raises(UsageError, match="a silver document of 30 to 40 EDUs, was: none of 29"):
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
    return Prepared(turned, gold[:1], gold, None, {"inventory": "gum"}, silver, tokenizer.json if tokenizer else None)


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


def check(
    teacher: Path, prepared: Prepared, folder: Path, capsys: pytest.CaptureFixture[str], at_once: str = "120"
) -> None:
    """A teacher that knows the documents by heart gives their silver copies the gold trees."""
    words = ["--teacher", str(teacher), "--prepared", str(folder / "features.npz"), "--device", "cpu"]
    main([*words, "--output", str(folder / "labelled.npz"), "--min-edus", "1", "--at-once", at_once])
    found = load_prepared(folder / "labelled.npz")
    gold = {example.id: example.actions for example in prepared.dev}
    assert {example.id: example.actions for example in found.silver} == gold
    assert len(found.silver) == 3
    for mine, theirs in ((prepared.train, found.train), (prepared.dev, found.dev)):
        assert [(one.id, one.actions) for one in mine] == [(one.id, one.actions) for one in theirs]
    words_of = {example.id: example.edu_words.tolist() for example in prepared.silver}
    assert {example.id: example.edu_words.tolist() for example in found.silver} == words_of, "in our numbers"
    assert found.symbols == prepared.symbols
    assert found.tokenizer == prepared.tokenizer
    assert found.notes == {"inventory": "gum", "teacher": str(teacher)}
    dev, silver = map(json.loads, capsys.readouterr().out.splitlines())
    assert dev == {"documents": "dev", "n": 3, "S": 100, "N": 100, "R": 100, "F": 100}
    assert (silver["documents"], silver["n"]) == ("silver", 3)
    assert silver["F"] < 100


@pytest.mark.parametrize("at_once", ["1", "120"])
def test_the_teacher_s_trees(trained: Model, at_once: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    save_model(trained, tmp_path / "teacher")
    check(tmp_path / "teacher", write_features(tmp_path / "features.npz"), tmp_path, capsys, at_once)


def test_the_trees_of_a_teacher_with_an_encoder(
    trained_with_encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    pieces = ["[UNK]", ".", *(f"##{letter}" for letter in LETTERS[::-1]), *LETTERS[::-1]]
    prepared = write_features(tmp_path / "features.npz", spell(*pieces))
    assert prepared.dev[0].pieces.tolist() != prepare_samples(make_tokenizer()).dev[0].pieces.tolist()
    check(trained_with_encoder, prepared, tmp_path, capsys)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--documents", "0"], "argument --documents: invalid positive value: '0'"),
        (["--max-edus", "2", "--min-edus", "1"], "a silver document of 1 to 2 EDUs, was: none of 3"),
        (["--min-edus", "9", "--max-edus", "2"], "a silver document of 9 to 2 EDUs, was: none of 3"),
        (["--teacher", "nowhere", "--min-edus", "1"], "nowhere: a model folder must hold"),
        (["--prepared", "none.npz"], "none.npz: the file must hold prepared features"),
    ],
)
def test_errors_are_one_line(
    option: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    write_features(Path("features.npz"))
    with pytest.raises(SystemExit) as end:
        main(["--teacher", "teacher", "--prepared", "features.npz", "--output", "labelled.npz", *option])
    assert end.value.code in (1, 2)
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert not Path("labelled.npz").exists()
