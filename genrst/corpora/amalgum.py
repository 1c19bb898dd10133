"""Read AMALGUM in its compact form, `<genre>.jsonl.gz`, and map its relations to GUM's. Its trees are silver."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from genrst.corpora.conllu import Word, assemble
from genrst.document import Document
from genrst.errors import CorpusFormatError
from genrst.formats import json_text
from genrst.io import unpack_lines
from genrst.trees.node import Leaf, Tree, Unit

CLASSES = {
    name: coarse
    for coarse, names in {
        "adversative": "antithesis concession contrast",
        "causal": "cause result",
        "context": "background circumstance",
        "contingency": "condition",
        "explanation": "evidence justify motivation",
        "joint": "sequence",
        "mode": "manner means",
        "organization": "preparation",
        "same-unit": "same_unit",
        "topic": "question solutionhood",
    }.items()
    for name in names.split()
}
"""GUM's coarse class for each relation that is not a class itself.

The mapping was derived from documents of GUM before and after its relations were renamed. Only `contrast` is doubtful:
a third of its instances became `joint`.
"""


def read_genre(path: Path) -> Iterator[Document]:
    """Yield the documents of a file, with AMALGUM's own relations."""
    for number, line in enumerate(unpack_lines(path), start=1):
        yield _document(line, path, number)


def _document(content: bytes, path: Path, line: int) -> Document:
    try:
        record: Any = json_text.loads(content.decode("utf-8"))
        kinds = {
            _integer(start): _string(kind) or "p"
            for start, kind in zip(record["paragraphs"], record["paragraph_types"], strict=True)
        }
        annotated = assemble(list(map(_sentence, record["tokens"])), kinds, {})
        document = annotated.as_document(str(record["id"]), _edu_starts(record["edus"], len(annotated.tokens)))
        metadata = {key: str(record[key]) for key in ("genre", "licence", "part")}
        return replace(document, tree=_tree(record["tree"]), metadata=metadata)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise CorpusFormatError(f"the record is malformed: {error!r}", path, line) from error


def _sentence(words: list[Any]) -> list[Word]:
    sentence = [
        Word(_string(form), _integer(head), _string(deprel), _string(tag), bool(space))
        for form, tag, head, deprel, space in words
    ]
    if not sentence or not all(0 <= word.head <= len(sentence) for word in sentence):
        raise ValueError(f"a sentence must have words, and every head must be one of its {len(sentence)} words")
    return sentence


def _edu_starts(edus: list[tuple[int, int]], n_tokens: int) -> list[int]:
    starts, stops = [_integer(start) for start, _ in edus], [_integer(stop) for _, stop in edus]
    if [*starts, n_tokens] != [0, *stops]:
        raise ValueError("EDUs must cover the tokens one after the other")
    return starts


def _tree(nested: Any) -> Tree:  # noqa: ANN401
    """Build the tree from nested lists, starting with the deepest."""
    order = [nested]
    for item in order:
        if not isinstance(item, int):
            order.extend(item[2])
    built: dict[int, Tree] = {}
    for item in reversed(order):
        if isinstance(item, int):
            continue
        relation, nuclearity, children = item
        nodes = tuple(Leaf(_integer(child)) if isinstance(child, int) else built[id(child)] for child in children)
        built[id(item)] = Unit(_string(relation), nuclearity, nodes)
    return Leaf(_integer(nested)) if isinstance(nested, int) else built[id(nested)]


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a string, got {value!r}")
    return value


def _integer(value: object) -> int:
    # Python counts True as an integer, and 1.0 equals 1.
    if type(value) is not int:
        raise TypeError(f"expected a whole number, got {value!r}")
    return value
