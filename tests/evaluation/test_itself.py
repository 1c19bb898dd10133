"""A document agrees with itself, whatever can be read; what cannot be compared is refused."""

import random
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from fuzz.targets import TARGETS
from genrst.corpora.corpus import load_corpus
from genrst.document import Document, unplaced_edus
from genrst.errors import CorpusWarning, GenrstError
from genrst.evaluation.report import TREE_METRICS, Evaluation, evaluate, score_segmentation
from genrst.formats.files import READABLE, format_documents, read_content, read_documents
from tests.miniatures import write_amalgum, write_gum, write_rstdt
from tests.seed import SEED
from tests.strategies import hostile_documents

PERFECT = {"precision": 1.0, "recall": 1.0, "f1": 1.0}


def check_itself(document: Document) -> None:
    assert score_segmentation([document], [document]).scores.as_dict() == PERFECT
    if document.tree is not None:
        check_evaluation(evaluate([document], [document]))
        check_evaluation(evaluate([document], [document], labels="fine"))


def check_evaluation(result: Evaluation) -> None:
    """All is right, in every number of a report."""
    assert result.segmentation().scores.as_dict() == PERFECT
    for metric in TREE_METRICS:
        assert all(counts.scores.as_dict() == PERFECT for counts in result.micro(metric).values())
        assert all(scores.f1 == pytest.approx(1) for scores in result.macro(metric).values())
    tables = [result.relations(), result.levels() or {}]
    assert all(counts.f1 == 1 for table in tables for cells in table.values() for counts in cells.values())
    matrix = result.confusion().matrix
    assert matrix.sum() == matrix.trace()


def read_quietly(content: bytes, suffix: str) -> list[Document]:
    """The documents of a file, or none if it cannot be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorpusWarning)
        try:
            return read_content(content, Path(f"random{suffix}"))
        except GenrstError:
            return []


@pytest.mark.slow
@given(hostile_documents())
def test_a_document_of_any_format_agrees_with_itself(document: Document):
    check_itself(document)
    for suffix in READABLE:
        try:
            text = format_documents([document], ".edus" if suffix == ".txt" else suffix)
        except GenrstError:
            continue
        (found,) = read_quietly(text.encode(), suffix)
        check_itself(found)
        # White space aside it is still the same text, with the same EDUs.
        if document.tree is not None and found.tree is not None:
            check_evaluation(evaluate([document], [found]))


@pytest.mark.slow
@pytest.mark.parametrize("suffix", READABLE)
def test_what_is_read_from_a_damaged_file_agrees_with_itself(suffix: str):
    chance = random.Random(f"{SEED}-{suffix}")
    n_read = 0
    for _ in range(60):
        for document in read_quietly(TARGETS[suffix.removeprefix(".")].make(chance), suffix):
            check_itself(document)
            n_read += 1
    assert n_read > 0, "some are still readable"


@pytest.mark.slow
@given(hostile_documents())
def test_a_tree_without_text_is_not_compared_by_offsets_that_it_does_not_have(document: Document):
    bare = replace(document, text=None, edus=unplaced_edus(len(document.edus)), paragraphs=())
    check_itself(bare)
    if document.edus != bare.edus:
        for pair in ((document, bare), (bare, document)):
            with pytest.raises(GenrstError, match="can only be compared if they have a text or offsets; those"):
                score_segmentation([pair[0]], [pair[1]])


@pytest.mark.slow
@given(hostile_documents())
def test_offsets_without_text_agree_with_the_text_they_are_of(document: Document):
    check_itself(replace(document, text=None))
    if document.tree is not None:
        check_evaluation(evaluate([document], [replace(document, text=None)]))


@pytest.mark.parametrize("write", [write_gum, write_rstdt, write_amalgum])
def test_corpora_agree_with_themselves(write: Callable[[Path], Path], tmp_path: Path):
    documents = list(load_corpus(write(tmp_path)))
    check_evaluation(evaluate(documents, documents))


@pytest.mark.slow
@pytest.mark.corpus
@pytest.mark.filterwarnings("ignore::genrst.errors.CorpusWarning")
def test_real_files_agree_with_themselves(corpora: Path):
    documents = [*read_documents(corpora / "extra-en"), *read_documents(corpora / "gum" / "dis_nary")]
    numbered = [replace(document, id=str(number)) for number, document in enumerate(documents)]
    assert len(numbered) > 600
    check_evaluation(evaluate(numbered, numbered))
