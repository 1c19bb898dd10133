"""genrst inside a spaCy pipeline."""

import subprocess
import sys
from dataclasses import asdict, fields, replace
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from genrst.chart.finder import ChartFinder
from genrst.document import Document, Signal
from genrst.errors import GenrstError, MissingDependencyError, ParserWarning
from genrst.integrations.spacy import RstComponent, from_spacy, make
from genrst.parser.loading import load, load_with
from genrst.parser.options import LoadOptions
from genrst.parser.parser import Failure
from genrst.trees.node import Leaf
from tests.parser.samples import (
    PIPELINE,
    TEXT,
    check,
    rnng_finder,
    write_chart,
    write_ensemble,
    write_parser,
    write_reading_chart,
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_parser(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def nlp(model: Path) -> Language:
    nlp = spacy.load(PIPELINE)
    nlp.add_pipe("genrst", config={"model": str(model)})
    return nlp


@pytest.mark.slow
@pytest.mark.parametrize("text", [TEXT, "It rained,  so we \n\n stayed in.", "  Hello\n"])
def test_a_doc(nlp: Language, text: str):
    doc = nlp(text)
    document = doc._.rst
    check(document, text)
    words = [token for token in doc if not token.is_space]
    assert [(token.start, token.end) for token in document.tokens] == [(t.idx, t.idx + len(t)) for t in words]
    assert [token.deprel for token in document.tokens] == [token.dep_ for token in words]
    for token, word in zip(document.tokens, words, strict=True):
        assert document.tokens[token.head].start == word.head.idx
    assert {entity.label for entity in document.entities} == {entity.label_ for entity in doc.ents}
    assert len(document.sentences) == len(list(doc.sents))
    assert [span.text for span in doc.spans["edus"]] == document.edu_texts


def test_signals(monkeypatch: pytest.MonkeyPatch):
    """A run of words each, with the type of its signal, also where they are parts of tokens."""

    class Finder:
        def parse_annotated(self, documents: list[Document]) -> list[Document]:
            (document,) = documents
            signals = Signal((0, 1), "dm", "dm", (1, 2, 4)), Signal((0, 1), "graphical", "layout")
            return [replace(document, tree=Leaf(0), signals=signals * self.n)]

        n = 1

    finder = Finder()
    monkeypatch.setattr(RstComponent, "parser", finder)
    component = RstComponent(None, LoadOptions())
    words, heads = ["Even", "if", "it", "rained", "."], [3, 3, 3, 3, 3]
    doc, without = (Doc(spacy.blank("en").vocab, words, heads=heads, deps=["dep"] * 5) for _ in range(2))
    spans = component(doc).spans["signals"]
    assert [(span.text, span.label_) for span in spans] == [("Even if", "dm"), ("rained", "dm")]
    assert len(doc._.rst.signals) == 2
    finder.n = 0
    assert "signals" not in component(without).spans


def test_trees_are_those_of_the_parser(nlp: Language, model: Path):
    """Given the EDUs, sentences and tokens that were found in the pipeline."""
    document = nlp("It rained, so we stayed in. Nobody was hurt, because the ferry stopped.")._.rst
    assert load(model)(document) == document


@pytest.mark.slow
def test_an_ensemble(model: Path, tmp_path: Path):
    """Its segmenter, `en`, finds the same EDUs in a plain text."""
    write_parser(tmp_path / "other", kind="discriminative")
    folder = write_ensemble(tmp_path, {"other": 2, str(model): 1})
    nlp = spacy.load(PIPELINE)
    nlp.add_pipe("genrst", config={"model": str(folder)})
    text = "It rained, so we stayed in. Nobody was hurt, because the ferry stopped."
    assert nlp(text)._.rst == load(folder)(text)


def test_heads_that_are_white_space():
    vocab = spacy.blank("en").vocab
    words, heads = ["It", "\n\n", "rained", " ", "."], [1, 1, 2, 2, 3]
    doc = Doc(vocab, words, [False] * 5, heads=heads, deps=["nsubj", "", "ROOT", "", "punct"])
    assert [token.head for token in from_spacy(doc).tokens] == [0, 1, 2], "they count as roots"


@pytest.mark.slow
def test_a_stream(nlp: Language):
    texts = ["", TEXT, " \n", "It rained, so we stayed in.", "Hello"] * 3
    found = [doc._.rst for doc in nlp.pipe(texts, batch_size=4)]
    alone = {text: nlp(text)._.rst for text in set(texts)}
    assert [one and one.tree for one in found] == [alone[text] and alone[text].tree for text in texts]
    assert found[0] is None
    assert found[2] is None


def test_a_stream_of_several_processes(nlp: Language):
    texts = ["It rained, so we stayed in.", "", TEXT]
    found = [doc._.rst for doc in nlp.pipe(texts, n_process=2, batch_size=1)]
    assert [one and one.tree for one in found] == [(one := nlp(text)._.rst) and one.tree for text in texts]


def test_docs_can_be_stored(nlp: Language):
    doc = nlp(TEXT)
    assert Doc(nlp.vocab).from_bytes(doc.to_bytes())._.rst == doc._.rst
    stored = DocBin(docs=[doc], store_user_data=True)
    (restored,) = DocBin().from_bytes(stored.to_bytes()).get_docs(nlp.vocab)
    assert restored._.rst == doc._.rst
    assert nlp.make_doc("Hello")._.rst is None


@pytest.mark.slow
def test_pipelines_can_be_stored(nlp: Language, tmp_path: Path):
    nlp.to_disk(tmp_path / "pipeline")
    restored = spacy.load(tmp_path / "pipeline")
    assert restored.config["components"]["genrst"]["model"] == nlp.config["components"]["genrst"]["model"]
    assert restored(TEXT)._.rst == nlp(TEXT)._.rst


def test_all_options_of_load(model: Path, tmp_path: Path):
    options = LoadOptions("cpu", "other", "word", 2, 0.75, 9, "sentences")
    component = add_component(model, options)
    assert repr(component.parser) == "<Parser 'tiny': word search, beam 2>"
    assert component.parser is component.parser
    assert component.parser.config == load_with(model, options).config
    assert rnng_finder(component.parser).settings == rnng_finder(load_with(model, options)).settings
    options = LoadOptions("cpu", search="best", keep_whole="nothing", relations="coarse")
    finder = add_component(write_reading_chart(tmp_path), options).parser.finder
    assert isinstance(finder, ChartFinder)
    assert (finder.settings.search, finder.settings.keep_whole, finder.settings.relations) == (
        "best", "nothing", "coarse",
    )  # fmt: skip


def add_component(model: Path, options: LoadOptions) -> RstComponent:
    component = spacy.blank("en").add_pipe("genrst", config={"model": str(model), **asdict(options)})
    assert isinstance(component, RstComponent)
    return component


def test_options_are_those_of_load():
    """One that is added to `load`, to `LoadOptions` or to the component must be added to all."""
    options = [field.name for field in fields(LoadOptions)]
    assert [*signature(load).parameters] == ["name_or_folder", *options]
    assert [*signature(make).parameters] == ["nlp", "name", "model", *options]
    defaults = {name: one.default for name, one in signature(load).parameters.items() if name in options}
    assert asdict(LoadOptions()) == defaults
    assert Language.get_factory_meta("genrst").default_config == {"model": None, **defaults}


def test_every_option_arrives(monkeypatch: pytest.MonkeyPatch):
    other: dict[str, Any] = {
        "device": "cpu", "pipeline": "other", "search": "best", "beam": 3, "word_weight": 0.25, "max_stack": None,
        "keep_whole": "paragraphs", "relations": "coarse", "signals": True,
    }  # fmt: skip
    assert {name for name, value in asdict(LoadOptions()).items() if other[name] == value} == set()
    loaded: list[object] = []
    monkeypatch.setattr("genrst.integrations.spacy.load_with", lambda *given: loaded.append(given))
    _ = add_component(Path("model"), LoadOptions(**other)).parser
    assert loaded == [("model", LoadOptions(**other))]


def add_blank(model: Path, *before: str) -> Language:
    nlp = spacy.blank("en")
    for name in before:
        nlp.add_pipe(name)
    nlp.add_pipe("genrst", config={"model": str(model)})
    return nlp


def test_a_step_by_step_model_needs_a_parser(model: Path):
    nlp = add_blank(model)
    with pytest.raises(MissingDependencyError) as caught:
        nlp("It rained.")
    assert str(caught.value) == (
        "the model 'tiny' needs a dependency parser before genrst in the spaCy pipeline; add one, or use 'en', which "
        "does not need it"
    )
    assert nlp("")._.rst is None


def test_a_chart_needs_only_the_text(tmp_path: Path):
    """It finds what it finds in a plain text; only the words are those of the pipeline."""
    folder = write_chart(tmp_path)
    nlp = add_blank(folder)
    assert (nlp.analyze_pipes() or {})["problems"]["genrst"] == []
    doc, plain = nlp(TEXT), load(folder)(TEXT)
    check(doc._.rst, TEXT)
    assert (doc._.rst.edus, doc._.rst.sentences, doc._.rst.tree) == (plain.edus, plain.sentences, plain.tree)
    assert [token.start for token in doc._.rst.tokens] == [token.idx for token in doc if not token.is_space]
    assert [token.head for token in doc._.rst.tokens] == [*range(len(doc._.rst.tokens))]
    assert [span.text for span in doc.spans["edus"]] == doc._.rst.edu_texts


def test_sentences_of_a_pipeline_without_a_parser(tmp_path: Path):
    """They are used, as far as there are any."""
    doc = add_blank(write_chart(tmp_path), "sentencizer")(TEXT)
    assert len(list(doc.sents)) == len(doc._.rst.sentences)
    starts = [one.start_char for one in doc.sents]
    assert [one.start for one in doc._.rst.sentences] == starts


def test_what_cannot_be_parsed_is_a_warning(nlp: Language, monkeypatch: pytest.MonkeyPatch):
    component = nlp.get_pipe("genrst")
    assert isinstance(component, RstComponent)

    def fail(documents: list[Document]) -> list[Failure]:
        return [Failure(document.id, GenrstError("no")) for document in documents]

    monkeypatch.setattr(component.parser, "parse_annotated", fail)
    with pytest.warns(ParserWarning, match="^no$"):
        assert nlp("It rained.")._.rst is None


@pytest.mark.slow
def test_spacy_finds_the_component_by_itself(model: Path):
    """By the entry point of the installed package, without an import of ours."""
    program = (
        f"import spacy; nlp = spacy.load({PIPELINE!r}); nlp.add_pipe('genrst', config=dict(model={str(model)!r}))\n"
        "print(repr(nlp('It rained.')._.rst))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.startswith("<Document 'text': ")
