"""Word vectors written in every format."""

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
Writer = Callable[[list[str], Matrix], bytes]


def glove(words: list[str], matrix: Matrix) -> bytes:
    return b"".join(
        f"{word} {' '.join(map(repr, row))}\n".encode() for word, row in zip(words, matrix.tolist(), strict=True)
    )


def word2vec_text(words: list[str], matrix: Matrix) -> bytes:
    return f"{len(words)} {matrix.shape[1]}\n".encode() + glove(words, matrix)


def fasttext(words: list[str], matrix: Matrix) -> bytes:
    """fastText ends every line with a space."""
    header, _, lines = word2vec_text(words, matrix).partition(b"\n")
    return header + b"\n" + lines.replace(b"\n", b" \n")


def binary(words: list[str], matrix: Matrix, end: bytes = b"") -> bytes:
    records = (
        word.encode() + b" " + row.astype("<f4").tobytes() + end for word, row in zip(words, matrix, strict=True)
    )
    return f"{len(words)} {matrix.shape[1]}\n".encode() + b"".join(records)


def binary_lines(words: list[str], matrix: Matrix) -> bytes:
    return binary(words, matrix, b"\n")


def npz(words: list[str], matrix: Matrix) -> bytes:
    file = io.BytesIO()
    np.savez(file, words=np.array(words), vectors=matrix)
    return file.getvalue()


def wink(words: list[str], matrix: Matrix) -> bytes:
    rows = zip(words, matrix.tolist(), strict=True)
    vectors = {word: [*row, float(np.linalg.norm(row)), index] for index, (word, row) in enumerate(rows)}
    return json.dumps({"size": len(words), "words": words, "vectors": vectors, "unkVector": [0, -1]}).encode()


WRITERS: list[tuple[str, Writer]] = [
    ("a.txt", glove),
    ("a.TXT", word2vec_text),
    ("a.glove", glove),
    ("a.vec", fasttext),
    ("a.bin", binary),
    ("b.bin", binary_lines),
    ("a.npz", npz),
    ("a.json", wink),
]
ALL = WRITERS + [(f"{name}.gz", writer) for name, writer in WRITERS if name != "a.npz"]
WORDS = ["the", ",", "Paris", "naïve", "<", '"quoted\\"', "日本"]
MATRIX = np.random.default_rng(7).normal(size=(len(WORDS), 5)).astype(np.float32)


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)
    return path
