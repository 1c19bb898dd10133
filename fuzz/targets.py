"""The fuzz targets: how to make a case, and what must hold for it.

A case is the bytes of a file. The code that reads it may refuse it with a `GenrstError`; any other exception is a
crash. A document that was read must score 100 against itself, and a file that was written must round-trip. `fuzz.run`
sets the limits of time and memory. Targets that need PyTorch are in `fuzz.models`, whole programs in `fuzz.programs`.
"""

import gzip
import json
import random
import struct
import tomllib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from unicodedata import category
from xml.parsers import expat

from fuzz import BrokenRuleError, models, programs
from fuzz.mutate import (
    as_json,
    change_bytes,
    change_data,
    change_gzip,
    change_json,
    change_lines,
    change_text,
    change_xml,
    random_document,
)
from genrst.chart.config import ChartConfig
from genrst.config import CONFIGS, read_tables, resolve, to_toml
from genrst.corpora.amalgum import read_genre
from genrst.corpora.conllu import read_conllu
from genrst.document import Document
from genrst.errors import CorpusWarning, GenrstError
from genrst.evaluation.report import TREE_METRICS, evaluate
from genrst.formats.files import format_documents, read_content
from genrst.formats.json_format import document_from_dict, document_to_dict
from genrst.formats.plain import collapse_spaces, dense
from genrst.formats.rs3_reader import Roots
from genrst.rendering.page import render_html
from genrst.rendering.svg import render_svg
from genrst.rendering.terminal import render_text
from genrst.rnng.vectors import load_vectors
from genrst.text.layout import paragraphs
from genrst.text.raw import looks_english, unsegmented
from genrst.training.run_config import RunConfig
from genrst.trees.node import units
from tests.miniatures import HARBOR_CONLLU, amalgum_record, conllu
from tests.text.hostile import LINE_ENDS, MARKUP
from tests.text.hostile import WORDS as PROSE

Change = Callable[[random.Random, bytes], bytes]
WRITTEN = (".json", ".jsonl", ".dis", ".rs3", ".rs4", ".edus")


@dataclass(frozen=True, slots=True)
class Target:
    """`make` makes a case. `check` raises a `GenrstError` if the case is refused, and another error for a crash."""

    make: Callable[[random.Random], bytes]
    check: Callable[[bytes], None]
    share: int = 100
    """Its relative share of the cases."""


@contextmanager
def must_work(what: str) -> Iterator[None]:
    """Treat a `GenrstError` in the block as a crash."""
    try:
        yield
    except GenrstError as error:
        raise BrokenRuleError(f"{what}: {error}") from error


@cache
def place() -> Path:
    """Return the folder where this process writes files."""
    return models.scratch("files")


def in_file(name: str, content: bytes) -> Path:
    """Write the content to a file."""
    path = place() / name
    path.write_bytes(content)
    return path


# Documents


@cache
def samples() -> list[Document]:
    """Return the undamaged documents."""
    chance = random.Random("samples")
    return [random_document(chance) for _ in range(300)]


@cache
def written_samples(suffix: str) -> list[bytes]:
    """Return the samples that a format can represent, as files."""
    contents = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for document in samples():
            with suppress(GenrstError):
                content = format_documents([document] * (1 + (suffix == ".jsonl")), suffix)
                contents.append(content.encode("utf-8", "surrogatepass"))
    return contents


def read_again(document: Document, suffix: str) -> None:
    """Check that a document survives a round trip, or that losses are refused or warned about."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            text = format_documents([document], suffix)
        except GenrstError:
            return
    again = _read_text(text, suffix)
    if suffix.startswith(".json"):
        if again != document:
            raise BrokenRuleError(f"{suffix} does not round-trip")
        return
    if len(again.edus) != len(document.edus):
        raise BrokenRuleError(f"{suffix} changes the number of EDUs")
    with must_work(f"{suffix} cannot be written again"):
        if _read_text(format_documents([again], suffix), suffix) != again:
            raise BrokenRuleError(f"{suffix} changes each time it is written")
    if not any(issubclass(one.category, CorpusWarning) for one in warned):
        check_texts(document, again, suffix)
        if suffix != ".edus" and satellites(again) != satellites(document):
            raise BrokenRuleError(f"{suffix} changes a relation without a warning")


def _read_text(text: str, suffix: str) -> Document:
    with must_work(f"{suffix} cannot be read again"):
        (document,) = read_content(text.encode("utf-8", "surrogatepass"), Path(f"case{suffix}"))
    return document


def check_texts(document: Document, again: Document, suffix: str) -> None:
    """Check that only white space and characters outside EDUs change.

    All formats except JSON collapse white space, and move characters outside EDUs into an adjacent EDU.
    """
    if dense("".join(again.edu_texts)) != dense(document.text or ""):
        raise BrokenRuleError(f"{suffix} changes a text without a warning")
    for before, now in zip(document.edu_texts, again.edu_texts, strict=True):
        line, part = f" {collapse_spaces(now)} ", f" {collapse_spaces(before)} "
        first, _, last = line.partition(part) if before.strip() else (now, "", "")
        if any(map(str.isalpha, first + last)):
            raise BrokenRuleError(f"{suffix} changes an EDU without a warning")


def satellites(document: Document) -> list[str]:
    """Return the relations of satellites, which are preserved even where `.rs3` nests units."""
    found = units(document.tree) if document.tree is not None else ()
    labels = [label for unit in found for label in zip(unit.nuclearity, unit.relations, strict=True)]
    return sorted(relation for letter, relation in labels if letter == "S")


def scores_itself(document: Document) -> None:
    """Check that every score of a document against itself is 100."""
    if document.tree is None:
        return
    with must_work("a document cannot be compared with itself"):
        evaluation = evaluate([document], [document], labels="fine")
    counts = [evaluation.segmentation(), *(one for metric in TREE_METRICS for one in evaluation.micro(metric).values())]
    if any(not one.tp == one.n_gold == one.n_pred for one in counts):
        raise BrokenRuleError("a document does not score 100 against itself")


def check_file(suffix: str, content: bytes) -> None:
    """Read a file, with or without its tree, and check the documents."""
    roots: Roots = "join" if len(content) % 3 else "error"
    try:
        documents = read_content(content, Path(f"case{suffix}"), roots=roots, with_tree=len(content) % 5 > 0)
    except GenrstError as error:
        if not str(error).startswith(f"case{suffix}:"):
            raise BrokenRuleError(f"an error does not name the file: {error}") from error
        raise
    for document in documents[:3]:
        scores_itself(document)
        read_again(document, WRITTEN[len(content) % len(WRITTEN)])


def reader(suffix: str, *changes: Change) -> Target:
    """Make a target of damaged files of a format."""

    def make(chance: random.Random) -> bytes:
        content = chance.choice(written_samples(".edus" if suffix == ".txt" else suffix))
        for _ in range(chance.choice([1, 1, 1, 2])):
            content = chance.choice(changes)(chance, content)
        return content

    return Target(make, partial(check_file, suffix))


def as_text(*pieces: str) -> Change:
    """Return a mutation of the characters of a file, with strings of its format."""

    def change(chance: random.Random, content: bytes) -> bytes:
        text = content.decode("utf-8", "surrogateescape" if chance.random() < 0.5 else "replace")
        return change_text(chance, text, pieces).encode("utf-8", "surrogatepass")

    return change


def make_document(chance: random.Random) -> bytes:
    """Make the JSON data of a document, intact or changed."""
    data = document_to_dict(random_document(chance))
    return as_json(change_data(chance, data) if chance.random() < 0.5 else data)


def load(content: bytes) -> Document:
    """Load the document of a case, which may not be valid JSON."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise GenrstError("no JSON") from error
    return document_from_dict(data, Path("case.json"))


def check_document(content: bytes) -> None:
    """Check that every format represents the document or refuses it."""
    document = load(content)
    scores_itself(document)
    for suffix in WRITTEN:
        read_again(document, suffix)


def check_pictures(content: bytes) -> None:
    """Check that pictures of any document are well-formed and contain no control characters."""
    document = load(content)
    expat.ParserCreate().Parse(render_svg(document, "compact" if len(content) % 2 else "classic"), True)
    render_html(document).encode("utf-8")
    if any(category(character) == "Cc" and character != "\n" for character in render_text(document)):
        raise BrokenRuleError("a drawing for the terminal contains a control character")


# Corpora, vectors, raw texts


def make_conllu(chance: random.Random) -> bytes:
    """Make a damaged treebank file."""
    change = chance.choice([change_bytes, change_lines, COLUMNS])
    return change(chance, conllu(HARBOR_CONLLU))


def check_conllu(content: bytes) -> None:
    """Check that the offsets of words are inside the text."""
    annotated = read_conllu(content, Path("case.conllu"))
    if any(not 0 <= token.start <= token.end <= len(annotated.text) for token in annotated.tokens):
        raise BrokenRuleError("a word is outside the text")


def make_records(chance: random.Random) -> bytes:
    """Make a file of AMALGUM."""
    content = as_json(change_data(chance, amalgum_record())) + b"\n"
    return change_gzip(chance, gzip.compress(content, 1, mtime=0), change_bytes) if chance.random() < 0.3 else content


def check_records(content: bytes) -> None:
    """Check that a record is read or refused; uncompressed cases are compressed first."""
    is_packed = content.startswith(b"\x1f\x8b")
    path = in_file("case.jsonl.gz", content if is_packed else gzip.compress(content, 1))
    for document in read_genre(path):
        scores_itself(document)
        read_again(document, WRITTEN[len(content) % len(WRITTEN)])


_ROWS = "".join(f"{word} {len(word)}.5 -0.25 1e-3\n" for word in PROSE[:6])
VECTORS = {
    "text": (f"6 3\n{_ROWS}".encode(), ".vec"),
    "glove": (_ROWS.encode(), ".txt"),
    "zipped": (gzip.compress(_ROWS.encode(), 1, mtime=0), ".txt.gz"),
    "binary": (b"6 3\n" + b"".join(word.encode() + b" " + struct.pack("<3f", 1, 2, 3) for word in PROSE[:6]), ".bin"),
}


def make_vectors(kind: str, chance: random.Random) -> bytes:
    """Make a damaged file of word vectors."""
    content, _ = VECTORS[kind]
    change = chance.choice([change_bytes, change_lines, as_text("NaN", "1e999", "9" * 13, "999999999999 65536\n", " ")])
    return change_gzip(chance, content, change) if kind == "zipped" else change(chance, content)


def check_vectors(kind: str, content: bytes) -> None:
    """Check that vectors are loaded for all words."""
    found = load_vectors(in_file(f"case{VECTORS[kind][1]}", content), [*PROSE, "<ORG>"])
    if found.matrix.shape[0] != len(PROSE) + 1:
        raise BrokenRuleError("a word has no vector")


def make_text(chance: random.Random) -> bytes:
    """Make prose with odd lines, lists and speaker names."""
    pieces = [*PROSE, *MARKUP, *LINE_ENDS, "Ada: ", "MR. SMITH: ", "\n"]
    text = " ".join(chance.choices(pieces, k=chance.choice([1, 5, 30, 200])))
    return change_text(chance, text, pieces).encode("utf-8", "surrogatepass")


def check_text(content: bytes) -> None:
    """Check that paragraphs cover every visible character, in order."""
    text = content.decode("utf-8", "surrogatepass")
    end = 0
    for span in paragraphs(text):
        if text[end : span.start].strip() or span.end <= span.start:
            raise BrokenRuleError("a character is in no paragraph")
        end = span.end
    if text[end:].strip():
        raise BrokenRuleError("the end is in no paragraph")
    looks_english(text)
    unsegmented("case", text)


# Configurations


@cache
def configurations() -> list[str]:
    """Return all built-in configurations, and two with every setting."""
    whole = [to_toml(asdict(RunConfig())), to_toml(asdict(RunConfig(model=ChartConfig(encoder="folder"))))]
    return [path.read_text(encoding="utf-8") for path in sorted(CONFIGS.glob("*.toml"))] + whole


def make_toml(chance: random.Random) -> bytes:
    """Make a configuration with changed settings or characters."""
    text = chance.choice(configurations())
    if chance.random() < 0.6:
        with suppress(AttributeError):  # a table was replaced by another value
            return to_toml(change_data(chance, tomllib.loads(text))).encode("utf-8", "surrogatepass")
    return SETTINGS(chance, text.encode())


def check_toml(content: bytes) -> None:
    """Check that a configuration is refused or round-trips."""
    check_tables(in_file("case.toml", content), ())


def check_tables(path: Path, changes: Sequence[str]) -> None:
    """Check the configuration of a file, with changes."""
    config = resolve(RunConfig, read_tables(path, changes), path)
    with must_work("a configuration cannot be read again"):
        again = resolve(RunConfig, read_tables(in_file("again.toml", to_toml(asdict(config)).encode())), path)
    if again != config:
        raise BrokenRuleError("a configuration does not round-trip")


def make_changes(chance: random.Random) -> bytes:
    """Make lines of `--set` arguments."""
    tables = asdict(RunConfig())
    names = [(table, key) for table, keys in tables.items() for key in keys]
    lines = []
    for table, key in chance.choices(names, k=chance.choice([1, 1, 2, 3])):
        value = as_json(change_data(chance, tables[table][key])).decode()
        lines.append(f"{table}.{key}={value}")
    return change_text(chance, "\n".join(lines), ["=", ".", "[", "'", "model."]).encode("utf-8", "surrogatepass")


def check_changes(content: bytes) -> None:
    """Check changes on the command line."""
    path = in_file("whole.toml", configurations()[-2].encode())
    check_tables(path, content.decode("utf-8", "surrogatepass").split("\n"))


SETTINGS = as_text(
    "[", "]", "=", "'''", "[model]", "[[a]]", "a.b = 1\n", "[" * 3000, "{a = ", "9" * 5000, "0x" + "f" * 5000
)
BRACKETS = as_text("(", ")", "_!", "( Nucleus", "( Satellite", "(leaf 1)", "(span 1 2)", "(rel2par x)")
TAGS = as_text("<", "&x;", "</rst>", "<!DOCTYPE r [", "<segment id='1'>", "<!--")
VALUES = as_text("{", "]", ",", "\n", "NaN", "1e999", "9" * 5000, '"edu"', "\\ud800", "null", "[" * 3000)
COLUMNS = as_text("\t", "1-2", "1.1", "# newpar", "# newpar_block = ", "|Entity=(", "|Discourse=x:1->2", "_")

TARGETS: dict[str, Target] = {
    "dis": reader(".dis", change_bytes, change_lines, BRACKETS),
    "rs3": reader(".rs3", change_bytes, change_lines, change_xml, change_xml, TAGS),
    "rs4": reader(".rs4", change_bytes, change_lines, change_xml, change_xml),
    "json": reader(".json", change_json, change_json, change_bytes, VALUES),
    "jsonl": reader(".jsonl", change_bytes, change_lines, VALUES),
    "edus": reader(".edus", change_bytes, change_lines, as_text("\n\n")),
    "txt": reader(".txt", change_bytes, as_text("\n\n")),
    "documents": Target(make_document, check_document, 50),
    "pictures": Target(make_document, check_pictures, 10),
    "conllu": Target(make_conllu, check_conllu),
    "amalgum": Target(make_records, check_records, 30),
    **{f"vectors-{kind}": Target(partial(make_vectors, kind), partial(check_vectors, kind), 20) for kind in VECTORS},
    "texts": Target(make_text, check_text),
    "config": Target(make_toml, check_toml, 30),
    "changes": Target(make_changes, check_changes, 30),
    "constraints": Target(models.make_constraints, models.check_constraints, 30),
    **{
        f"model-{kind}": Target(partial(models.make_folder, kind), partial(models.check_folder, kind), 1)
        for kind in models.KINDS
    },
    "bulk-inputs": Target(programs.make_inputs, programs.check_inputs, 30),
    "bulk-runs": Target(programs.make_run, programs.check_run, 30),
    "options": Target(programs.make_line, programs.check_line, 10),
    "renderings": Target(programs.make_pair, programs.check_pair, 10),
    "checkpoint": Target(models.make_checkpoint, models.check_checkpoint, 3),
}
"""All targets by name. The shares prevent any target from dominating the running time."""
