"""The targets that need PyTorch: model folders, checkpoints, and constraints.

A case of a folder is a JSON object that replaces some of its files. A folder that can be loaded must parse. PyTorch is
imported when the first such case is made.
"""

import atexit
import base64
import json
import os
import random
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz.mutate import NUMBERS, as_json, change_data, change_file, change_safetensors
from genrst.chart.config import ChartConfig
from genrst.errors import GenrstError
from genrst.rnng.config import RnngConfig
from genrst.storage import SEGMENTER

if TYPE_CHECKING:
    from genrst.training.trainer import Trainer

TINY = RnngConfig(
    word_size=4, edu_size=4, edu_layers=1, unit_size=4, relation_size=2, stack_size=4, decoder_size=4,
    lookahead_size=4, boundary_size=2, deprel_size=2,
)  # fmt: skip
TINY_CHART = ChartConfig(
    edu_size=4, encoder="tiny", encoder_window=16, span_size=4, span_heads=2, split_size=2, label_size=2,
    segment_size=2,
)  # fmt: skip
BESIDE = f"../generative/{SEGMENTER}"
"""The path of one model's segmenter, relative to another model."""


def scratch(name: str) -> Path:
    """Make a temporary folder that is removed when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix=f"genrst-fuzz-{name}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _write_generative(folder: Path) -> None:
    from genrst.encoder.model import Model, save_model
    from genrst.rnng.finder import make_network
    from tests.parser.samples import make_model

    symbols = make_model().symbols
    save_model(Model(make_network(TINY, symbols), symbols), folder)
    _write_chart(folder / SEGMENTER)
    settings = {"name": "tiny", "pipeline": "none", "beam": 2, "segmenter": SEGMENTER}
    (folder / "parser.json").write_text(json.dumps(settings))


def _write_pretrained(folder: Path) -> None:
    from genrst.encoder.model import Model, save_model
    from genrst.rnng.finder import make_network
    from tests.encoder.tiny_encoders import make_pretrained, make_tokenizer
    from tests.parser.samples import make_model

    config = replace(TINY, kind="discriminative", encoder="tiny", encoder_window=16)
    symbols = make_model().symbols
    network = make_network(config, symbols, make_pretrained(config))
    save_model(Model(network, symbols, make_tokenizer()), folder, "int8")
    (folder / "parser.json").write_text(json.dumps({"search": "greedy", "segmenter": BESIDE}))


def _write_chart(folder: Path) -> None:
    from genrst.chart.learning.network import make_network
    from genrst.encoder.model import Model, save_model
    from tests.encoder.tiny_encoders import make_pretrained, make_tokenizer
    from tests.parser.samples import make_chart

    labels = make_chart().symbols
    network = make_network(TINY_CHART, labels, make_pretrained(TINY_CHART))
    save_model(Model(network, labels, make_tokenizer()), folder)
    (folder / "parser.json").write_text(json.dumps({"keep_whole": "paragraphs", "temperature": 2.0}))


def _write_ensemble(folder: Path) -> None:
    from tests.parser.samples import write_ensemble

    write_ensemble(folder, {"../generative": 1.0, "../pretrained": 0.5}, segmenter=BESIDE)


KINDS: dict[str, Callable[[Path], None]] = {
    "generative": _write_generative,
    "pretrained": _write_pretrained,
    "chart": _write_chart,
    "ensemble": _write_ensemble,
}


@cache
def home() -> Path:
    """Return the folder with undamaged models, which are the same in every process."""
    import torch

    torch.set_num_threads(1)
    folder = scratch("models")
    for name, write in KINDS.items():
        torch.manual_seed(1)
        write(folder / name)
    return folder


def make_folder(kind: str, chance: random.Random) -> bytes:
    """Change one or two files of a model folder; return the changes by file name."""
    folder = home() / kind
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    changed = {}
    for name in chance.sample(names, k=min(chance.choice([1, 1, 1, 2]), len(names))):
        new = change_file(chance, name, (folder / name).read_bytes())
        changed[name] = new if isinstance(new, str) else "=" + base64.b64encode(new).decode()
    return as_json(changed)


def check_folder(kind: str, content: bytes) -> None:
    """Check that a folder is described and loaded, or refused, and that a loaded model parses."""
    from genrst.parser.folders import describe_model
    from genrst.parser.loading import load
    from tests.training.samples import make_document

    folder = home() / "case"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(home() / kind, folder, copy_function=os.link)
    for name, new in json.loads(content).items():
        _put(folder / name, new)
    refused: GenrstError | None = None
    try:
        describe_model(folder)
    except GenrstError as error:
        refused = error
    parser = load(folder, device="cpu")
    document = make_document(0)
    parser.finder.segment([replace(document, is_segmented=False)])
    parser.finder.find([document])
    if refused is not None:
        raise refused


def _put(path: Path, new: str) -> None:
    """Replace a file by this content, or by one of `ODD_FILES`."""
    path.unlink()
    match new:
        case "missing":
            pass
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "loop":
            path.symlink_to(path)
        case "zero" | "null":
            path.symlink_to(f"/dev/{new}")
        case "empty":
            path.touch()
        case _:
            path.write_bytes(base64.b64decode(new[1:]))


@cache
def trainer() -> "Trainer":
    """Return a trainer that has trained for one epoch."""
    import torch

    from genrst.rnng.finder import make_network
    from genrst.training.run_config import TrainingConfig
    from genrst.training.tasks import make_task
    from genrst.training.trainer import Trainer
    from tests.training.samples import prepare_samples

    torch.set_num_threads(1)
    torch.manual_seed(1)
    prepared, config = prepare_samples(), TrainingConfig(batch_documents=2)
    network = make_network(TINY, prepared.symbols)
    one = Trainer(network, make_task(prepared, network, config, 1), config, 1)
    next(one.epochs())
    return one


@cache
def checkpoint() -> bytes:
    """Return the checkpoint of that trainer."""
    from genrst.training.checkpoint import save_checkpoint

    path = scratch("checkpoint") / "whole.safetensors"
    save_checkpoint(trainer(), path)
    return path.read_bytes()


def make_checkpoint(chance: random.Random) -> bytes:
    """Make a damaged checkpoint; one in ten is intact."""
    return change_safetensors(chance, checkpoint()) if chance.random() < 0.9 else checkpoint()


@cache
def checkpoint_path() -> Path:
    """Return the path where cases are written."""
    return scratch("case") / "case.safetensors"


def check_checkpoint(content: bytes) -> None:
    """Check that a checkpoint is refused, or that the trainer can resume from it and save it again."""
    from genrst.training.checkpoint import load_checkpoint, save_checkpoint

    path = checkpoint_path()
    path.write_bytes(content)
    load_checkpoint(trainer(), path)
    trainer().optimizer.step()
    save_checkpoint(trainer(), path)
    load_checkpoint(trainer(), path)


LABELS = [("cause", "NS"), ("cause", "SN"), ("joint", "NN")]


def make_constraints(chance: random.Random) -> bytes:
    """Make constraints on a small document, a few of them invalid."""
    n_edus = chance.randint(1, 6)
    wanted: list[dict[str, object]] = []
    for _ in range(chance.choice([0, 1, 2, 3, 5])):
        start = chance.randrange(n_edus)
        one: dict[str, object] = {"edus": [start, chance.randint(start + 1, n_edus + (chance.random() < 0.05))]}
        if chance.random() < 0.4:
            one["is_unit"] = False
        elif chance.random() < 0.3:
            one["relation"], one["nuclearity"] = chance.choice([*LABELS, ("cause", "NN"), ("other", "NS")])
        wanted.append(one)
    groups = sorted(chance.choices(range(3), k=n_edus)) if chance.random() < 0.5 else None
    if wanted and chance.random() < 0.4:
        wanted = change_data(chance, wanted)
    if groups and chance.random() < 0.05:
        groups[0] = chance.choice([one for one in NUMBERS if isinstance(one, int)])
    return as_json({"n_edus": n_edus, "constraints": wanted, "groups": groups})


def check_constraints(content: bytes) -> None:
    """Check that the trees that meet the constraints are those found by brute force."""
    from genrst.rnng.transitions.legal import LegalActions
    from genrst.trees.constraints import constraint_from_dict, resolve_constraints
    from tests.chart.enumeration import all_trees, fits, spans_of

    case = json.loads(content)
    n_edus, groups, wanted = case["n_edus"], case["groups"], case["constraints"]
    constraints = [constraint_from_dict(one) for one in (wanted if isinstance(wanted, list) else [wanted])]
    assert [constraint_from_dict(one.as_dict()) for one in constraints] == constraints, "JSON round trip"
    has_order = groups is None or groups == sorted(groups)
    expected = [tree for tree in all_trees(0, n_edus) if has_order and fits(tree, constraints, groups, n_edus)]
    try:
        found = resolve_constraints(n_edus, constraints, LABELS, [] if groups is None else [groups])
    except GenrstError:
        # Brute force does not detect contradictory labels or EDUs that do not exist.
        is_known = all(not one.is_labelled and one.stop <= n_edus for one in constraints)
        assert not (expected and is_known), "trees remain, but the constraints are refused"
        raise
    spans = {tree: spans_of(tree, n_edus) for tree in all_trees(0, n_edus)}
    left = [tree for tree, own in spans.items() if own.issuperset(found.forced) and own.isdisjoint(found.forbidden)]
    assert left == expected, "the remaining trees differ from those of brute force"
    try:
        LegalActions(n_edus, found, 2)
    except GenrstError:
        assert not expected, "trees remain, but no action is legal"
        raise
    assert expected, "no tree remains, but actions are legal"
