"""Running the program, in this process or in one of its own."""

import io
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from genrst.cli.main import main

WARNING = "genrst: warning: "


@dataclass(frozen=True)
class Outcome:
    """What a run of the program gave: its status, its output, and its lines on standard error."""

    status: int
    output: str
    messages: list[str]

    @property
    def errors(self) -> list[str]:
        """The messages that are no warnings."""
        return [line for line in self.messages if not line.startswith(WARNING)]


def call(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Outcome:
    """Call the program here."""
    capsys.readouterr()
    try:
        status = main(list(map(str, arguments)))
    except SystemExit as end:
        status = int(end.code or 0)
    captured = capsys.readouterr()
    return Outcome(status, captured.out, captured.err.splitlines())


def give_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """Let standard input be these bytes."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which `genrst` is the program."""
    program = f'set -o pipefail; genrst() {{ "{sys.executable}" -m genrst.cli.main "$@"; }}; {command}'
    return subprocess.run(["bash", "-c", program], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
