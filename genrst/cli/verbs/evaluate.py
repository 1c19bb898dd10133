"""Score predicted trees against gold trees, even if their EDUs differ.

  genrst evaluate gold/ predicted/
  genrst evaluate gold/ predicted/ --against other-parser/
  genrst evaluate GUM/ predicted/ --split test --relations --confusion
  genrst evaluate ann/ bob/ --common --agreement
  genrst evaluate GUM/ predicted/ --split test --signals --secondary

GOLD and PRED are files or folders in any format that genrst reads; documents are paired by name. Parseval is the metric
of Morey et al. (2017) and of most work since then. S scores spans, N spans with nuclearity, R spans with relations, and
F all three. The report names the relation inventory that it uses. Paired texts may differ in white space only.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genrst.cli.console import Failures, show, show_json
from genrst.cli.guard import Guard, add_force_argument
from genrst.cli.inputs import add_corpus_arguments, open_corpus, read_corpus, refuse_text
from genrst.corpora import corpus as corpora
from genrst.document import Document
from genrst.errors import CorpusFormatError, UsageError
from genrst.io import tell
from genrst.trees.relations import load_inventory

# Scoring needs numpy, so it is imported only when it runs.
if TYPE_CHECKING:
    from genrst.corpora.corpus import Corpus
    from genrst.evaluation.report import Evaluation, TreeMetric
    from genrst.evaluation.significance import Significance
    from genrst.evaluation.tables import Table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `genrst evaluate`."""
    parser.add_argument("gold", metavar="GOLD", help="a file, a folder, or the folder of a corpus")
    parser.add_argument("predicted", metavar="PRED", help="a file or a folder")
    parser.add_argument("--against", metavar="PRED2", help="test whether a second system differs significantly")
    parser.add_argument(
        "--metric",
        choices=("parseval", "rst-parseval", "all"),
        default="all",
        help="metric of the tables (default: all)",
    )
    parser.add_argument(
        "--labels",
        choices=("coarse", "fine"),
        default="coarse",
        help="compare relations by class or by full name (default: coarse)",
    )
    parser.add_argument(
        "--inventory",
        choices=("rstdt", "gum", "open"),
        help="set of relation classes (default: the one that fits the labels)",
    )
    parser.add_argument("--relations", action="store_true", help="add a table of scores per relation")
    parser.add_argument("--confusion", action="store_true", help="add a confusion matrix of relations")
    parser.add_argument(
        "--agreement", action="store_true", help="add Cohen's kappa for nuclearity and relations of shared units"
    )
    parser.add_argument("--signals", action="store_true", help="also score signals, the words that mark relations")
    parser.add_argument(
        "--secondary", action="store_true", help="also score secondary edges, the relations outside the tree"
    )
    parser.add_argument("--common", action="store_true", help="score only documents that occur on all sides")
    parser.add_argument("--plot", metavar="FILE", help="plot the scores (.png, .svg or .pdf)")
    parser.add_argument("--plot-confusion", metavar="FILE", help="plot the confusion matrix (.png, .svg or .pdf)")
    add_force_argument(parser)
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print JSON")
    output.add_argument("--markdown", action="store_true", help="print Markdown tables")
    add_corpus_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read, score and print."""
    guard = _check(arguments)
    corpus = open_corpus(arguments.gold, arguments)
    gold = _read_all(corpus, "reading gold")
    systems = {path: _read(path, arguments) for path in (arguments.predicted, arguments.against) if path is not None}
    if arguments.common:
        gold, systems = _common(gold, systems)
    if not any(document.tree for documents in systems.values() for document in documents):
        return _segmentation_only(gold, systems[arguments.predicted], arguments)
    evaluations = {path: _evaluate(gold, documents, arguments) for path, documents in systems.items()}
    layers = _layers(gold, systems[arguments.predicted], arguments)
    if arguments.json:
        data = {name: scores for name, (scores, _) in layers.items()}
        show_json(_as_data(evaluations, arguments) | data)
    else:
        show(_as_text(evaluations, [table for _, table in layers.values()], arguments))
    _plot(evaluations, arguments, guard)
    return 0


def _check(arguments: argparse.Namespace) -> Guard:
    """Check the options before anything is read, and return the guard for the plots."""
    from genrst.evaluation.plot import SUFFIXES

    if arguments.against == arguments.predicted:
        raise UsageError(f"--against must differ from PRED, got {arguments.against}")
    guard = Guard("evaluate", arguments.force)
    for path in filter(None, (arguments.plot, arguments.plot_confusion)):
        if Path(path).suffix.lower() not in SUFFIXES:
            raise UsageError(f"a plot file must end in one of {', '.join(SUFFIXES)}, got {path}")
        guard.check_file(Path(path))
    return guard


def _read(path: str, arguments: argparse.Namespace) -> list[Document]:
    refuse_text(path)
    corpus = corpora.open_corpus(path, "files", roots=arguments.roots, skip_bad=arguments.skip_bad)
    return _read_all(corpus, f"reading {path}")


def _read_all(corpus: "Corpus", description: str) -> list[Document]:
    """Read all documents. If files cannot be read, all of them are reported before the run ends."""
    failures = Failures()
    if corpus.on_bad is None and len(corpus) > 1:
        corpus = replace(corpus, on_bad=failures.report)
    documents = list(read_corpus(corpus, description))
    if failures.count:
        count = f"{failures.count} of {len(corpus)} files cannot be read"
        raise CorpusFormatError(f"{count}; use --skip-bad to leave them out", corpus.folder)
    return documents


def _common(
    gold: list[Document], systems: dict[str, list[Document]]
) -> tuple[list[Document], dict[str, list[Document]]]:
    """Return the documents that all sides share, by name, and report how many are left out."""
    sides = [gold, *systems.values()]
    ids = set.intersection(*({document.id for document in documents} for documents in sides))
    if not ids:
        raise UsageError("--common found no document that is on all sides; documents are paired by name")
    if n_others := len({document.id for documents in sides for document in documents} - ids):
        tell(f"documents in common: {len(ids)}, left out: {n_others}")

    def keep(documents: list[Document]) -> list[Document]:
        return [document for document in documents if document.id in ids]

    return keep(gold), {path: keep(documents) for path, documents in systems.items()}


def _evaluate(gold: list[Document], predicted: list[Document], arguments: argparse.Namespace) -> "Evaluation":
    from genrst.evaluation.report import evaluate

    inventory = load_inventory(arguments.inventory) if arguments.inventory else None
    return evaluate(gold, predicted, labels=arguments.labels, inventory=inventory)


def _layers(
    gold: list[Document], predicted: list[Document], arguments: argparse.Namespace
) -> "dict[str, tuple[dict[str, Any], Table]]":
    """Return the requested scores of signals and secondary edges, as data and as tables."""
    from genrst.evaluation.signals import edge_table, score_secondary_edges, score_signals

    options: Any = {
        "labels": arguments.labels,
        "inventory": load_inventory(arguments.inventory) if arguments.inventory else None,
    }
    found: dict[str, tuple[dict[str, Any], Table]] = {}
    if arguments.signals:
        scores = score_signals(gold, predicted, **options)
        found["signals"] = scores.as_dict(), scores.table()
    if arguments.secondary:
        counts = score_secondary_edges(gold, predicted, **options)
        found["secondary_edges"] = {name: one.as_dict() for name, one in counts.items()}, edge_table(counts)
    return found


def _segmentation_only(gold: list[Document], predicted: list[Document], arguments: argparse.Namespace) -> int:
    """Score the EDUs only, because no prediction has a tree."""
    from genrst.evaluation.counts import percent
    from genrst.evaluation.report import score_segmentation

    for option in (
        *("against", "relations", "confusion", "agreement", "signals", "secondary", "plot", "plot_confusion"),
    ):
        if getattr(arguments, option):
            raise UsageError(f"--{option.replace('_', '-')} needs trees, but {arguments.predicted} has only EDUs")
    counts = score_segmentation(gold, predicted)
    if arguments.json:
        show_json({"documents": len(gold), "segmentation": counts.as_dict()})
    else:
        scores = (("precision", counts.precision), ("recall", counts.recall), ("F1", counts.f1))
        show("segmentation  " + "  ".join(f"{name} {percent(score)}" for name, score in scores))
    return 0


def _metrics(arguments: argparse.Namespace) -> "tuple[TreeMetric, ...]":
    from genrst.evaluation.report import TREE_METRICS

    wanted = arguments.metric.replace("-", "_")
    return TREE_METRICS if wanted == "all" else (wanted,)


def _as_data(evaluations: "dict[str, Evaluation]", arguments: argparse.Namespace) -> dict[str, Any]:
    evaluation, *others = evaluations.values()
    result = _scores(evaluation, arguments)
    if arguments.confusion:
        confusion = evaluation.confusion()
        result["confusion"] = {
            "gold": list(confusion.rows),
            "predicted": list(confusion.columns),
            "counts": confusion.matrix.tolist(),
        }
    if arguments.agreement:
        result["agreement"] = {name: one.as_dict() for name, one in evaluation.agreement().items()}
    if others:
        result["against"] = _scores(others[0], arguments)
        result["significance"] = {
            f"{metric} {aspect}": _significance_as_dict(test)
            for (metric, aspect), test in _significance(evaluations, arguments).items()
        }
    return result


def _scores(evaluation: "Evaluation", arguments: argparse.Namespace) -> dict[str, Any]:
    scores = evaluation.as_dict()
    for metric in {"parseval", "rst_parseval"} - set(_metrics(arguments)):
        del scores[metric]
    return scores


def _significance(
    evaluations: "dict[str, Evaluation]", arguments: argparse.Namespace
) -> "dict[tuple[str, str], Significance]":
    from genrst.evaluation.parseval import ASPECTS
    from genrst.evaluation.significance import compare_systems

    first, second = evaluations.values()
    return {
        (metric, aspect): compare_systems(first, second, metric, aspect)
        for metric in _metrics(arguments)
        for aspect in ASPECTS
    }


def _significance_as_dict(test: "Significance") -> dict[str, Any]:
    return {
        "difference": test.difference,
        "interval": [test.bootstrap.low, test.bootstrap.high],
        "bootstrap_p": test.bootstrap.p_value,
        "randomisation_p": test.randomisation_p_value,
    }


def _as_text(evaluations: "dict[str, Evaluation]", layers: "Sequence[Table]", arguments: argparse.Namespace) -> str:
    from genrst.evaluation.counts import percent
    from genrst.evaluation.tables import agreement_table, confusion_table, level_table, relation_table, summary_table

    evaluation = next(iter(evaluations.values()))
    metrics = _metrics(arguments)
    tables: list[Table | None] = [summary_table(evaluation, metrics)]
    if "parseval" in metrics:
        tables.append(level_table(evaluation))
    if arguments.relations:
        tables.append(relation_table(evaluation))
    if arguments.confusion:
        tables.append(confusion_table(evaluation.confusion()))
    if arguments.agreement:
        tables.append(agreement_table(evaluation.agreement()))
    if arguments.against:
        tables += _comparison_tables(evaluations, arguments)
    tables += layers
    segmentation = percent(evaluation.segmentation().f1)
    title = f"documents: {len(evaluation.documents)}; labels: {evaluation.labels}; segmentation F1: {segmentation}"
    shown = [table.as_markdown() if arguments.markdown else table.as_text() for table in tables if table is not None]
    return "\n\n".join([title, *shown])


def _comparison_tables(evaluations: "dict[str, Evaluation]", arguments: argparse.Namespace) -> "list[Table]":
    from genrst.evaluation.tables import Table, system_table

    rows = [
        [
            f"{metric} {aspect}",
            f"{100 * test.difference:+.1f}",
            f"{100 * test.bootstrap.low:+.1f} … {100 * test.bootstrap.high:+.1f}",
            f"{test.bootstrap.p_value:.4f}",
            f"{test.randomisation_p_value:.4f}",
        ]
        for (metric, aspect), test in _significance(evaluations, arguments).items()
    ]
    header = ["difference of F1", "first − second", "95% interval", "p (bootstrap)", "p (randomisation)"]
    return [*[system_table(evaluations, metric) for metric in _metrics(arguments)], Table(header, rows)]


def _plot(evaluations: "dict[str, Evaluation]", arguments: argparse.Namespace, guard: Guard) -> None:
    from genrst.evaluation.plot import plot_confusion, plot_levels, plot_systems

    evaluation, metrics = next(iter(evaluations.values())), _metrics(arguments)
    if arguments.plot and (arguments.against or evaluation.levels() is None or "parseval" not in metrics):
        plot_systems(evaluations, arguments.plot, metrics[0])
    elif arguments.plot:
        plot_levels(evaluation, arguments.plot)
    if arguments.plot_confusion:
        plot_confusion(evaluation.confusion(), arguments.plot_confusion)
    for path in filter(None, (arguments.plot, arguments.plot_confusion)):
        guard.note(Path(path))
        tell(f"wrote {path}")
