"""Three tiny documents with trees, prepared without spaCy."""

from dataclasses import replace
from itertools import islice

import torch
from safetensors.torch import load_file

from genrst.chart.examples import make_example, units_of
from genrst.chart.labels import Labels
from genrst.document import Document, Span, Token
from genrst.encoder.tokenizer import PieceTokenizer, join_edus
from genrst.rnng.config import RnngConfig, make_symbols
from genrst.rnng.examples import mask_entities, prepare
from genrst.rnng.finder import make_network
from genrst.rnng.transitions.actions import ActionSet
from genrst.storage import WEIGHTS
from genrst.training.prepared import Prepared
from genrst.training.run import CHECKPOINT, LOG, MODEL, Run, read_log
from genrst.training.run_config import TrainingConfig
from genrst.training.tasks import make_task
from genrst.training.trainer import Record, Trainer
from genrst.trees.node import Leaf, Tree, Unit

SMALL = RnngConfig(
    word_size=16, edu_size=16, edu_layers=1, unit_size=24, relation_size=8, stack_size=24, decoder_size=16,
    lookahead_size=16, boundary_size=4, deprel_size=4,
)  # fmt: skip
QUICK = TrainingConfig(batch_documents=2, learning_rate=1e-2, max_epochs=60, patience=60)


def unit(relation: str, nuclearity: str, *children: Tree) -> Unit:
    return Unit(relation, nuclearity, children)


TREES: list[tuple[list[str], Tree]] = [
    (
        ["The ferry stopped", "when the storm came .", "Nobody was hurt ."],
        unit("joint", "NN", unit("context", "NS", Leaf(0), Leaf(1)), Leaf(2)),
    ),
    (
        ["To pay for it ,", "the council sold a warehouse", "and raised the fees .", "Shops complained ."],
        unit(
            "evaluation",
            "NS",
            unit("purpose", "SN", Leaf(0), unit("joint", "NN", Leaf(1), Leaf(2))),
            Leaf(3),
        ),
    ),
    (
        ["She said", "the boat was late", "because the fog was thick ,", "but people waited ."],
        unit(
            "attribution",
            "SN",
            Leaf(0),
            unit("contrast", "NN", unit("cause", "NS", Leaf(1), Leaf(2)), Leaf(3)),
        ),
    ),
]


def make_document(number: int) -> Document:
    """A document whose tokens all depend on the first one of their sentence; a full stop ends a sentence."""
    edus, tree = TREES[number]
    document = Document.from_edus(f"tiny-{number}", edus, tree)
    tokens: list[Token] = []
    sentences: list[Span] = []
    first = 0
    for span, text in zip(document.edus, edus, strict=True):
        offset = span.start
        for word in text.split():
            tokens.append(Token(offset, offset + len(word), first, "dep"))
            offset += len(word) + 1
        if text.endswith("."):
            sentences.append(Span(tokens[first].start, span.end))
            first = len(tokens)
    return Document(document.id, document.text, document.edus, tree, tuple(tokens), tuple(sentences))


def prepare_samples(tokenizer: PieceTokenizer | None = None) -> Prepared:
    """The documents as the paper's model reads them."""
    documents = [make_document(number) for number in range(3)]
    words = [word for document in documents for edu in mask_entities(document).edus for word in edu]
    trees = [document.tree for document in documents if document.tree is not None]
    symbols = make_symbols(words, ["dep"], ActionSet.from_trees(trees), min_count=1)
    pairs = zip(documents, trees, strict=True)
    examples = [prepare(document, symbols, tree, tokenizer=tokenizer) for document, tree in pairs]
    tokenizer_json = tokenizer.json if tokenizer else None
    return Prepared("rnng", symbols, examples, examples, None, {"relations": {}}, tokenizer=tokenizer_json)


def prepare_chart_samples(tokenizer: PieceTokenizer) -> Prepared:
    """The documents as a chart reads them."""
    documents = [make_document(number) for number in range(3)]
    trees = [document.tree for document in documents if document.tree is not None]
    pairs = sorted({(label.relation, label.nuclearity) for label in ActionSet.from_trees(trees).labels})
    labels = Labels(tuple(pairs))
    examples = [
        replace(
            make_example(document, *join_edus(tokenizer(document.edu_texts))),
            units=units_of(tree, labels, document.id),
        )
        for document, tree in zip(documents, trees, strict=True)
    ]
    return Prepared("chart", labels, examples, examples, None, {"relations": {}}, tokenizer=tokenizer.json)


def timeless(records: list[Record]) -> list[Record]:
    return [replace(record, train_seconds=0.0, dev_seconds=0.0) for record in records]


def assert_goes_on(whole: Run, broken: Run, prepared: Prepared, stop: int = 2) -> None:
    """A run that stopped in the midst of its log and is resumed is the one that never stopped, bit for bit."""
    expected = timeless(list(whole.records(prepared)))
    list(islice(broken.records(prepared), stop))
    with (broken.folder / LOG).open("a") as log:
        log.write('{"epoch": ')  # as a crash would leave it
    assert len(read_log(broken.folder / LOG)) == stop
    list(broken.records(prepared, broken.find_checkpoint()))
    assert timeless(read_log(broken.folder / LOG)) == expected
    for file in (CHECKPOINT, f"{MODEL}/{WEIGHTS}"):
        found = load_file(broken.folder / file)
        for name, tensor in load_file(whole.folder / file).items():
            assert torch.equal(tensor, found[name]), name


def make_trainer(
    kind: str = "generative", config: TrainingConfig = QUICK, seed: int = 1, prepared: Prepared | None = None
) -> Trainer:
    """A trainer of the paper's model, by default with all documents as training and dev documents."""
    prepared = prepared or prepare_samples()
    torch.manual_seed(seed)
    network = make_network(replace(SMALL, kind=kind), prepared.symbols)  # type: ignore[arg-type]
    return Trainer(network, make_task(prepared, network, config, seed), config, seed)
