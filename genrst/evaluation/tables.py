"""Show evaluations as tables in plain text or Markdown. Scores are percentages with one decimal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from genrst.characters import inert
from genrst.evaluation.counts import Agreement, Counts, Scores, percent
from genrst.evaluation.parseval import ASPECTS
from genrst.evaluation.report import TREE_METRICS, Confusion, Evaluation, TreeMetric


@dataclass(frozen=True, slots=True)
class Table:
    """A header and rows of cells. The first column is left-aligned, the others are right-aligned."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def as_text(self) -> str:
        """Return the table as text, with aligned columns separated by two spaces."""
        return "\n".join("  ".join(cells).rstrip() for cells in self._aligned())

    def as_markdown(self) -> str:
        """Return the table as Markdown, with aligned source."""
        header, *rows = ([cell.replace("|", "\\|") for cell in cells] for cells in (self.header, *self.rows))
        header, *rows = Table(header, rows)._aligned()
        first, *others = (len(cell) for cell in header)
        rule = "|".join([":" + "-" * (first + 1), *("-" * (width + 1) + ":" for width in others)])
        return "\n".join([_markdown_row(header), f"|{rule}|", *map(_markdown_row, rows)])

    def _aligned(self) -> list[list[str]]:
        lines = [list(map(inert, cells)) for cells in (self.header, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return [[cells[0].ljust(widths[0]), *map(str.rjust, cells[1:], widths[1:])] for cells in lines]


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def summary_table(evaluation: Evaluation, metrics: Sequence[TreeMetric] = TREE_METRICS) -> Table:
    """Return the F1 of each metric, over all constituents (micro) and as the mean of the documents (macro)."""
    rows = []
    for metric in metrics:
        rows.append([f"{metric} micro", *_f1_cells(evaluation.micro(metric))])
        rows.append([f"{metric} macro", *_f1_cells(evaluation.macro(metric))])
    return Table(["F1", *ASPECTS], rows)


def system_table(systems: Mapping[str, Evaluation], metric: TreeMetric = "parseval") -> Table:
    """Return the micro F1 of several systems, given by name."""
    return Table(
        [f"{metric} micro", *ASPECTS], [[name, *_f1_cells(system.micro(metric))] for name, system in systems.items()]
    )


def relation_table(evaluation: Evaluation) -> Table:
    """Return the precision, recall and F1 of each relation by Parseval, ignoring nuclearity."""
    rows = [
        [name, *map(percent, (cell.precision, cell.recall, cell.f1)), str(cell.n_gold), str(cell.n_pred)]
        for name, cells in evaluation.relations().items()
        for cell in (cells["R"],)
    ]
    return Table(["relation", "precision", "recall", "F1", "gold", "predicted"], rows)


def level_table(evaluation: Evaluation) -> Table | None:
    """Return the Parseval F1 of each level of the text; None if the sentences are unknown.

    A level without constituents has no scores.
    """
    levels = evaluation.levels()
    if levels is None:
        return None
    rows = []
    for level, cells in levels.items():
        spans = cells["S"]
        scores = ["–"] * len(ASPECTS) if spans.is_empty else _f1_cells(cells)
        rows.append([level, *scores, str(spans.n_gold), str(spans.n_pred)])
    return Table(["level", *ASPECTS, "gold", "predicted"], rows)


def confusion_table(confusion: Confusion) -> Table:
    """Return the confusion matrix, with a row per gold and a column per predicted relation, numbered alike."""
    numbers = [str(number) for number in range(1, len(confusion.relations) + 1)]
    names = [" ".join(row) for row in zip([*numbers, ""], confusion.rows, strict=True)]
    cells = [[str(count) if count else "·" for count in row] for row in confusion.matrix.tolist()]
    rows = [[name.strip(), *row] for name, row in zip(names, cells, strict=True)]
    return Table(["gold", *numbers, confusion.columns[-1]], rows)


def _f1_cells(cells: Mapping[str, Counts] | Mapping[str, Scores]) -> list[str]:
    return [percent(cells[aspect].f1) for aspect in ASPECTS]


def agreement_table(found: Mapping[str, Agreement]) -> Table:
    """Return the agreement of two annotators on the units that both have, with kappa."""
    rows = [
        [name, str(one.n_shared), percent(one.observed), "–" if one.kappa is None else f"{one.kappa:.3f}"]
        for name, one in found.items()
    ]
    return Table(["agreement on", "shared units", "observed", "kappa"], rows)
