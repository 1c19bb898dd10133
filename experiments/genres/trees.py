"""The trees that a parser finds for a corpus, from raw text, each parsed once and kept in a file."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from genrst.document import Document
from genrst.formats.files import read, write
from genrst.io import progress
from genrst.parser.loading import load
from genrst.parser.parser import Text

ENTROPY = "entropy"
"""What the metadata of a parsed document call the entropy of its trees, in nats."""


def parse_once(documents: Iterable[Document], model: str, folder: Path) -> Iterator[Document]:
    """The documents as the model parses their text; what has a file in the folder is not parsed again."""
    parser = None
    for document in progress(documents, f"parsing with {model}"):
        path = folder / f"{document.id}.json"
        if not path.is_file():
            parser = parser or load(model, device="cpu")
            distribution = parser.distribution(Text(document.id, document.text or ""))
            (parsed,) = distribution.documents()
            write(replace(parsed, metadata=parsed.metadata | {ENTROPY: str(distribution.entropy)}), path)
        yield read(path)
