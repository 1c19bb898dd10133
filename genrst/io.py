"""Read and write files, and report progress on standard error.

Files are read as bytes, text or tables, and written atomically. Parsing their content is left to `genrst.formats`.
"""

import codecs
import os
import re
import stat
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import BinaryIO, TypeVar, cast

from genrst.characters import one_line
from genrst.errors import CorpusFormatError, CorpusWarning, InputError, OutputError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


_ENCODINGS = re.compile(
    "ascii|utf-(8|8-sig|16|32|16-le|16-be|32-le|32-be)|iso8859-[0-9]{1,2}|cp(125[0-8]|437|850|852|866|932|949|950)"
    "|koi8-[ru]|mac-roman|gb2312|gbk|gb18030|big5|shift_jis|euc_jp|euc_kr"
)
"""The encodings that a file may declare, by Python's names. Others are not text encodings, or slow, like punycode."""

_MAX_RATIO = 20
"""The largest compression ratio that is accepted. Real files reach 6, decompression bombs up to 1,000."""
_ALWAYS_ALLOWED = 2**24
"""The bytes that any compressed file may unpack to, and the longest line in it."""


_ENDLESS = {stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}
"""Kinds of files that can block a reader forever or never end."""
_STREAMS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""Pipes that are accepted, because a shell creates them on purpose, as in `genrst parse <(pdftotext a.pdf -)`."""


def check_regular(path: Path) -> None:
    """Raise an error if a file does not exist, or is a pipe or a device."""
    try:
        kind = _ENDLESS.get(stat.S_IFMT(path.stat().st_mode))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:  # an invalid file name, such as one with NUL
        raise InputError(f"{path}: {error}") from error
    if kind and not str(path).startswith(_STREAMS):
        raise InputError(f"{path}: must be a regular file, got {kind}")


def read_bytes(path: Path) -> bytes:
    """Return the content of a file."""
    check_regular(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def decode(content: bytes, path: Path, declared: str | None = None) -> str:
    """Decode the content of a file and normalise its line ends to `\\n`.

    The encoding is that of the byte order mark or the declaration, otherwise UTF-8, or ISO-8859-1 with a warning.
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return _normalise(_decode_strictly(content[len(mark) :], encoding, path))
    if declared is not None:
        return _normalise(_decode_strictly(content, declared, path))
    if b"\0" in content:
        raise CorpusFormatError("the file must be text, got binary data", path)
    try:
        return _normalise(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        warnings.warn(CorpusWarning(f"{path}: byte {error.start} is not UTF-8; read as ISO-8859-1"), stacklevel=2)
        return _normalise(content.decode("iso-8859-1"))


def _decode_strictly(content: bytes, encoding: str, path: Path) -> str:
    try:
        is_known = _ENCODINGS.fullmatch(codecs.lookup(encoding).name) is not None
    except LookupError:
        is_known = False
    if not is_known:
        raise CorpusFormatError(f"the declared encoding is not supported: {encoding}; convert the file to UTF-8", path)
    try:
        return content.decode(encoding)
    except UnicodeError as error:
        raise CorpusFormatError(f"the text is not valid {encoding}: {error}", path) from error


def _normalise(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def max_unpacked(path: Path) -> int:
    """Return how many bytes a compressed file may unpack to, so that a small file cannot exhaust memory."""
    return max(_MAX_RATIO * path.stat().st_size, _ALWAYS_ALLOWED)


def unpack_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a gzip file."""
    import gzip
    import zlib

    check_regular(path)
    try:
        left = allowed = max_unpacked(path)
        with gzip.open(path) as file:
            for number in count(1):
                line = file.readline(min(left, _ALWAYS_ALLOWED) + 1)
                if len(line) > left:
                    raise CorpusFormatError(f"the file unpacks to more than {allowed} bytes", path)
                if len(line) > _ALWAYS_ALLOWED:
                    raise CorpusFormatError(f"the line has more than {_ALWAYS_ALLOWED} bytes", path, number)
                if not line:
                    return
                left -= len(line)
                yield line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CorpusFormatError(f"the gzip file is damaged: {error}", path) from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def read_table(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """Return the rows of a tab-separated file, keyed by its header. The given columns must not be empty."""
    header, *lines = decode(read_bytes(path), path).split("\n")
    names = header.split("\t")
    if not set(columns) <= set(names):
        raise CorpusFormatError(f"the first line must name the columns {', '.join(columns)}, got {header!r}", path, 1)
    rows = []
    for number, line in enumerate(lines, start=2):
        row = dict(zip(names, line.split("\t"), strict=False))
        if line and not all(row.get(column) for column in columns):
            raise CorpusFormatError(
                f"a row must have a value in each of the columns {', '.join(columns)}, got {line!r}", path, number
            )
        rows += [row] if line else []
    return rows


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file completely or not at all. Text is encoded as UTF-8."""
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    write_atomically_with(path, lambda file: file.write(data))


def write_atomically_with(path: Path, write_content: Callable[[BinaryIO], object]) -> None:
    """Write under a temporary name, then rename, so that nobody ever sees half a file, even after a crash."""
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # open() rather than tempfile, so that the umask applies. Querying the umask would change it for all threads.
        with (path.parent / f".{path.name[:50]}.{os.urandom(8).hex()}").open("x+b") as file:
            temporary = Path(file.name)
            write_content(cast(BinaryIO, file))
        temporary.replace(path)
    except BaseException as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
        raise


def tell(message: object) -> None:
    """Print a message on standard error, so that standard output holds only results."""
    if sys.stderr is not None:
        print("genrst:", one_line(str(message)), file=sys.stderr, flush=True)


Item = TypeVar("Item")


def progress(items: Iterable[Item], description: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items, showing a progress bar on standard error if it is a terminal, else a line now and then."""
    if sys.stderr is None:
        return iter(items)
    if not sys.stderr.isatty():
        return _counted(items, description, total)
    from tqdm import tqdm

    return iter(tqdm(items, one_line(description), total, leave=False, unit=" documents"))


def _counted(items: Iterable[Item], description: str, total: int | None) -> Iterator[Item]:
    done = 0

    def so_far() -> str:
        # The total counts files, and a file may hold several documents.
        return f"{description}: {done:,}{'' if total is None or done > total else f' of {total:,}'} done"

    with heartbeat(so_far):
        for item in items:
            yield item
            done += 1


INTERVAL = 30.0
"""Seconds between two progress lines."""
_stages: list[tuple[str, float]] = []


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Name the current stage of the work for the lines of `heartbeat`."""
    _stages.append((name, monotonic()))
    try:
        yield
    finally:
        _stages.pop()


@contextmanager
def heartbeat(describe: Callable[[], str]) -> Iterator[None]:
    """Report the progress of long work now and then, from a thread, because a single text can take minutes."""
    is_done = Event()

    def beat() -> None:
        while not is_done.wait(INTERVAL):
            name, start = _stages[-1] if _stages else ("", 0.0)
            now = f"; {name} for {monotonic() - start:.0f} s" if name else ""
            tell(f"{describe()}{now}")

    thread = Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()
