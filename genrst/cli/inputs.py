"""Inputs of the verbs: texts and documents from files, folders, corpora and standard input, and their arguments.

Sources are found before anything is read, so that a wrong command line fails immediately. `genrst.formats` reads the
file formats, `genrst.corpora` the named corpora.
"""

import argparse
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from genrst.cli.console import Failures
from genrst.cli.models import add_model_arguments, add_tree_arguments, load_parser
from genrst.document import Document
from genrst.errors import CorpusFormatError, GenrstError, InputError, UsageError
from genrst.formats.files import (
    FORMATS,
    RAW_SUFFIXES,
    TEXT_SUFFIXES,
    TREE_SUFFIXES,
    list_documents,
    read_content,
    read_file,
)
from genrst.io import progress, read_bytes, tell
from genrst.trees.constraints import Constraint, constraint_from_dict

if TYPE_CHECKING:
    from genrst.corpora.corpus import Corpus
    from genrst.formats.folder import Listing
    from genrst.parser.parser import Text

TextOrDocument: TypeAlias = "Text | Document"
Item = TypeVar("Item", Document, TextOrDocument)


@dataclass(frozen=True, slots=True)
class Source(Generic[Item]):
    """A file, a part of a corpus, or standard input."""

    path: Path
    read: Callable[[], Iterable[Item]]
    folder: Path | None = None
    """The folder in which the file was found."""
    is_file: bool = True

    @property
    def below(self) -> Path:
        """The file's parent folder, relative to that folder."""
        return Path() if self.folder is None else self.path.parent.relative_to(self.folder)


def read_sources(
    sources: Sequence[Source[Item]], description: str, failures: Failures | None, has_bar: bool = True
) -> Iterator[tuple[Source[Item], list[Item]]]:
    """Yield each source with its items. An unreadable source is reported to `failures` or, without it, raises."""
    for source in progress(sources, description, len(sources)) if has_bar else sources:
        try:
            items = list(source.read())
        except GenrstError as error:
            if failures is None:
                raise
            failures.report(error)
        else:
            yield source, items


def read_each_document(
    sources: Sequence[Source[Document]], verb: str, failures: Failures
) -> Iterator[tuple[Source[Document], Document]]:
    """Yield each document with its source; raises if there is no document and no failure was reported.

    A source that cannot be read is reported, or raises if it is the only one.
    """
    is_empty = True
    for source, documents in read_sources(sources, f"{verb}ing", failures if len(sources) > 1 else None):
        for document in documents:
            is_empty = False
            yield source, document
    if is_empty and not failures.count:
        raise CorpusFormatError(f"no documents to {verb}", sources[0].folder or sources[0].path)


def standard_input() -> bytes:
    """Read all bytes of standard input."""
    if sys.stdin is None:
        raise GenrstError("standard input is closed")
    return sys.stdin.buffer.read()


# Texts, for `parse`, `sample` and `segment`.


def add_text_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the texts and for the model that parses them."""
    parser.add_argument("inputs", metavar="FILE", nargs="+", help="files, folders, or - for standard input")
    add_model_arguments(parser)


def find_texts(inputs: Sequence[str], has_edus: bool = False) -> list[Source[TextOrDocument]]:
    """Return a source for each file that the inputs name; with `has_edus`, each line of raw text is an EDU."""
    if inputs.count("-") > 1:
        raise UsageError(f"standard input (-) can be read only once, got {inputs.count('-')} times")
    found: list[Source[TextOrDocument]] = []
    for name in inputs:
        path = Path(name)
        if name == "-":
            path = Path("stdin")
            found.append(Source(path, partial(_read_raw, standard_input, path, has_edus), is_file=False))
            continue
        files, folder = [path], None
        if path.is_dir():
            listing = list_texts(path)
            tell_left_out(listing)
            files, folder = listing.files or files, path
        found += [Source(file, partial(_read_text, file, has_edus), folder) for file in files]
    if len(found) == 1 and found[0].is_file and not found[0].path.exists():
        read_bytes(found[0].path)  # raises before a model is loaded
    return found


def list_texts(folder: Path) -> "Listing":
    """List what can be parsed below a folder. Of files with the same stem, the first suffix in `TEXT_SUFFIXES` wins."""
    from genrst.formats.folder import SAME_NAME, list_folder

    listing = list_folder(folder, TEXT_SUFFIXES)
    by_stem: dict[Path, Path] = {}
    for file in sorted(listing.files, key=lambda file: TEXT_SUFFIXES.index(file.suffix.lower())):
        by_stem.setdefault(file.with_suffix(""), file)
    listing.keep(set(by_stem.values()), SAME_NAME)
    return listing


def tell_left_out(one: "Listing | Corpus") -> None:
    """Report on standard error which files of a folder are not read, and which are changed on reading."""
    from genrst.formats.folder import describe_joined, describe_left_out

    joined = set(getattr(one, "joined", ()))
    for line in filter(None, (describe_left_out(one.folder, one.left_out), describe_joined(one.folder, joined))):
        tell(line)


def is_raw(path: Path) -> bool:
    """Whether a file, or standard input, is raw text, whose EDUs are unknown unless --edus is given."""
    return path.suffix.lower() not in FORMATS or path.suffix.lower() == ".txt"


def _read_text(path: Path, has_edus: bool) -> list[TextOrDocument]:
    """Return the raw text of a file or, if its format has EDUs, its documents."""
    if path.is_dir():
        raise InputError(f"{path}: no files to parse in this folder (looked for {', '.join(TEXT_SUFFIXES)})")
    if not is_raw(path):
        return [*read_file(path, with_tree=False)]
    return _read_raw(partial(read_bytes, path), path, has_edus)


def _read_raw(read: Callable[[], bytes], path: Path, has_edus: bool) -> list[TextOrDocument]:
    if has_edus:
        from genrst.formats.plain import read_edus

        return [read_edus(read(), path)]
    from genrst.formats.texts import text_of
    from genrst.parser.parser import Text

    return [Text(path.stem, text_of(read(), path))]


# Constraints on trees, for `parse` and `sample`.


def add_constraint_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that constrain trees."""
    group = parser.add_argument_group("constraints on trees")
    group.add_argument(
        "--constraint",
        action="append",
        default=[],
        metavar="JSON",
        help="require a unit, as in a document's JSON and in addition to it; repeatable; not for raw text",
    )
    add_tree_arguments(group)


def read_constraints(arguments: argparse.Namespace, sources: Sequence[Source[TextOrDocument]]) -> list[Constraint]:
    """Return the constraints of the command line, which require known EDUs."""
    found = [_read_constraint(text) for text in arguments.constraint]
    for source in sources if found and not arguments.edus else ():
        if is_raw(source.path):
            raise UsageError(
                f"{source.path}: --constraint needs known EDUs, but this is raw text; use --edus if each line is an EDU"
            )
    return found


def _read_constraint(text: str) -> Constraint:
    from genrst.formats.json_text import loads

    try:
        return constraint_from_dict(loads(text))
    except UsageError as error:
        raise UsageError(f"--constraint: {error}") from error
    except ValueError as error:
        raise UsageError(f'--constraint must be JSON such as {{"edus": [1, 4]}}, got {text}') from error


def constrained(item: TextOrDocument, constraints: Sequence[Constraint]) -> TextOrDocument:
    """Return the document with these constraints added; raw text is returned unchanged."""
    if isinstance(item, Document):
        return replace(item, constraints=(*item.constraints, *constraints))
    return item


# Documents, for `convert`, `render` and `export`.


_EDUS_HELP = "read each line of a .txt or .md file as an EDU and blank lines as paragraph ends"


def add_document_arguments(parser: argparse.ArgumentParser, has_corpora: bool = False, has_model: bool = True) -> None:
    """Add IN and the options for reading it; with `has_model`, texts are parsed."""
    corpus = "the folder of a corpus, " if has_corpora else ""
    parser.add_argument("source", metavar="IN", help=f"a file, a folder, {corpus}or - for standard input")
    parser.add_argument("--from", dest="source_format", metavar="FORMAT", help="format of standard input: dis, rs3, …")
    if has_corpora:
        add_corpus_arguments(parser)
    else:
        _add_roots_argument(parser)
    if has_model:
        add_model_arguments(parser, "texts, which are parsed first").add_argument(
            "--edus", action="store_true", help=_EDUS_HELP
        )
    else:
        parser.add_argument("--edus", action="store_true", help=_EDUS_HELP)


def find_documents(
    arguments: argparse.Namespace, has_corpora: bool = False, has_model: bool = True
) -> list[Source[Document]]:
    """Return a source for each file of IN. Texts are parsed if the verb has a model."""
    name, roots = arguments.source, arguments.roots
    if name == "-":
        known = (*TREE_SUFFIXES, *RAW_SUFFIXES) if has_corpora else dict.fromkeys((*FORMATS, *RAW_SUFFIXES))
        path = Path(f"stdin{named_suffix(arguments.source_format, '--from', 'standard input', known)}")
        if _is_text(path):
            return [replace(_text_source(path, standard_input, arguments, has_model), is_file=False)]
        return [Source(path, lambda: read_content(standard_input(), path, roots=roots), is_file=False)]
    if arguments.source_format is not None:
        raise UsageError(f"--from works only with standard input (-), got {name}")
    if _is_text(Path(name)):
        return [_text_source(Path(name), partial(read_bytes, Path(name)), arguments, has_model)]
    if has_corpora:
        corpus = open_corpus(name, arguments)
        return [Source(Path(name), partial(_read_part, corpus, number)) for number in range(len(corpus))]
    if not Path(name).is_dir():
        return [Source(Path(name), partial(read_file, Path(name), roots=roots))]
    listing = list_documents(Path(name))
    tell_left_out(listing)
    return [Source(file, partial(read_file, file, roots=roots), listing.folder) for file in listing.files]


def _read_part(corpus: "Corpus", number: int) -> Iterator[Document]:
    """Yield the documents of one file. Documents without words are reported once all files have been read."""
    try:
        yield from replace(corpus, sources=corpus.sources[number : number + 1])
    finally:
        if number == len(corpus) - 1:
            tell_left_out(corpus)


def _is_text(path: Path) -> bool:
    return path.suffix.lower() in RAW_SUFFIXES and not path.is_dir()


def _text_source(
    path: Path, read: Callable[[], bytes], arguments: argparse.Namespace, has_model: bool
) -> Source[Document]:
    """Return the source of a text: it is parsed or, without a model, each of its lines must be an EDU."""
    if not (has_model or arguments.edus):
        hint = "run genrst parse first, or use --edus if each line is an EDU"
        raise UsageError(f"{path}: a raw text has no EDUs yet; {hint}")

    def documents() -> list[Document]:
        (text,) = _read_raw(read, path, arguments.edus)
        if not has_model and isinstance(text, Document):
            return [text]
        return load_parser(arguments).kbest(text, 1)

    return Source(path, documents)


def refuse_text(path: str) -> None:
    """Refuse a raw text where documents with EDUs are needed."""
    if _is_text(Path(path)) and Path(path).exists():
        hint = "run genrst parse first, or rename it to .edus if each line is an EDU"
        raise UsageError(f"{path}: a raw text has no EDUs yet; {hint}")


def named_suffix(name: str | None, option: str, stream: str, known: Collection[str]) -> str:
    """Return the suffix of the format that an option names, for a stream or folder, which has no suffix."""
    if name is None:
        raise UsageError(f"{stream} has no suffix, so {option} FORMAT is needed")
    suffix = f".{name.removeprefix('.').lower()}"
    if suffix not in known:
        raise UsageError(f"{option} must be one of {', '.join(known).replace('.', '')}, got {name}")
    return suffix


# Corpora, for `evaluate`, `export` and `info`.


def add_corpus_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose documents of a corpus."""
    from genrst.corpora.corpus import CORPORA
    from genrst.corpora.layouts import VERSION

    group = parser.add_argument_group("choosing documents")
    names = f"{', '.join(CORPORA[:-1])} or {CORPORA[-1]} (default: detected from the folder)"
    group.add_argument("--corpus", metavar="NAME", help=names)
    group.add_argument("--split", metavar="NAME", help="train, dev, test, … (default: all documents)")
    group.add_argument(
        "--gum-version",
        metavar="V",
        default=VERSION,
        help="GUM version of the splits, such as 9.1 (default: the folder's)",
    )
    group.add_argument("--with-textless", action="store_true", help="include documents whose words are missing")
    group.add_argument("--skip-bad", action="store_true", help="leave out files that cannot be read, with a warning")
    _add_roots_argument(group)


def _add_roots_argument(parser: "argparse._ActionsContainer") -> None:
    parser.add_argument(
        "--roots",
        choices=("error", "join"),
        default="error",
        help="reject a file with several trees, or join them (default: error)",
    )


def open_corpus(path: str, arguments: argparse.Namespace) -> "Corpus":
    """Open the corpus that the arguments choose; `tell_left_out` reports what is not read."""
    from genrst.corpora.corpus import open_corpus

    refuse_text(path)
    return open_corpus(
        path,
        arguments.corpus,
        arguments.split,
        version=arguments.gum_version,
        with_textless=arguments.with_textless,
        roots=arguments.roots,
        skip_bad=arguments.skip_bad,
    )


def read_corpus(corpus: "Corpus", description: str) -> Iterator[Document]:
    """Yield the documents of a corpus, then report what was not read."""
    yield from progress(corpus, description, len(corpus))
    tell_left_out(corpus)
