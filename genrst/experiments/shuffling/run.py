"""Does a generative model prefer texts as they were written? Originals against shuffled copies, per word.

    python -m genrst.experiments.shuffling.run GUM --models en-generative --output runs/shuffling

EDUs, sentences or paragraphs of a document are put into another order, 20 times each; the layout stays where it was. A
text is as probable as with the best tree that its model finds, words with weight 1, divided by the number of words;
with --proposal, the model of a chart, as with all trees together, by importance sampling. Prints, for each document and
level, the share of copies that are less probable than the original, and draws the means.

Several models stand side by side: for one without a stack, give its folder, too.
"""

import argparse
import random
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Literal, get_args

from matplotlib.figure import Figure

from genrst.corpora.corpus import load_corpus
from genrst.document import Document
from genrst.errors import UsageError
from genrst.experiments.command import Rows, count, read_environment, run_command, start_parser
from genrst.io import progress
from genrst.model.device import choose_device
from genrst.parser.likelihood import score_text, single_model
from genrst.parser.parser import Parser, load
from genrst.parser.stages import Failure

Level = Literal["edus", "sentences", "paragraphs"]


def main(words: Sequence[str] | None = None) -> None:
    """Print a line of JSON for each document and level."""
    parser = start_parser(__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--models", nargs="+", default=["en-generative"], help="generative ones")
    parser.add_argument("--proposal", help="a chart's model: sum over trees")
    parser.add_argument("--samples", type=count, default=200)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--documents", metavar="N", type=count, help="only the first N of the split")
    parser.add_argument("--copies", type=count, default=20)
    parser.add_argument("--device", default="auto")
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """The command."""
    documents = list(load_corpus(arguments.corpus, split=arguments.split))[: arguments.documents]
    rows = Rows(read_environment(choose_device(arguments.device)), {"copies": arguments.copies})
    proposal = load(arguments.proposal, device=arguments.device) if arguments.proposal else None
    means: dict[str, dict[str, float]] = {}
    for name in arguments.models:
        parser = load(name, device=arguments.device, search="bag", word_weight=1.0)
        if single_model(parser).model.network.language_model is None:
            raise UsageError(f"--models: they must be generative, was: {name}")
        shares: dict[str, list[float]] = {level: [] for level in get_args(Level)}
        for document in progress(documents, name, len(documents)):
            for level, share in compare(parser, proposal, document, arguments.copies, arguments.samples).items():
                shares[level].append(share)
                rows.add(model=name, document=document.id, level=level, original_is_likelier=share)
        means[name] = {level: fmean(own) for level, own in shares.items() if own}
        rows.add(model=name, documents=len(documents), **means[name])
    rows.write(arguments.output / "results.jsonl")
    plot(means, arguments.output / "shuffling.svg")


def compare(
    parser: Parser, proposal: Parser | None, document: Document, n_copies: int, n_samples: int
) -> dict[Level, float]:
    """The share of copies of each level that are less probable per word than the original."""
    levels = [level for level in get_args(Level) if len(blocks(document, level)) > 1]
    copies = {level: [shuffled(document, level, seed) for seed in range(n_copies)] for level in levels}
    texts = [ordered(document, range(len(document.edus))), *(copy for own in copies.values() for copy in own)]
    original, *others = logp_per_word(parser, proposal, texts, n_samples)
    found = iter(others)
    return {level: fmean(original > next(found) for _ in own) for level, own in copies.items()}


def logp_per_word(
    parser: Parser, proposal: Parser | None, documents: Sequence[Document], n_samples: int
) -> list[float]:
    """log p(words, best tree), or log p(words) if there is a proposal, by the number of words and ends of EDUs."""
    one = single_model(parser)
    found = []
    for parsed in parser.pipe(documents):
        if isinstance(parsed, Failure):
            raise parsed.error
        logp = parsed.log_probability
        if proposal is not None:
            logp = score_text(parser, proposal, parsed, n_samples).log_probability
        assert logp is not None
        example = one.prepare(parsed)
        found.append(logp / (len(example.edu_words) + example.n_edus))
    return found


def blocks(document: Document, level: Level) -> list[list[int]]:
    """The EDUs that stay together."""
    if level == "edus":
        return [[edu] for edu in range(len(document.edus))]
    of_edus = document.sentence_of_edus() if level == "sentences" else document.paragraph_of_edus()
    return [list(own) for _, own in groupby(range(len(document.edus)), key=lambda edu: of_edus[edu])]


def shuffled(document: Document, level: Level, seed: int) -> Document:
    """A document in another order than its own."""
    generator = random.Random(f"{document.id} {level} {seed}")
    own = blocks(document, level)
    order = [*own]
    while order == own:
        generator.shuffle(order)
    return ordered(document, [edu for block in order for edu in block], level)


def ordered(document: Document, order: Sequence[int], level: Level = "edus") -> Document:
    """The EDUs of a document in this order, to be annotated anew.

    Paragraphs that are moved stay whole; else paragraphs begin after as many EDUs or sentences as in the original.
    """
    texts, paragraphs, sentences = document.edu_texts, document.paragraph_of_edus(), document.sentence_of_edus()
    starts = _changes(paragraphs)
    if level == "paragraphs":
        starts = _changes([paragraphs[edu] for edu in order])
    elif level == "sentences":
        places = dict(zip(_changes(sentences), _changes([sentences[edu] for edu in order]), strict=True))
        starts = [places[start] for start in starts if start in places]
    return Document.from_edus(document.id, [texts[edu] for edu in order], paragraph_starts=starts)


def _changes(numbers: Sequence[int]) -> list[int]:
    """Where a number is another than the one before it."""
    return [place for place in range(1, len(numbers)) if numbers[place] != numbers[place - 1]]


def plot(means: dict[str, dict[str, float]], path: Path) -> None:
    """Bars: how often the original is likelier."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(means)
    for number, (name, shares) in enumerate(means.items()):
        bars = axes.bar(
            [place + number * width for place in range(len(shares))], list(shares.values()), width, label=name
        )
        axes.bar_label(bars, fmt="%.2f")
    levels = next(iter(means.values()))
    axes.set_xticks([place + 0.4 - width / 2 for place in range(len(levels))], list(levels))
    axes.axhline(0.5, color="grey", linewidth=0.5)
    axes.set(ylabel="original likelier per word", ylim=(0, 1.05))
    axes.legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


if __name__ == "__main__":
    main()
