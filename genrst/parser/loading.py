"""From the folder of a model to a parser: the only place that tells kinds of models apart.

PyTorch is imported when a parser is loaded, spaCy when a model that needs it reads its first text.
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
"""What Linux has if there is an NVIDIA GPU, by itself or inside Windows."""


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
    """Load a parser by name (`en` if none is given), from its folder, or from the Hugging Face Hub by
    `hf:USER/NAME@COMMIT`; options replace the model's own settings.

    `device` is `auto`, `cpu`, `cuda` or `mps`; `max_stack` bounds the stacks that a step-by-step search follows, unless
    it is word-level; `keep_whole` is what trees do not cut: `sentences`, `paragraphs` or `nothing`. `relations` is
    `coarse` or `fine`, for a chart that knows fine ones. With `signals`, documents get the words that mark relations,
    and secondary edges.
    """
    options = LoadOptions(device, pipeline, search, beam, word_weight, max_stack, keep_whole, relations, signals)
    warn_of_options(name_or_folder, options)
    return load_with(name_or_folder, options)


def warn_of_options(name_or_folder: str | Path | None, options: LoadOptions) -> None:
    """Warn of options that the model does not look at."""
    folder = find_model(name_or_folder)
    kind = read_kind(folder)
    if idle := options.without_effect(kind):
        has = "has" if len(idle) == 1 else "have"
        which = "which is a chart" if kind == "chart" else "which is no chart"
        message = f"{' and '.join(idle)} {has} no effect on {read_parser_config(folder).name}, {which}"
        warnings.warn(ParserWarning(message), stacklevel=3)


def load_with(name_or_folder: str | Path | None, options: LoadOptions) -> Parser:
    """The same with options that are passed as a whole."""
    folder = find_model(name_or_folder)
    config, kind = read_parser_config(folder), read_kind(folder)
    config = options.apply(config, kind)
    if options.signals and kind != "chart":
        raise UsageError(f"signals need a chart's model, got {config.name}")
    _calm_threads()
    make_finder = _chart_finder if kind == "chart" else _rnng_finder
    try:
        finder = make_finder(folder, config, options)
    except MissingDependencyError:
        raise  # it says what is missing
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
    """The chart that finds EDUs for another model."""
    return load_with(find_segmenter(folder), LoadOptions(device=device)).finder


def _load_members(
    folder: Path, config: ParserConfig, load_one: "Callable[..., AnyModel]"
) -> list[tuple[AnyModel, float, bool]]:
    """The model of a folder, or those of an ensemble: each with its weight, and whether it lower-cases words."""
    found, loaded = [], dict[Path, AnyModel]()
    for place, weight in read_models(folder):
        own = config if place == folder else read_parser_config(place)
        # What an ensemble's settings say about encoders holds for all of its models.
        precision = own.encoder_precision if config.encoder_precision == "auto" else config.encoder_precision
        overlap = own.encoder_overlap if config.encoder_overlap is None else config.encoder_overlap
        # A folder that is named twice takes its memory once.
        if place not in loaded:
            loaded[place] = load_one(place, precision=precision, overlap=overlap)
        found.append((loaded[place], weight, own.lowercase))
    return found


def choose_device(name: str) -> str:
    """The device of that name. Where there can be no GPU, `auto` is the CPU, and PyTorch is not even imported."""
    has_gpu = find_spec("torch") and (sys.platform == "win32" or any(map(os.path.exists, _GPU_FILES)))
    if name == "cpu" or (name == "auto" and not has_gpu):
        return "cpu"
    try:
        from genrst.encoder.device import choose_device as choose_torch_device
    except ImportError as error:
        raise MissingDependencyError(f"the device {name!r} needs PyTorch: pip install 'genrst[torch]'") from error
    return str(choose_torch_device(name))


def _calm_threads() -> None:
    """Let PyTorch's threads wait for each other without keeping a core busy, unless told otherwise.

    A search is many small operations. Where another program needs a core, threads that spin make it ten times slower:
    100 EDUs took 10 to 45 s on two cores with one of them busy, and 2 to 4 s with this; on idle cores it costs about a
    tenth. It has no effect once PyTorch is imported.
    """
    if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        os.environ["GOMP_SPINCOUNT"] = "1000"


def use_one_thread() -> None:
    """Compute with one thread in this process, because others run beside it."""
    os.environ["OMP_NUM_THREADS"] = "1"
    _use_one_torch_thread()


def _use_one_torch_thread() -> None:
    """In a forked process PyTorch's threads are gone, and it would wait for them for ever; one is always there."""
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(after_in_child=_use_one_torch_thread)
