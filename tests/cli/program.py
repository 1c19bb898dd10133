"""Running the program, in this process or in one of its own."""

import io
import os
import pty
import select
import subprocess
import sys
import termios
from dataclasses import dataclass
from pathlib import Path

import pytest

from genrst.cli.main import main
from genrst.formats.folder import NOTES

WARNING = "genrst: warning: "
LEFT_OUT = " left out: "


@dataclass(frozen=True)
class Outcome:
    """What a run of the program gave: its status, its output, and its lines on standard error."""

    status: int
    output: str
    messages: list[str]

    @property
    def errors(self) -> list[str]:
        """The messages that are no warnings, and do not just say what was left out."""
        return [line for line in self.messages if not line.startswith(WARNING) and LEFT_OUT not in line]


def call(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Outcome:
    """Call the program here."""
    capsys.readouterr()
    try:
        status = main(list(map(str, arguments)))
    except SystemExit as end:
        status = int(end.code or 0)
    captured = capsys.readouterr()
    return Outcome(status, captured.out, captured.err.splitlines())


def names(folder: Path) -> list[str]:
    """The files below a folder, but for the list of what was written there."""
    files = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and path.name != NOTES]
    return sorted(map(str, files))


def give_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """Let standard input be these bytes."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def in_ascii(*arguments: str | Path) -> str:
    """What the program prints where standard output takes only ASCII."""
    with pytest.MonkeyPatch.context() as patch:
        content = io.BytesIO()
        patch.setattr(sys, "stdout", io.TextIOWrapper(content, "ascii"))
        assert main(list(map(str, arguments))) == 0
        return content.getvalue().decode()


def on_terminal(*arguments: str | Path, streams: tuple[str, ...] = ("stdout",), columns: int = 80) -> str:
    """What the program prints to streams that are a terminal."""
    terminal, end = pty.openpty()
    termios.tcsetwinsize(end, (24, columns))
    with pytest.MonkeyPatch.context() as patch, os.fdopen(end, "w", encoding="utf-8") as file:
        for stream in (*streams, "__stdout__"):
            patch.setattr(sys, stream, file)
        patch.delenv("COLUMNS", raising=False)
        assert main(list(map(str, arguments))) == 0
        file.flush()
        printed = b""
        while select.select([terminal], [], [], 0.1 if printed else 5)[0]:
            printed += os.read(terminal, 100_000)
    assert printed
    os.close(terminal)
    return printed.decode().replace("\r\n", "\n")


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which `genrst` is the program."""
    program = f'set -o pipefail; genrst() {{ "{sys.executable}" -m genrst.cli.main "$@"; }}; {command}'
    return subprocess.run(["bash", "-c", program], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
