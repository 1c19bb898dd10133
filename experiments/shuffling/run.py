"""Test whether a generative model prefers original texts to shuffled copies, by log-probability per word.

    python -m experiments.shuffling.run GUM --models runs/fast/model --without-stack runs/flat/model \\
        --output runs/shuffling

The EDUs, sentences or paragraphs of a document are shuffled, 20 times each; the layout stays in place. The score of a
text is its log-probability with the best tree that the model finds, with words at weight 1, divided by the number of
words. With --proposal, a chart parser, it is summed over all trees by importance sampling. Prints, for each document
and level, the share of copies that are less probable than the original, and plots the means.

Models --without-stack were trained on flat trees (see `flatten.py`). Here, texts have a flat tree too, so no search is
needed, and the score is log p(words), with layout as in other models. The last row of each model has the means over all
words of the originals: for everything that is generated, and for words alone. The latter are conditioned on a tree that
was chosen with these words in view, which favours models with a stack; the former is a lower bound on log p(words).
"""

import argparse
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Literal, NamedTuple, get_args

from matplotlib.figure import Figure

from experiments.command import Rows, count, read_environment, run_command, start_parser
from experiments.shuffling.flatten import flat_actions
from genrst.corpora.corpus import load_corpus
from genrst.document import Document
from genrst.encoder.device import choose_device
from genrst.errors import UsageError
from genrst.io import progress
from genrst.parser.loading import load
from genrst.parser.parser import Parser, unwrap
from genrst.rnng.finder import RnngFinder
from genrst.rnng.likelihood import score_text, score_tree, single_model
from genrst.rnng.transitions.actions import tree_of

Level = Literal["edus", "sentences", "paragraphs"]


def main(words: Sequence[str] | None = None) -> None:
    """Print a line of JSON for each document and level."""
    parser = start_parser(__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument(
        "--models", nargs="+", default=["en-generative"], help="generative models (default: en-generative)"
    )
    parser.add_argument("--without-stack", nargs="+", default=[], metavar="MODEL", help="models trained on flat trees")
    parser.add_argument("--proposal", help="sum over trees sampled from this chart parser")
    parser.add_argument("--samples", type=count, default=200)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--documents", metavar="N", type=count, help="use only the first N documents of the split")
    parser.add_argument("--copies", type=count, default=20)
    parser.add_argument("--device", default="auto")
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """Run the experiment."""
    documents = list(load_corpus(arguments.corpus, split=arguments.split))[: arguments.documents]
    rows = Rows(read_environment(choose_device(arguments.device)), {"copies": arguments.copies})
    means: dict[str, dict[str, float]] = {}
    for name, judge in load_judges(arguments).items():
        shares: dict[str, list[float]] = {level: [] for level in get_args(Level)}
        originals: list[Score] = []
        for document in progress(documents, name, len(documents)):
            original, of_levels = compare(judge, document, arguments.copies)
            originals.append(original)
            for level, share in of_levels.items():
                shares[level].append(share)
                figures = {"original_is_likelier": share, "logp_per_word": original.per_word}
                rows.add(model=name, document=document.id, level=level, **figures)
        means[name] = {level: fmean(own) for level, own in shares.items() if own}
        rows.add(model=name, documents=len(documents), **means[name], **means_per_word(originals))
    rows.write(arguments.output / "results.jsonl")
    plot(means, arguments.output / "shuffling.svg")


class Score(NamedTuple):
    """The log-probability of a text, with one tree or summed over all trees."""

    logp: float
    """The log-probability of everything that is generated: words, layout and tree."""
    word_logp: float
    """The log-probability of the words, given the tree built before them."""
    n_words: int
    """The number of words, including the ends of EDUs."""

    @property
    def per_word(self) -> float:
        """The score by which texts are compared."""
        return self.logp / self.n_words


def means_per_word(scores: Sequence[Score]) -> dict[str, float]:
    """Return the means over the words of all texts."""
    logps, word_logps, n_words = zip(*scores, strict=True)
    return {
        "logp_per_word": math.fsum(logps) / sum(n_words),
        "word_logp_per_word": math.fsum(word_logps) / sum(n_words),
    }


@dataclass(frozen=True, slots=True)
class Judge:
    """A model, and the kind of trees with which it scores texts."""

    parser: Parser
    has_stack: bool = True
    """Whether the model finds trees; otherwise they are flat."""
    proposal: Parser | None = None
    """A chart parser from which trees are sampled."""
    n_samples: int = 200

    @property
    def finder(self) -> RnngFinder:
        """The tree finder of the parser."""
        return step_finder(self.parser)

    def score(self, texts: Sequence[Document]) -> list[Score]:
        """Score texts."""
        found = []
        for document in self._with_trees(texts):
            one = score_tree(self.finder, document)
            logp = one.log_probability
            if self.proposal is not None:
                drawn = self.proposal.finder.free_distribution(document)
                logp = score_text(self.finder, drawn, document, self.n_samples).log_probability
            word_logp = -math.fsum(surprisal for edu in one.edus for _, surprisal in edu.words)
            found.append(Score(logp, word_logp, one.n_words))
        return found

    def _with_trees(self, texts: Sequence[Document]) -> Iterator[Document]:
        if not self.has_stack:
            actions = single_model(self.finder).model.symbols.actions
            for text in texts:
                yield replace(text, tree=tree_of(actions[number] for number in flat_actions(len(text.edus))))
            return
        yield from map(unwrap, self.parser.pipe(texts))


def load_judges(arguments: argparse.Namespace) -> dict[str, Judge]:
    """Load the models of the command by name, with and without a stack."""
    proposal = load(arguments.proposal, device=arguments.device) if arguments.proposal else None
    judges = {name: Judge(_load(name, arguments), True, proposal, arguments.samples) for name in arguments.models}
    return judges | {
        f"{name}, without a stack": Judge(_load(name, arguments), has_stack=False) for name in arguments.without_stack
    }


def _load(name: str, arguments: argparse.Namespace) -> Parser:
    parser = load(name, device=arguments.device, search="bag", word_weight=1.0)
    if single_model(step_finder(parser)).model.network.language_model is None:
        raise UsageError(f"models must be generative, got {name}")
    return parser


def step_finder(parser: Parser) -> RnngFinder:
    """Return the finder of a parser that was loaded with a step-by-step search."""
    assert isinstance(parser.finder, RnngFinder)
    return parser.finder


def compare(judge: Judge, document: Document, n_copies: int) -> tuple[Score, dict[Level, float]]:
    """Return the score of the original, and the share of less probable copies for each level."""
    levels = [level for level in get_args(Level) if len(blocks(document, level)) > 1]
    copies = {level: [shuffled(document, level, seed) for seed in range(n_copies)] for level in levels}
    texts = [ordered(document, range(len(document.edus))), *(copy for own in copies.values() for copy in own)]
    original, *others = judge.score(texts)
    found = iter(others)
    return original, {
        level: fmean(original.per_word > next(found).per_word for _ in own) for level, own in copies.items()
    }


def blocks(document: Document, level: Level) -> list[list[int]]:
    """Return the blocks of EDUs that stay together."""
    if level == "edus":
        return [[edu] for edu in range(len(document.edus))]
    of_edus = document.sentence_of_edus() if level == "sentences" else document.paragraph_of_edus()
    return [list(own) for _, own in groupby(range(len(document.edus)), key=lambda edu: of_edus[edu])]


def shuffled(document: Document, level: Level, seed: int) -> Document:
    """Return the document in a different order."""
    generator = random.Random(f"{document.id} {level} {seed}")
    own = blocks(document, level)
    order = [*own]
    while order == own:
        generator.shuffle(order)
    return ordered(document, [edu for block in order for edu in block], level)


def ordered(document: Document, order: Sequence[int], level: Level = "edus") -> Document:
    """Return a new document with the EDUs in this order, without annotation.

    Paragraphs that are moved stay whole; otherwise they start after as many EDUs or sentences as in the original.
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
    """Return the places where a number differs from the previous one."""
    return [place for place in range(1, len(numbers)) if numbers[place] != numbers[place - 1]]


def plot(means: dict[str, dict[str, float]], path: Path) -> None:
    """Plot how often the original is more probable."""
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
    axes.set(ylabel="original likelier per word", ylim=(0, 1.1))
    figure.legend(loc="outside upper center", fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


if __name__ == "__main__":
    main()
