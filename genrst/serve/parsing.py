"""The parsers of the service: the tasks that clients can submit, and running a batch of tasks."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from genrst.allowance import allowance, check_size
from genrst.chart.finder import Distribution
from genrst.document import Document
from genrst.errors import GenrstError, UsageError
from genrst.formats.json_format import document_to_dict
from genrst.parser.folders import describe_model
from genrst.parser.parser import Failure, Item, Parser, Text
from genrst.serve.documents import JsonObject, collected_warnings
from genrst.serve.requests import ParseRequest, SegmentRequest
from genrst.text.raw import looks_english
from genrst.trees.node import units

EDU_CHARACTERS = 50
"""Typical EDU length, in characters, to estimate the number of EDUs in raw text."""
ALTERNATIVES_COST, CUBIC_COST = 3, 50_000
"""Cost model: alternatives cost as much as three more trees; an extra tree of n EDUs costs n³ / 50,000 EDUs."""


@dataclass(frozen=True, slots=True)
class Task:
    """What to compute for an item: its EDUs only, or its best trees with alternative labels."""

    item: Item
    model: str
    trees: int = 1
    alternatives: int = 0
    is_segmentation: bool = False
    warnings: Sequence[str] = ()

    @property
    def size(self) -> int:
        """The number of EDUs; an estimate for raw text."""
        if isinstance(self.item, Document):
            return len(self.item.edus)
        return len(self.item.text if isinstance(self.item, Text) else self.item) // EDU_CHARACTERS + 1

    @property
    def cost(self) -> int:
        """The number of EDUs that could be parsed in the same time; extra trees and alternatives cost much more."""
        n_searches = self.trees - 1 + (ALTERNATIVES_COST if self.alternatives else 0)
        return self.size + n_searches * self.size**3 // CUBIC_COST


@dataclass(frozen=True, slots=True)
class Parsed:
    """The resulting documents of a task, best tree first."""

    documents: Sequence[Document]
    alternatives: Sequence[JsonObject] = ()
    warnings: Sequence[str] = ()

    def as_dict(self) -> JsonObject:
        """Return the JSON response."""
        return {
            "documents": [document_to_dict(document) for document in self.documents],
            **({"alternatives": list(self.alternatives)} if self.alternatives else {}),
            "warnings": list(self.warnings),
        }


class Models:
    """The parsers of the service by name; the first is the default."""

    def __init__(self, parsers: Sequence[Parser]) -> None:
        self.parsers: Mapping[str, Parser] = {str(parser.config.name): parser for parser in parsers}
        if len(self.parsers) < len(parsers) or not parsers:
            names = ", ".join(str(parser.config.name) for parser in parsers)
            raise UsageError(f"models must have different names, got {names}")
        self.description = {"models": [self._describe(name, parser) for name, parser in self.parsers.items()]}
        """The description of the models for clients, without their paths."""

    def parse_task(self, request: ParseRequest, max_edus: int) -> Task:
        """Return the task of a parse request."""
        with collected_warnings() as warnings:
            item = request.item()
        name = self._name(request.model)
        if request.alternatives and not self._is_chart(name):
            raise UsageError(f"alternatives require a chart parser, got the model {name}")
        return _checked(Task(item, name, request.trees, request.alternatives, warnings=warnings), max_edus)

    def segment_task(self, request: SegmentRequest, max_edus: int) -> Task:
        """Return the task of a segmentation request."""
        task = Task(Text(request.id, request.text), self._name(request.model), is_segmentation=True)
        return _checked(task, max_edus)

    def file_task(self, item: Item, warnings: Sequence[str], max_edus: int) -> Task:
        """Return the task to parse the content of a local file with the default model."""
        return _checked(Task(item, self._name(None), warnings=warnings), max_edus)

    def group(self, task: Task) -> Hashable:
        """Return the key of the tasks that can share a batch with this one; None if it must run alone."""
        if task.trees > 1 and not self._is_chart(task.model):
            return None
        return task.model, task.is_segmentation

    def is_long(self, task: Task) -> bool:
        """Whether a task counts as long regardless of its size, because its model does not run in two threads."""
        return not self._is_chart(task.model)

    def run_batch(self, tasks: Sequence[Task], max_edus: int) -> list[Parsed | Exception]:
        """Run the tasks of one group; a task that fails, or has too many EDUs, gets an error as its result."""
        with allowance(max_edus):
            return self._run_batch(tasks)

    def _run_batch(self, tasks: Sequence[Task]) -> list[Parsed | Exception]:
        first, items = tasks[0], [task.item for task in tasks]
        parser = self.parsers[first.model]
        found: Iterable[Sequence[Document] | Distribution | Failure]
        if first.is_segmentation:
            found = [[parser.segment(item)] for item in items]
        elif self._is_chart(first.model):
            found = parser.distributions(items)
        elif first.trees > 1:
            found = [parser.kbest(item, first.trees) for item in items]
        else:
            found = ([one] if isinstance(one, Document) else one for one in parser.pipe(items, len(items)))
        return list(map(_result, tasks, found))

    def _name(self, name: str | None) -> str:
        if name is not None and name not in self.parsers:
            raise UsageError(f"model must be one of {', '.join(self.parsers)}, got {name!r}")
        return name or next(iter(self.parsers))

    def _is_chart(self, name: str) -> bool:
        return self.parsers[name].finder.has_distributions

    def _describe(self, name: str, parser: Parser) -> JsonObject:
        return {
            "name": name,
            "is_chart": self._is_chart(name),
            "search": parser.config.search,
            "n_parameters": describe_model(parser.folder)["n_parameters"] if parser.folder else None,
            "labels": [
                {"relation": relation, "nuclearity": nuclearity} for relation, nuclearity in parser.finder.labels
            ],
            "fine": dict(parser.finder.fine),
        }


def _checked(task: Task, max_edus: int) -> Task:
    check_size(getattr(task.item, "id", "text"), task.size, max_edus)
    return task


def _result(task: Task, found: Sequence[Document] | Distribution | Failure) -> Parsed | Exception:
    if isinstance(found, Failure):
        return found.error
    alternatives: list[JsonObject] = []
    if isinstance(found, Distribution):
        try:
            documents: Sequence[Document] = found.documents(task.trees)
        except GenrstError as error:
            return error
        alternatives = _alternatives(found, documents[0], task.alternatives)
    else:
        documents = found
    warnings = list(task.warnings)
    if not looks_english(documents[0].text or ""):
        warnings.append(f"{documents[0].id}: the text does not look like English; its tree is unreliable")
    return Parsed(documents, alternatives, warnings)


def _alternatives(found: Distribution, document: Document, n: int) -> list[JsonObject]:
    """Return the most probable labels of each unit of a tree."""
    if n == 0 or document.tree is None:
        return []
    result = []
    for unit in units(document.tree):
        labels = found.label_probabilities(unit.start, unit.stop)
        best = sorted(labels.items(), key=lambda pair: -pair[1])[:n]
        result.append(
            {
                "edus": [unit.start, unit.stop],
                "probability": unit.probability,
                "labels": [{"relation": r, "nuclearity": nuclearity, "probability": p} for (r, nuclearity), p in best],
            }
        )
    return result
