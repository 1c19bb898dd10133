"""Loading a parser from a model folder; only this module distinguishes the kinds of models.

PyTorch is imported when a parser is loaded, spaCy when a model that needs it parses its first text.
"""

import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar, cast

from genrst.errors import MissingDependencyError, ParserWarning, UsageError
from genrst.parser import Relations, Search
from genrst.parser.finder import TreeFinder
from genrst.parser.folders import find_model, find_segmenter, read_kind, read_models, read_parser_config
from genrst.parser.options import LoadOptions, ParserConfig
from genrst.parser.parser import Parser
from genrst.trees.constraints import KeepWhole

AnyModel = TypeVar("AnyModel")

_RNNG_NEEDS = "PyTorch and spaCy: pip install 'genrst[torch,spacy]'"
_GPU_FILES = ("/dev/nvidiactl", "/dev/dxg")
"""Devices that exist if there is an NVIDIA GPU, on Linux or in WSL."""


def load(
    name_or_folder: str | Path | None = None,
    *,
    device: str = "auto",
    pipeline: str | None = None,
    search: Search | None = None,
    beam: int | None = None,
    word_weight: float | None = None,
    max_stack: int | None = 40,
    keep_whole: KeepWhole | None = None,
    relations: Relations | None = None,
    signals: bool = False,
) -> Parser:
    """Load a parser by name (default: `en`), from its folder, or from the Hugging Face Hub (`hf:USER/NAME@COMMIT`).

    Options override the settings of the model.
    `device` is `auto`, `cpu`, `cuda` or `mps`. `max_stack` limits the stacks of a step-by-step search, except for
    word-level search. `keep_whole` names the text units that trees must not split: `sentences`, `paragraphs` or
    `nothing`. `relations` is `coarse` or `fine`, for chart parsers that have fine relations. With `signals`, documents
    get signals (the words that mark relations) and secondary edges.
    """
    options = LoadOptions(device, pipeline, search, beam, word_weight, max_stack, keep_whole, relations, signals)
    warn_of_options(name_or_folder, options)
    return load_with(name_or_folder, options)


def warn_of_options(name_or_folder: str | Path | None, options: LoadOptions) -> None:
    """Warn about options that have no effect on the model."""
    folder = find_model(name_or_folder)
    kind = read_kind(folder)
    if idle := options.without_effect(kind):
        has = "has" if len(idle) == 1 else "have"
        which = "which is a chart parser" if kind == "chart" else "which is not a chart parser"
        message = f"{' and '.join(idle)} {has} no effect on {read_parser_config(folder).name}, {which}"
        warnings.warn(ParserWarning(message), stacklevel=3)


def load_with(name_or_folder: str | Path | None, options: LoadOptions) -> Parser:
    """Load a parser with options that are given as one object."""
    folder = find_model(name_or_folder)
    config, kind = read_parser_config(folder), read_kind(folder)
    config = options.apply(config, kind)
    if options.signals and kind != "chart":
        raise UsageError(f"signals require a chart parser, got the model {config.name}")
    _calm_threads()
    make_finder = _chart_finder if kind == "chart" else _rnng_finder
    try:
        finder = make_finder(folder, config, options)
    except MissingDependencyError:
        raise  # the message already names the missing library
    except ImportError as error:
        needs = f"{error.name}: pip install genrst" if kind == "chart" else _RNNG_NEEDS
        raise MissingDependencyError(f"the model {config.name!r} needs {needs}") from error
    return Parser(finder, config, folder, partial(load_with, folder, options))


def _chart_finder(folder: Path, config: ParserConfig, options: LoadOptions) -> TreeFinder:
    device = choose_device(options.device)
    from genrst.chart.finder import ChartFinder, ChartSettings
    from genrst.chart.load import load_scorer

    load_one = partial(load_scorer, device=device)
    scorers = [(scorer, weight) for scorer, weight, _ in _load_members(folder, config, load_one)]
    settings = ChartSettings(
        scorers[0][0].labels,
        config.name,
        cast(Any, config.search),
        cast(KeepWhole, config.keep_whole),
        config.relations,
        config.temperature,
        config.calibration,
    )
    if not options.signals:
        return ChartFinder(scorers, settings)
    from genrst.chart.signals.signaller import Signaller

    return ChartFinder(scorers, settings, Signaller.load(read_models(folder)[0][0]))


def _rnng_finder(folder: Path, config: ParserConfig, options: LoadOptions) -> TreeFinder:
    from genrst.rnng.finder import Member, RnngFinder, RnngSettings, load_rnng

    load_one = partial(load_rnng, device=choose_device(options.device))
    members = [Member(*one) for one in _load_members(folder, config, load_one)]
    settings = RnngSettings(
        config.name,
        cast(Any, config.search),
        config.beam,
        config.word_weight,
        options.max_stack,
        cast(KeepWhole, config.keep_whole),
        config.pipeline,
    )
    return RnngFinder(members, settings, partial(_load_segmenter, folder, options.device))


def _load_segmenter(folder: Path, device: str) -> TreeFinder:
    """Load the chart that segments for another model."""
    return load_with(find_segmenter(folder), LoadOptions(device=device)).finder


def _load_members(
    folder: Path, config: ParserConfig, load_one: "Callable[..., AnyModel]"
) -> list[tuple[AnyModel, float, bool]]:
    """Load the model of a folder or the members of an ensemble, each with its weight and its `lowercase` setting."""
    found, loaded = [], dict[Path, AnyModel]()
    for place, weight in read_models(folder):
        own = config if place == folder else read_parser_config(place)
        # The encoder settings of an ensemble apply to all members.
        precision = own.encoder_precision if config.encoder_precision == "auto" else config.encoder_precision
        overlap = own.encoder_overlap if config.encoder_overlap is None else config.encoder_overlap
        # A folder that is named twice is loaded once.
        if place not in loaded:
            loaded[place] = load_one(place, precision=precision, overlap=overlap)
        found.append((loaded[place], weight, own.lowercase))
    return found


def choose_device(name: str) -> str:
    """Return the name of the device. Without a GPU, `auto` is the CPU and PyTorch is not imported."""
    has_gpu = find_spec("torch") and (sys.platform == "win32" or any(map(os.path.exists, _GPU_FILES)))
    if name == "cpu" or (name == "auto" and not has_gpu):
        return "cpu"
    try:
        from genrst.encoder.device import choose_device as choose_torch_device
    except ImportError as error:
        raise MissingDependencyError(f"the device {name!r} needs PyTorch: pip install 'genrst[torch]'") from error
    return str(choose_torch_device(name))


def _calm_threads() -> None:
    """Limit how long PyTorch's threads spin while they wait for each other, unless the environment says otherwise.

    A search consists of many small operations. If another program needs a core, spinning threads make it ten times
    slower: on two cores, one of them busy, 100 EDUs took 10 to 45 s, and 2 to 4 s with this setting. On idle cores it
    costs about 10%. It has no effect once PyTorch is imported.
    """
    if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        os.environ["GOMP_SPINCOUNT"] = "1000"


def use_one_thread() -> None:
    """Compute with one thread in this process, because other processes use the other cores."""
    os.environ["OMP_NUM_THREADS"] = "1"
    _use_one_torch_thread()


def _use_one_torch_thread() -> None:
    """Use one thread in a forked process, where PyTorch would wait forever for threads that no longer exist."""
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(after_in_child=_use_one_torch_thread)
