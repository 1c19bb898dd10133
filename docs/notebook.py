"""Notebooks that are run without Jupyter, and written as Markdown for the site: the tutorial, and that of a guide.

`python -m docs.notebook` runs their cells again and keeps what they print.
"""

import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from genrst.io import write_atomically

TUTORIAL = Path(__file__).parent / "tutorial.ipynb"
GENRES = Path(__file__).parent / "guides" / "features.ipynb"
NOTEBOOKS = {TUTORIAL: "tutorial.md", GENRES: "guides/which_genre.md"}
"""All of them, each with the page of the site that it becomes."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A paragraph, or code with what it prints."""

    source: str
    is_code: bool
    output: str = ""


def read_cells(path: Path) -> list[Cell]:
    """The cells of a notebook."""
    return [_cell(data) for data in json.loads(path.read_text(encoding="utf-8"))["cells"]]


def _cell(data: dict[str, Any]) -> Cell:
    output = "".join("".join(part["text"]) for part in data.get("outputs", []))
    return Cell("".join(data["source"]), data["cell_type"] == "code", output)


def run_cells(cells: list[Cell]) -> Iterator[Cell]:
    """The cells with what their code prints here, one after the other in this folder."""
    names: dict[str, object] = {}
    for number, cell in enumerate(cells):
        printed = io.StringIO()
        if cell.is_code:
            with contextlib.redirect_stdout(printed):
                exec(compile(cell.source, f"cell {number}", "exec"), names)
        yield replace(cell, output=printed.getvalue())


def write_cells(cells: list[Cell], path: Path) -> None:
    """Write a notebook."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    listed = [_as_dict(number, cell) for number, cell in enumerate(cells)]
    data = {"cells": listed, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    write_atomically(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def _as_dict(number: int, cell: Cell) -> dict[str, object]:
    kind = "code" if cell.is_code else "markdown"
    common: dict[str, object] = {
        "cell_type": kind,
        "id": f"cell-{number}",
        "metadata": {},
        "source": _lines(cell.source),
    }
    if not cell.is_code:
        return common
    outputs = [{"name": "stdout", "output_type": "stream", "text": _lines(cell.output)}] if cell.output else []
    return common | {"execution_count": None, "outputs": outputs}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def as_markdown(cells: list[Cell]) -> str:
    """The notebook as a page."""
    parts: list[str] = []
    for cell in cells:
        parts.append(f"```python\n{cell.source}\n```" if cell.is_code else cell.source)
        if cell.output:
            parts.append(f"```text\n{cell.output}```")
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Run all notebooks again."""
    here = Path.cwd()
    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                cells = list(run_cells(read_cells(path)))
            finally:
                os.chdir(here)
        write_cells(cells, path)


if __name__ == "__main__":
    main()
