"""A page taken apart by an HTML parser, as a browser would."""

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any


@dataclass
class ParsedPage:
    """What a page consists of."""

    tags: set[str] = field(default_factory=set)
    attributes: list[tuple[str, str]] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)
    edus: dict[int, str] = field(default_factory=dict)
    prose: str = ""
    policy: str = ""

    @property
    def data(self) -> list[dict[str, Any]]:
        """The records of the trees."""
        return list(json.loads(self.scripts[0]))


def parse_page(html: str) -> ParsedPage:
    """Take a page apart."""
    parser = _Parser()
    parser.feed(html)
    parser.close()
    return parser.page


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = ParsedPage()
        self.open: list[str] = []
        self.edu: int | None = None
        self.text_depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.page.tags.add(tag)
        self.page.attributes += values.items()
        if values.get("http-equiv") == "Content-Security-Policy":
            self.page.policy = values["content"]
        if tag == "script":
            self.page.scripts.append("")
        if tag == "style":
            self.page.styles.append("")
        if "data-edu" in values:
            self.edu = int(values["data-edu"])
        if self.text_depth or values.get("id") == "text":
            self.text_depth += 1
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "span":
            self.edu = None
        self.text_depth = max(0, self.text_depth - 1)
        self.open.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        last = self.open[-1] if self.open else ""
        if last == "script":
            self.page.scripts[-1] += data
        elif last == "style":
            self.page.styles[-1] += data
        elif self.text_depth and last != "sup":
            self.page.prose += data
            if self.edu is not None:
                self.page.edus[self.edu] = self.page.edus.get(self.edu, "") + data
