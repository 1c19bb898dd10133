"""Write short synthetic documents whose relations have unambiguous markers, as additional training data.

    python -m experiments.markers.make OUTPUT.jsonl --seed 1

`pairs.tsv` holds pairs of clauses, written for this purpose, grouped by the kind of relation. `FRAMES` holds phrasings
for each kind, with the label that GUM's guidelines assign. Every pair is rendered in some of the phrasings of its kind.
Charts train on the result with `data.extra`.
"""

import argparse
import csv
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from experiments.command import count, run_command, start_parser
from genrst.document import Document, Span
from genrst.formats.files import write_documents
from genrst.trees.node import Leaf, Unit


@dataclass(frozen=True, slots=True)
class Frame:
    """A phrasing of two clauses; each part is an EDU, with {0} and {1} as placeholders for the clauses."""

    first: str
    second: str
    relation: str
    nuclearity: str


def _frames(relation: str, nuclearity: str, *texts: str) -> list[Frame]:
    """Make the frames of a label; a bar separates the EDUs."""
    return [Frame(first, second, relation, nuclearity) for first, second in (text.split("|") for text in texts)]


FRAMES = {
    "cause": [
        *_frames("causal-cause", "NS", "{0} |because {1}.", "{0}, |as {1}.", "{0}, |since {1}."),
        *_frames("causal-cause", "SN", "Because {1}, |{0}.", "Since {1}, |{0}.", "As {1}, |{0}."),
        *_frames("causal-result", "NS", "{1}. |Therefore {0}.", "{1}. |As a result, {0}.", "{1}, |so {0}."),
        *_frames("causal-result", "NS", "{1}. |Consequently, {0}.", "{1}. |That is why {0}.", "{1}. |So {0}."),
    ],
    "concession": [
        *_frames("adversative-concession", "SN", "Although {0}, |{1}.", "Even though {0}, |{1}.", "Though {0}, |{1}."),
        *_frames("adversative-concession", "NS", "{1}, |although {0}.", "{1} |even though {0}."),
        *_frames("adversative-concession", "SN", "{0}, |but {1}.", "{0}. |Nevertheless, {1}.", "{0}. |Still, {1}."),
    ],
    "contrast": [
        *_frames("adversative-contrast", "NN", "{0}, |but {1}.", "{0}, |whereas {1}.", "{0}, |while {1}."),
        *_frames("adversative-contrast", "NN", "On the one hand, {0}. |On the other hand, {1}.", "{0}. |However, {1}."),
        *_frames("adversative-contrast", "NN", "{0}. |By contrast, {1}."),
    ],
    "condition": [
        *_frames("contingency-condition", "NS", "{0} |if {1}.", "{0} |as long as {1}."),
        *_frames("contingency-condition", "SN", "If {1}, |{0}."),
    ],
    "circumstance": [
        *_frames("context-circumstance", "SN", "When {0}, |{1}.", "As soon as {0}, |{1}.", "By the time {0}, |{1}."),
        *_frames("context-circumstance", "NS", "{1} |when {0}."),
    ],
    "sequence": [
        *_frames("joint-sequence", "NN", "{0}. |Then {1}.", "{0}. |After that, {1}.", "{0} |and then {1}."),
        *_frames("joint-sequence", "NN", "First, {0}. |Next, {1}.", "{0}. |Finally, {1}."),
    ],
    "purpose": [
        *_frames("purpose-goal", "NS", "{0} |to {1}.", "{0} |in order to {1}."),
        *_frames("purpose-goal", "SN", "To {1}, |{0}.", "In order to {1}, |{0}."),
    ],
    "means": [
        *_frames("mode-means", "NS", "{0} |by {1}."),
        *_frames("mode-means", "SN", "By {1}, |{0}."),
    ],
    "attribution": [
        *_frames("attribution-positive", "SN", "{0} |that {1}.", "{0} |{1}."),
        *_frames("attribution-positive", "NS", "{1}, |{0}."),
    ],
    "denial": _frames("attribution-negative", "SN", "{0} |that {1}."),
    "question": _frames("topic-question", "SN", "{0}? |{1}."),
    "solution": _frames("topic-solutionhood", "SN", "{0}. |{1}."),
    "disjunction": _frames("joint-disjunction", "NN", "Either {0} |or {1}.", "{0}, |or {1}.", "{0}, |or else {1}."),
    "list": _frames("joint-list", "NN", "{0} |and {1}.", "{0}; |{1}.", "{0}. |Also, {1}."),
    "restatement": [
        *_frames("restatement-repetition", "NN", "{0}. |In other words, {1}.", "{0}; |that is, {1}."),
    ],
    "example": _frames("elaboration-additional", "NS", "{0}. |For example, {1}.", "{0}; |for instance, {1}."),
    "evaluation": _frames("evaluation-comment", "NS", "{0}. |{1}."),
    "heading": _frames("organization-heading", "SN", "{0}|\n{1}"),
    "motivation": _frames("explanation-motivation", "NS", "{0}. |{1}.", "{0}: |{1}."),
    "evidence": _frames("explanation-evidence", "NS", "{0}. |{1}.", "{0}: |{1}."),
    "relative": _frames("elaboration-attribute", "NS", "{0} |{1}."),
}


def main(words: Sequence[str] | None = None) -> None:
    """Write the documents."""
    parser = start_parser(__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ways", type=count, default=2, help="number of phrasings per pair of clauses (default: 2)")
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    write_documents(make_documents(arguments.seed, arguments.ways), arguments.output)


def make_documents(seed: int, ways: int) -> Iterator[Document]:
    """Yield a document for each pair of clauses and each phrasing drawn for it."""
    generator = random.Random(seed)
    table = files("experiments.markers").joinpath("pairs.tsv").read_text(encoding="utf-8").splitlines()
    for number, row in enumerate(csv.DictReader(table, delimiter="\t")):
        frames = FRAMES[row["kind"]]
        for way, frame in enumerate(generator.sample(frames, min(ways, len(frames)))):
            yield make_document(f"{row['kind']}-{number}-{way}", frame, (row["first"], row["second"]))


def make_document(id: str, frame: Frame, clauses: tuple[str, str]) -> Document:
    """Make a document of two EDUs in the relation of a frame."""
    parts = [part.format(*clauses) for part in (frame.first, frame.second)]
    # A part that follows a full stop or a line break starts a sentence.
    is_sentence = parts[0].rstrip()[-1] in ".?!" or parts[1].startswith("\n")
    is_paragraph = parts[1].startswith("\n")
    parts = [_capital(parts[0]), _capital(parts[1]) if is_sentence else parts[1]]
    text = "".join(parts)
    edus, start = [], 0
    for part in parts:
        inner = part.strip()
        start = text.index(inner, start)
        edus.append(Span(start, start + len(inner)))
        start += len(inner)
    whole = Span(0, edus[-1].end)
    tree = Unit(frame.relation, frame.nuclearity, (Leaf(0), Leaf(1)))
    return Document(
        id,
        text,
        tuple(edus),
        tree,
        sentences=tuple(edus) if is_sentence else (whole,),
        paragraphs=tuple(edus) if is_paragraph else (whole,),
    )


def _capital(text: str) -> str:
    """Capitalise the first letter of a text."""
    first = next(place for place, letter in enumerate(text) if letter.isalpha())
    return text[:first] + text[first].upper() + text[first + 1 :]


if __name__ == "__main__":
    main()
