"""What `genrst info` says about a model: its card, its sizes, its settings."""

from pathlib import Path
from typing import Any

from genrst.model_folder import find_model, installed_models, is_model


def model_folder(name: str) -> Path | None:
    """The folder of a model, by its path or by the name it is installed under; None if there is no such model."""
    path = Path(name)
    if path.is_dir():
        return path if is_model(path) else None
    return find_model(name) if name in installed_models() and not path.exists() else None


def format_model(facts: dict[str, Any]) -> str:
    """The card, then a line for each fact."""
    from genrst.rendering.characters import inert

    card = "\n".join(inert(line) for line in (facts["card"] or "").strip().split("\n"))
    parser = facts["parser"]
    segmenter = facts["segmenter_parameters"]
    rows = {
        "model": facts["model"],
        "folder": facts["folder"],
        "kind": _kind(facts),
        "parameters": f"{facts['n_parameters']:,}",
        "segmenter": "none: EDUs are found by rules" if segmenter is None else f"{segmenter:,} parameters",
        "size": f"{facts['bytes'] / 2**20:.1f} MiB",
        **_vocabulary(facts),
        "search": f"{parser['search']}, beam {parser['beam']}, word weight {parser['word_weight']}",
        "pipeline": parser["pipeline"] or "the best one installed",
    }
    table = "\n".join(f"{name:<12}{inert(str(value))}" for name, value in rows.items())
    return f"{card}\n\n{table}" if card else table


def _kind(facts: dict[str, Any]) -> str:
    """Of an ensemble its members, with their weights."""
    if "members" not in facts:
        return str(facts["config"]["kind"])
    return "ensemble: " + ", ".join(f"{member['weight']:g} × {member['model']}" for member in facts["members"])


def _vocabulary(facts: dict[str, Any]) -> dict[str, str]:
    """Members of an ensemble have the same labels, but words of their own."""
    if "members" in facts:
        return {"labels": f"{facts['members'][0]['n_labels']:,}"}
    return {"words": f"{facts['n_words']:,}", "labels": f"{facts['n_labels']:,}"}
