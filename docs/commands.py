"""The options of every verb as Markdown, from the parser of the command line: part of the site's page on commands."""

import argparse
from collections.abc import Iterator

from genrst.cli.main import VERBS, make_parser


def as_markdown() -> str:
    """A section per verb: its help, its examples, and a table for each group of arguments."""
    verbs = verb_parsers()
    return "\n\n".join(part for name in VERBS for part in _section(name, verbs[name]))


def verb_parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of each verb."""
    (verbs,) = (action for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction))
    return dict(verbs.choices)


def _section(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    yield f"## genrst {name}"
    for block in (parser.description or "").strip().split("\n\n"):
        lines = block.splitlines()
        is_code = all(line.startswith(("  ", "genrst ")) for line in lines)
        yield "\n".join(["```bash", *map(str.strip, lines), "```"]) if is_code else block
    formatter = parser._get_formatter()
    for group in parser._action_groups:
        rows = [_row(action, formatter) for action in group._group_actions if action.dest != "help"]
        if rows:
            yield "\n".join([f"| {(group.title or '').capitalize()} | |", "|---|---|", *rows])


def _row(action: argparse.Action, formatter: argparse.HelpFormatter) -> str:
    value = formatter._format_args(action, formatter._get_default_metavar_for_optional(action))
    names = action.option_strings or [value]
    shown = ", ".join(f"`{name} {value}`" if action.option_strings and value else f"`{name}`" for name in names)
    help = formatter._expand_help(action) if action.help else ""
    return f"| {shown} | {help} |"
