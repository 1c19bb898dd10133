"""Articles with questions about them (the format of SQuAD), and the trees of a model for them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genrst.document import Document
from genrst.errors import UsageError
from genrst.formats.files import read, write
from genrst.io import progress
from genrst.parser.loading import load
from genrst.parser.parser import Text, unwrap

Span = tuple[int, int]
"""Where something starts and ends, in characters of its article."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and where its answer stands."""

    article: int
    text: str
    answer: Span


@dataclass(frozen=True, slots=True)
class Articles:
    """Texts and all questions about them."""

    texts: list[Text]
    questions: list[Question]

    def of_split(self, split: str) -> list[Question]:
        """Questions about every second article: even numbers are dev, odd ones are test."""
        return [one for one in self.questions if one.article % 2 == ("dev", "test").index(split)]


def read_articles(folder: Path, gap: str = "\n\n") -> Articles:
    """Read the one file of questions in a folder; the paragraphs of an article become one text, with a gap between."""
    files = sorted(folder.glob("*.json"))
    if len(files) != 1:
        raise UsageError(f"{folder}: the folder must have one .json file of questions, got {len(files)}")
    try:
        data = json.loads(files[0].read_text(encoding="utf-8"))["data"]
        return _join([article["paragraphs"] for article in data], gap)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise UsageError(f"{files[0]}: the file must be in the format of SQuAD: {error!r}") from error


def _join(articles: Sequence[Sequence[dict[str, Any]]], gap: str) -> Articles:
    """One text of the paragraphs of each article."""
    texts, questions = [], []
    for number, paragraphs in enumerate(articles):
        whole = ""
        for paragraph in paragraphs:
            whole += gap if whole else ""
            offset = len(whole)
            whole += paragraph["context"]
            for question in paragraph["qas"]:
                answer = question["answers"][0]
                start = offset + answer["answer_start"]
                span = (start, start + len(answer["text"]))
                if whole[slice(*span)] != answer["text"]:
                    raise ValueError(f"no answer at the offset of {question['id']}")
                questions.append(Question(number, question["question"], span))
        texts.append(Text(f"{number:03}", whole))
    return Articles(texts, questions)


def parse_all(texts: Sequence[Text], model: str, folder: Path) -> list[Document]:
    """The trees of a model for raw texts; those in the folder are not parsed again."""
    paths = [folder / f"{text.id}.json" for text in texts]
    missing = [number for number, path in enumerate(paths) if not path.is_file()]
    if missing:
        parsed = load(model, device="cpu").pipe(texts[number] for number in missing)
        for number, document in zip(missing, progress(parsed, model), strict=True):
            write(unwrap(document), paths[number])
    documents = [read(path) for path in paths]
    for text, document, path in zip(texts, documents, paths, strict=True):
        if document.text != text.text:
            raise UsageError(f"{path}: the tree must be of the same text; remove the file to parse it again")
    return documents
