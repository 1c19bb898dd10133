"""Compute log p(words, tree), the surprisal of every word, and log p(words).

  genrst score article.json --model en-generative
  genrst score article.json --plot surprisal.svg
  genrst score corpus/ --format csv --output surprisals.csv
  genrst score article.json --proposal CHART --samples 1000 --seed 1
  genrst score article.json --model CHART

IN is a file, a folder or a corpus of documents with trees (parse raw text first, with genrst parse --format json). All
numbers are natural logarithms. Words appear as the model generates them: named entities are replaced by their types,
and <eos> ends an EDU.

--proposal names a chart parser with the same labels. log p(words) is then estimated from trees that it samples, and
log p(tree | words) follows. If the effective sample size is small, treat the estimate as a lower bound. With a chart
parser as --model, log p(tree | words) is exact. A discriminative model generates no words; if it models layout, the
probability of the layout takes their place.
"""

import argparse
import io
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from genrst.characters import inert
from genrst.cli.console import Failures, show, show_file
from genrst.cli.guard import Guard
from genrst.cli.inputs import add_document_arguments, find_documents, read_each_document
from genrst.cli.outputs import add_output_arguments, make_guard
from genrst.document import Document, require_tree
from genrst.errors import UsageError
from genrst.io import progress, tell
from genrst.outputs.tables import write_rows
from genrst.trees.binarise import prepare_tree
from genrst.trees.relations import detect_inventory

if TYPE_CHECKING:
    from genrst.parser.parser import Parser
    from genrst.rnng.likelihood import TextScore, TreeScore

FORMATS = {".txt": "text", ".csv": "csv", ".json": "json", ".jsonl": "json"}
"""The names of formats, by file suffix."""
LEAST = 0.01
"""Units with a lower probability are not listed."""

Row: TypeAlias = dict[str, Any]
Found: TypeAlias = tuple[Document, Row]
"""A document and its scores."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `genrst score`."""
    add_document_arguments(parser, has_corpora=True, has_model=False)
    model = parser.add_argument_group("model")
    model.add_argument(
        "--model",
        metavar="NAME|DIR",
        default="en-generative",
        help="an installed model or a folder (default: en-generative)",
    )
    model.add_argument("--proposal", metavar="DIR", help="estimate log p(words) from samples of this chart parser")
    model.add_argument("--samples", type=int, metavar="N", help="number of sampled trees (default: 100)")
    model.add_argument("--seed", type=int, default=1, metavar="N", help="random seed of the samples (default: 1)")
    model.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"), help="default: auto")
    model.add_argument(
        "--pipeline", metavar="NAME", help="a spaCy pipeline (default: the model's, or the best one installed)"
    )
    parser.add_argument("--plot", metavar="FILE", help="plot the surprisal along the document (.png, .svg or .pdf)")
    add_output_arguments(parser, tuple(dict.fromkeys(FORMATS.values())), "text", "a file")


def run(arguments: argparse.Namespace) -> int:
    """Score all documents; return 1 if any could not be scored."""
    format = _check(arguments)
    failures = Failures()
    sources = find_documents(arguments, has_corpora=True, has_model=False)
    guard = make_guard("score", arguments, sources)
    for path in (arguments.plot, arguments.output):
        if path not in (None, "-"):
            guard.check_file(Path(path))
    documents = list(read_each_document(sources, "score", failures))
    if arguments.plot and len(documents) > 1:
        raise UsageError(f"--plot works with one document only, got {len(documents)}")
    score = _make_scorer(arguments)
    found: list[Found] = []
    for source, document in progress(documents, "scoring", len(documents)):
        with failures.reported(source.path):
            found.append((document, score(document)))
    if found:
        _write(found, format, arguments, guard)
    return failures.status


def _check(arguments: argparse.Namespace) -> str:
    """Check the options before anything is read, and return the name of the format."""
    from genrst.evaluation.plot import SUFFIXES
    from genrst.parser.folders import find_model, read_kind

    if arguments.samples is not None and (arguments.proposal is None or arguments.samples < 2):
        raise UsageError(f"--samples must be at least 2 and works only with --proposal, got {arguments.samples}")
    if arguments.plot and Path(arguments.plot).suffix.lower() not in SUFFIXES:
        raise UsageError(f"a plot file must end in one of {', '.join(SUFFIXES)}, got {arguments.plot}")
    output, suffix = arguments.output, Path(arguments.output).suffix.lower()
    if output != "-" and arguments.format is None and suffix not in FORMATS:
        raise UsageError(f"--output must end in one of {', '.join(FORMATS)}, or --format must be given, got {output}")
    format: str = arguments.format or FORMATS.get(suffix, "text")
    if read_kind(find_model(arguments.model)) == "chart":
        for option, is_given in (
            ("the format csv", format == "csv"),
            ("--plot", arguments.plot),
            ("--proposal", arguments.proposal),
        ):
            if is_given:
                raise UsageError(f"{option} does not work with a chart parser, got the model {arguments.model}")
    elif arguments.proposal is not None and read_kind(find_model(arguments.proposal)) != "chart":
        raise UsageError(f"--proposal must be a chart parser, got {arguments.proposal}")
    return format


def _write(found: Sequence[Found], format: str, arguments: argparse.Namespace, guard: Guard) -> None:
    def write(file: BinaryIO) -> None:
        if format == "text":
            file.write(f"{_format(found)}\n".encode())
        else:
            rows = _word_rows(found) if format == "csv" else (row for _, row in found)
            write_rows(rows, file, "csv" if format == "csv" else "json")

    if arguments.plot:
        _plot(found[0][1]["edus"], Path(arguments.plot))
        guard.note(Path(arguments.plot))
        tell(f"wrote {arguments.plot}")
    if arguments.output != "-":
        guard.write(Path(arguments.output), write)
    elif format == "text":
        show(_format(found))
    else:
        buffer = io.BytesIO()
        write(buffer)
        show_file(buffer.getvalue())


def _make_scorer(arguments: argparse.Namespace) -> Callable[[Document], Row]:
    """Load the models and return a function that scores a document."""
    from genrst.parser.folders import find_model, read_kind
    from genrst.parser.loading import load  # loads PyTorch

    parser = load(arguments.model, device=arguments.device, pipeline=arguments.pipeline)
    if read_kind(find_model(arguments.model)) == "chart":
        return _of_chart(parser)
    proposal = None if arguments.proposal is None else load(arguments.proposal, device=arguments.device)
    return _of_model(parser, proposal, arguments)


def _of_chart(parser: "Parser") -> Callable[[Document], Row]:
    def score(document: Document) -> Row:
        distribution = parser.finder.free_distribution(document)
        inventory = detect_inventory(relation for relation, _ in distribution.labels)
        logp = distribution.log_probability(prepare_tree(require_tree(document), inventory))
        return {"document": document.id, "model": parser.config.name, "log_p_tree": logp}

    return score


def _of_model(parser: "Parser", proposal: "Parser | None", arguments: argparse.Namespace) -> Callable[[Document], Row]:
    from genrst.rnng.finder import RnngFinder
    from genrst.rnng.likelihood import score_text, score_tree

    finder = parser.finder
    assert isinstance(finder, RnngFinder)

    def score(document: Document) -> Row:
        tree = score_tree(finder, document)
        row = {"document": document.id, "model": parser.config.name, **_tree_row(tree)}
        if proposal is not None:
            drawn = proposal.finder.free_distribution(document)
            text = score_text(finder, drawn, document, arguments.samples or 100, arguments.seed)
            row |= _text_row(text, tree) | {"proposal": proposal.config.name, "seed": arguments.seed}
        return row

    return score


def load_uncertainty(name: str) -> Callable[[Document], dict[str, float]]:
    """A model that says of documents with trees, in nats, how sure it is: see `genrst.features`."""
    from genrst.parser.loading import load

    parser = load(name)
    if parser.finder.has_distributions:
        return lambda document: {"entropy": parser.distribution(document).entropy}
    from genrst.rnng.finder import RnngFinder
    from genrst.rnng.likelihood import score_tree

    finder = parser.finder
    assert isinstance(finder, RnngFinder)

    def surprisal(document: Document) -> dict[str, float]:
        words = [nats for edu in score_tree(finder, document).edus for _, nats in edu.words]
        return {"surprisal": math.fsum(words)} if words else {}

    return surprisal


def _tree_row(score: "TreeScore") -> Row:
    edus = [
        {"edu": number, "structure": edu.structure, "words": [{"word": word, "nats": nats} for word, nats in edu.words]}
        for number, edu in enumerate(score.edus)
    ]
    return {"log_p_joint": score.log_probability, "edus": edus, "closing": score.closing}


def _text_row(score: "TextScore", tree: "TreeScore") -> Row:
    units = score.unit_probabilities().items()
    return {
        "log_p_text": score.log_probability,
        "standard_error": score.standard_error,
        "samples": len(score.trees),
        "effective_samples": score.effective_size,
        "log_p_tree": tree.log_probability - score.log_probability,
        "units": [{"edus": list(span), "probability": p} for span, p in units if p >= LEAST],
    }


def _word_rows(found: Sequence[Found]) -> Iterator[Row]:
    """Yield a row for each term of −log p(words, tree)."""
    for document, row in found:
        for edu in row.get("edus", ()):
            place = {"document": document.id, "edu": edu["edu"]}
            yield {**place, "part": "structure", "word": None, "nats": edu["structure"]}
            for word in edu["words"]:
                yield {**place, "part": "word", **word}
        yield {"document": document.id, "edu": None, "part": "closing", "word": None, "nats": row["closing"]}


def _format(found: Sequence[Found]) -> str:
    """Format the scores as text for reading, with EDUs counted from 1."""
    return "\n\n".join(_format_one(document, row) for document, row in found)


def _format_one(document: Document, row: Row) -> str:
    lines = [f"# {inert(document.id)}"]
    has_words = any(edu["words"] for edu in row.get("edus", ()))
    text = "words" if has_words or "edus" not in row else "layout"
    if "log_p_joint" in row:
        lines.append(f"log p({text}, tree)  {row['log_p_joint']:.2f}")
    if "log_p_text" in row:
        worth = f"{row['samples']} samples, effective size {row['effective_samples']:.1f}"
        lines.append(f"log p({text})        {row['log_p_text']:.2f} ± {row['standard_error']:.2f} ({worth})")
    if "log_p_tree" in row:
        lines.append(f"log p(tree | {text}) {row['log_p_tree']:.2f}")
    texts = document.edu_texts
    for edu in row.get("edus", ()):
        words = sum(word["nats"] for word in edu["words"])
        shown = inert(texts[edu["edu"]])
        shown = shown if len(shown) <= 60 else f"{shown[:59]}…"
        lines.append(f"{edu['edu'] + 1:4}  structure {edu['structure']:6.2f}  words {words:7.2f}  {shown}")
    return "\n".join(lines)


def _plot(edus: Sequence[Row], path: Path) -> None:
    from genrst.evaluation.plot import plot_surprisals

    words = [sum(word["nats"] for word in edu["words"]) for edu in edus]
    plot_surprisals([edu["structure"] for edu in edus], words, path)
