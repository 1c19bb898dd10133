"""Train and score the head for signals and secondary edges, on the frozen encoder of a trained chart.

    python -m experiments.signals.run --data GUM --output runs/signals --seeds 1 2 3
    python -m experiments.signals.run --data GUM --output runs/signals --seeds 1 --ship

The encoder states of all documents are computed once and cached, and finished seeds are not trained again, so an
interrupted command can be repeated. `--ship` copies the head of the first seed to the model folder. By default, only
genres with free licences are used for training, as for `en`; `--all-genres` uses all of them.
"""

import argparse
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save

from experiments.command import count, run_command, start_parser
from experiments.signals.baseline import MajorityRule, MarkerList
from genrst.chart.labels import IntArray
from genrst.chart.learning.secondary import edge_examples, marker_meanings, train_edges
from genrst.chart.learning.signals import SignalExample, make_example, train_signals
from genrst.chart.load import load_scorer
from genrst.chart.signals.features import ask, find_atoms, pool_pieces, words_of_atoms
from genrst.chart.signals.secondary import MARKERS, PREFIX
from genrst.chart.signals.signaller import CONFIG, GAP, WEIGHTS, ReadAtoms, SignalConfig, Signaller
from genrst.chart.texts import encode_texts, piece_starts
from genrst.corpora.corpus import load_corpus
from genrst.document import Document, signal_words
from genrst.evaluation.signals import score_secondary_edges, score_signals
from genrst.io import progress, write_atomically
from genrst.packing import pack
from genrst.parser.folders import find_model
from genrst.storage import add_checksum, write_config

FREE = ("academic", "bio", "court", "interview", "news", "speech", "textbook", "vlog", "voyage")
"""The genres of GUM whose licences allow any use."""
FEWEST = 15
"""The minimum frequency of a class."""
N_EDGE_NETWORKS = 3
LIMITS = np.arange(0.1, 0.8, 0.05)


def main(words: Sequence[str] | None = None) -> None:
    """Train and score."""
    parser = start_parser(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of GUM")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--model", default="en", help="chart whose encoder is used (default: en)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--size", type=count, default=256)
    parser.add_argument("--epochs", type=count, default=20)
    parser.add_argument("--edge-epochs", type=count, default=40)
    parser.add_argument("--all-genres", action="store_true")
    parser.add_argument("--splits", nargs="+", default=["dev"], help="splits to score (default: dev)")
    parser.add_argument("--ship", action="store_true", help="copy the head of the first seed to the model folder")
    run_command(parser, run, words)


class States:
    """Documents with their encoder states, computed once and cached in a folder."""

    def __init__(self, data: Path, folder: Path, model: Path) -> None:
        self._data, self._folder = data, folder
        self._scorer = load_scorer(model)

    def read(self, split: str, version: str = "11.1") -> Iterator[tuple[Document, dict[str, Any]]]:
        """Yield the documents of a split with the states of their atoms, their EDU vectors and their layout."""
        corpus = load_corpus(self._data, "gum", split, version=version)
        for document in progress(corpus, f"states of {split}", len(corpus)):
            path = self._folder / f"{document.id}.npz"
            if not path.is_file():
                (text,) = encode_texts(self._scorer, [document])
                starts = piece_starts(text, self._scorer.tokenizer)
                pooled = pool_pieces(find_atoms(document), starts, text.states).astype(np.float16)
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.with_suffix(".part").open("wb") as file:
                    np.savez(file, states=pooled, edus=text.edus, kinds=text.kinds)
                path.with_suffix(".part").rename(path)
            with np.load(path) as stored:
                yield document, dict(stored)


def make_config(documents: Sequence[Document], size: int, state_size: int, edu_size: int) -> SignalConfig:
    """Derive the classes to learn from the training documents."""
    signals = [(document, signal) for document in documents for signal in document.signals]
    counts = Counter((one.type, one.subtype, bool(one.tokens)) for _, one in signals if one.target is None)
    others = [key for key, n in counts.most_common() if n >= FEWEST and key[0] not in ("dm", "orphan")]
    edges = Counter(edge.relation.lower() for document in documents for edge in document.secondary_edges)
    labels = {(one.name, one.role) for document in documents for one in ask(document, _no_kinds(document)).relations}
    return SignalConfig(
        state_size,
        edu_size,
        size,
        tuple((kind, subtype) for kind, subtype, has_words in others if has_words),
        tuple((kind, subtype) for kind, subtype, has_words in others if not has_words),
        tuple(sorted(labels)),
        tuple(sorted({_marker(*one) for one in signals if one[1].type in ("dm", "orphan") and one[1].tokens})),
        marker_threshold=0.6,
        edge_relations=tuple(sorted(name for name, n in edges.items() if n > 1)),
    )


def _no_kinds(document: Document) -> IntArray:
    return np.zeros(len(document.edus) + 1, dtype=np.int64)


def _marker(document: Document, signal: Any) -> str:  # noqa: ANN401
    spans, text = signal_words(document), document.text or ""
    found, before = "", 0
    for word in signal.tokens:
        gap = "" if not before else " " if word == before + 1 else GAP
        found += gap + text[spans[word - 1].start : spans[word - 1].end].lower()
        before = word
    return found


def train(
    examples: Sequence[SignalExample], config: SignalConfig, seed: int, arguments: argparse.Namespace
) -> Signaller:
    """Train both parts of the head."""
    network = train_signals(examples, config, seed, arguments.epochs)
    weights = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    signaller = Signaller(config, weights)
    names = {name: number for number, name in enumerate(config.edge_relations, 1)}
    edges = [
        edge
        for one in examples
        for edge in edge_examples(one.document, _read(signaller, one), _words(one.document), names)
    ]
    for number in range(N_EDGE_NETWORKS if edges else 0):
        one = train_edges(edges, len(names), seed + number, arguments.edge_epochs)
        weights |= {f"{PREFIX}{number}.{name}": tensor.numpy() for name, tensor in one.state_dict().items()}
    markers, meanings = marker_meanings(edges, len(names))
    return Signaller(replace(config, edge_markers=markers), weights | {MARKERS: meanings})


def _words(document: Document) -> IntArray:
    return words_of_atoms(find_atoms(document), signal_words(document))


def _read(signaller: Signaller, example: SignalExample) -> ReadAtoms:
    vectors = signaller.atom_vectors(example.document, example.atoms, example.states.astype(np.float32))
    return ReadAtoms(example.atoms, vectors, example.kinds, example.edus)


def choose_thresholds(signaller: Signaller, examples: Sequence[SignalExample]) -> tuple[float, ...]:
    """Return, for each class, the threshold with the best F1 of words."""
    scored = [signaller.score(one.document, _read(signaller, one)) for one in examples]
    found = []
    for number in range(len(signaller.config.classes)):
        p = np.concatenate([one.classes[:, number] for one in scored])
        is_gold = np.concatenate([_gold(one, number) for one in examples])
        f1 = [2 * is_gold[p > limit].sum() / max((p > limit).sum() + is_gold.sum(), 1) for limit in LIMITS]
        best = max(range(len(LIMITS)), key=lambda place: (f1[place], -abs(LIMITS[place] - 0.4)))
        found.append(round(float(LIMITS[best]), 2))
    return (*found, *[0.5] * len(signaller.config.wordless))


def _gold(example: SignalExample, number: int) -> IntArray:
    found = np.zeros(len(example.rows), dtype=np.int64)
    found[example.classes[example.classes[:, 1] == number, 0]] = 1
    return found


def choose_rules(
    signaller: Signaller, examples: Sequence[SignalExample], train: Sequence[Document]
) -> tuple[tuple[str, ...], ...]:
    """Return the rules of the subtypes on which they beat the network."""
    gold, rule = [one.document for one in examples], MajorityRule(train)
    systems = [predict(signaller, one) for one in examples], [rule.mark(document) for document in gold]
    network, rules = (score_signals(gold, one, labels="fine").subtypes for one in systems)
    measure = "words unit"
    better = {
        name
        for name in rules
        if name != "dm dm" and rules[name][measure].f1 > (network[name][measure].f1 if name in network else 0)
    }
    return tuple(one for one in rule.rules if f"{one[-2]} {one[-1]}" in better)


def predict(signaller: Signaller, example: SignalExample) -> Document:
    """Predict the signals and secondary edges of a gold tree."""
    return signaller.add(example.document, _read(signaller, example))


def predict_edges(signaller: Signaller, example: SignalExample) -> Document:
    """Predict the secondary edges of a gold tree with gold orphans, whose words but not relations are given."""
    first: dict[int, int] = {}
    for atom, word in enumerate(_words(example.document).tolist()):
        first.setdefault(word + 1, atom)
    orphans = {
        one.tokens: first[one.tokens[0]]
        for one in example.document.signals
        if one.type == "orphan" and one.tokens and one.tokens[0] in first
    }
    bare = replace(example.document, signals=(), secondary_edges=())
    return signaller.add_edges(bare, _read(signaller, example), list(orphans.items()))


def score(gold: Sequence[Document], predicted: Sequence[Document]) -> dict[str, Any]:
    """Score signals and secondary edges, with fine relations."""
    edges = score_secondary_edges(gold, predicted, labels="fine")
    return {
        "signals": score_signals(gold, predicted, labels="fine").as_dict(),
        "secondary_edges": {name: one.as_dict() for name, one in edges.items()},
    }


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    torch.set_num_threads(2)
    states = States(arguments.data, arguments.output / "states", find_model(arguments.model))
    pairs = [pair for pair in states.read("train") if arguments.all_genres or pair[0].metadata["genre"] in FREE]
    documents = [document for document, _ in pairs]
    sizes = (pairs[0][1][name].shape[1] for name in ("states", "edus"))
    config = make_config(documents, arguments.size, *sizes)

    def examples(found: Sequence[tuple[Document, dict[str, Any]]]) -> list[SignalExample]:
        return [
            make_example(one, find_atoms(one), ask(one, of["kinds"]), words=_words(one), config=config, **of)
            for one, of in found
        ]

    folders = [arguments.output / f"{'all' if arguments.all_genres else 'free'}-{seed}" for seed in arguments.seeds]
    learned: list[SignalExample] = []
    dev = examples(list(states.read("dev")))
    for seed, folder in zip(arguments.seeds, folders, strict=True):
        if not (folder / WEIGHTS).is_file():
            learned = learned or examples(pairs)
            signaller = train(learned, config, seed, arguments)
            signaller.config = replace(signaller.config, thresholds=choose_thresholds(signaller, dev))
            signaller.config = replace(signaller.config, rules=choose_rules(signaller, dev, documents))
            folder.mkdir(parents=True, exist_ok=True)
            write_config(signaller.config, folder / CONFIG)
            write_atomically(folder / WEIGHTS, add_checksum(save(pack(signaller.weights, "float16"))))
    for split in arguments.splits:
        score_split(split, examples(list(states.read(split))), folders, documents, arguments.output)
    if arguments.ship:
        for name in (CONFIG, WEIGHTS):
            shutil.copyfile(folders[0] / name, find_model(arguments.model) / name)


def score_split(
    split: str, examples: Sequence[SignalExample], folders: Sequence[Path], train: Sequence[Document], output: Path
) -> None:
    """Score the heads and the baselines on gold trees, and write the scores."""
    gold = [one.document for one in examples]
    found = {
        f"{folder.name}, {name}": score(gold, [make(Signaller.load(folder), one) for one in examples])
        for folder in folders
        for name, make in (("all", predict), ("gold orphans", predict_edges))
    }
    for name, rule in (("marker list", MarkerList(train)), ("majority rule", MajorityRule(train))):
        found[name] = score(gold, [rule.mark(document) for document in gold])
    write_atomically(output / f"scores-{split}.json", json.dumps(found, indent=1) + "\n")
    for name, scores in found.items():
        types = {kind: round(100 * cells["words unit"]["f1"], 1) for kind, cells in scores["signals"]["types"].items()}
        edges = {aspect: round(100 * one["f1"], 1) for aspect, one in scores["secondary_edges"].items()}
        print(split, name, types, edges)


if __name__ == "__main__":
    main()
