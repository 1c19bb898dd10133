"""Folders that somebody else has made: each is loaded, or refused in one line before it takes memory or time."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from experiments.charts.network import load_chart
from genrst import load
from genrst.chart.load import load_scorer
from genrst.encoder.files import make_encoder, read_encoder_config
from genrst.encoder.model import save_model
from genrst.encoder.pretrained import PretrainedEncoder
from genrst.encoder.tokenizer import read_tokenizer
from genrst.errors import GenrstError
from genrst.parser.folders import describe_model
from genrst.rnng.finder import load_rnng
from genrst.storage import WEIGHTS
from tests.parser.samples import PIPELINE, TEXT, make_chart, rnng_finder, write_chart, write_ensemble, write_parser
from tests.rnng.test_storage import make_encoded


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A parser, one with an encoder, an ensemble of the first, and a chart."""
    folder = tmp_path_factory.mktemp("models")
    write_parser(folder / "plain")
    save_model(make_encoded(), folder / "encoded")
    (folder / "encoded" / "parser.json").write_text(json.dumps({"pipeline": PIPELINE}))
    write_ensemble(folder / "ensemble", {"../plain": 1.0})
    write_chart(folder / "chart")
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "models"))


def refused(folder: Path) -> str:
    """What is said about a folder that cannot be loaded."""
    with pytest.raises(GenrstError) as error:
        load(folder, device="cpu")
    assert "\n" not in str(error.value)
    return str(error.value)


def change(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def change_header(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    header.pop("__metadata__", None)  # the checksum
    edit(header)
    new = json.dumps(header).encode()
    path.write_bytes(len(new).to_bytes(8, "little") + new + content[end:])


@pytest.fixture
def no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but the meta device may be asked for weights."""
    whole = torch.nn.Embedding.__init__

    def checked(self: Any, n_rows: int, *others: Any, **named: Any) -> None:
        whole(self, n_rows, *others, **named)
        assert self.weight.is_meta, "weights were allocated"

    monkeypatch.setattr(torch.nn.Embedding, "__init__", checked)


@pytest.mark.usefixtures("no_memory")
@pytest.mark.parametrize("size", [17, 200_000])
@pytest.mark.parametrize(
    ("part", "key", "load_part"),
    [("plain", "word_size", load_rnng), ("encoded", "word_size", load_rnng), ("chart", "label_size", load_chart)],
)
def test_sizes_that_the_weights_do_not_have(
    copy: Path, part: str, key: str, load_part: Callable[[Path], object], size: int
):
    change(copy / part / "config.json", **{key: size})
    with pytest.raises(GenrstError, match="the weights do not fit the configuration: size mismatch"):
        load_part(copy / part)


@pytest.mark.parametrize("size", [18, 200_000, 10**6])
@pytest.mark.parametrize("key", ["edu_size", "span_size", "split_size", "label_size", "segment_size"])
def test_sizes_of_a_chart_that_its_weights_do_not_have(copy: Path, key: str, size: int):
    change(copy / "chart" / "config.json", **{key: size})
    with pytest.raises(GenrstError, match=r"^[^\n]*chart: the weights do not fit the configuration: \S+ must have the"):
        load_scorer(copy / "chart")


@pytest.mark.parametrize("value", [0, -1, 10**12, 10**18, 10**30, 1.5, True, "x", [], {}])
@pytest.mark.parametrize("key", ["word_size", "edu_layers"])
def test_sizes_that_no_network_has(copy: Path, key: str, value: object):
    change(copy / "plain" / "config.json", **{key: value})
    assert re.search(f"{key}: (the value|an integer) must", refused(copy / "plain"))


def test_weights_that_are_larger_than_all_memory(copy: Path, monkeypatch: pytest.MonkeyPatch):
    """They can be: a file with holes takes no room on a disk."""
    monkeypatch.setattr(os, "sysconf", lambda name: 64)
    assert "the network does not fit into memory: it needs 0.0 GiB, and there are 0.0 GiB" in refused(copy / "plain")


SHAPES = [[0, 10**18], [10**18], [2**63], [-1, 2], ["a"], [1.5], [True], None, "xx", [[]], [10**30], [1] * 100]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes_in_headers(copy: Path, shape: object):
    path = copy / "plain" / WEIGHTS
    change_header(path, lambda header: header["embeddings.weight"].update(shape=shape))
    message = refused(copy / "plain")
    assert message.startswith(f"{path}: the model file is damaged: ")
    assert len(message) < 400
    with pytest.raises(GenrstError):
        describe_model(copy / "plain")


@pytest.mark.parametrize("dtype", ["F8_E4M3", "F4", "C64", "X", None, [], 5])
def test_kinds_of_numbers_in_headers(copy: Path, dtype: object):
    change_header(copy / "plain" / WEIGHTS, lambda header: header["embeddings.weight"].update(dtype=dtype))
    assert "the model file is damaged: " in refused(copy / "plain")


def make_special(path: Path, kind: str) -> None:
    if path.exists():
        path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind == "folder":
        path.mkdir()
    else:
        with path.open("wb") as file:
            file.truncate(2**40)


FILES = [
    *["plain/config.json", "plain/symbols.json", "plain/weights.safetensors", "plain/parser.json"],
    *["chart/config.json", "chart/symbols.json", "chart/weights.safetensors", "chart/encoder/tokenizer.json"],
    *["encoded/encoder/config.json", "encoded/encoder/tokenizer.json", "ensemble/ensemble.json"],
]


@pytest.mark.parametrize("kind", ["pipe", "device", "loop", "folder", "huge"])
@pytest.mark.parametrize("file", FILES)
def test_what_is_no_file(copy: Path, file: str, kind: str):
    """A test that waits for a pipe waits for ever."""
    make_special(copy / file, kind)
    refused(copy / file.partition("/")[0])


def test_a_damaged_segmenter_is_refused_with_the_first_raw_text(copy: Path):
    make_special(copy / "plain" / "segmenter" / "symbols.json", "pipe")
    parser = load(copy / "plain", device="cpu")
    assert parser.parse_edus(["It rained,", "so we stayed in."]).tree is not None
    with pytest.raises(GenrstError, match=r"^[^\n]*symbols.json[^\n]*$"):
        parser(TEXT)


def test_a_device_is_not_copied(copy: Path):
    parser = load(copy / "plain", device="cpu")
    make_special(copy / "plain" / "README.md", "device")
    with pytest.raises(GenrstError, match="cannot be written: a file cannot be copied"):
        parser.save(copy / "new")


OBEYED_BY_TRANSFORMERS: list[dict[str, Any]] = [
    {"attn_implementation": "x/y@main:f"},
    {"_attn_implementation": "x/y@main:f"},
    {"auto_map": {"AutoConfig": "x--y.Z", "AutoModel": "x--y.Z"}},
    {"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True}},
    {"torch_dtype": "float16", "dtype": "float16"},
    {"transformers_weights": "/etc/passwd"},
    {"fusion_config": {"a": 1}, "distributed_config": {"tp_size": 2}},
    {"is_decoder": True, "add_cross_attention": True, "return_dict": False, "output_attentions": True},
    {"per_layer_config": {"0": {"hidden_size": 3}}, "pruned_heads": {"0": [0]}, "chunk_size_feed_forward": 3},
]


@pytest.mark.parametrize("settings", OBEYED_BY_TRANSFORMERS, ids=lambda settings: next(iter(settings)))
def test_settings_of_an_encoder_that_are_not_obeyed(copy: Path, settings: dict[str, Any]):
    path = copy / "encoded" / "encoder" / "config.json"
    expected = read_encoder_config(path)
    change(path, **settings)
    assert read_encoder_config(path) == expected
    edu_encoder = rnng_finder(load(copy / "encoded", device="cpu")).members[0].model.network.edu_encoder
    assert isinstance(edu_encoder, PretrainedEncoder)
    assert isinstance(edu_encoder.encoder, transformers.BertModel)
    encoder = make_encoder(path.parent, read_tokenizer(path.with_name("tokenizer.json")))
    assert isinstance(encoder, transformers.BertModel)
    for name in settings:
        assert getattr(encoder.config, name, None) != settings[name]
    assert {weight.dtype for weight in encoder.parameters()} <= {torch.float32, torch.bfloat16}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model_type": "timm_wrapper"}, "model_type: an encoder must be one of bert, "),
        ({"model_type": 5}, "model_type: the value must be of type str, got 5"),
        ({"num_hidden_layers": 1_000_000}, "encoder.num_hidden_layers: the value must be 256 or less"),
        ({"num_hidden_layers": 3}, "the weights do not fit the configuration"),
        ({"hidden_size": 10**12}, "encoder.hidden_size: the value must be 1048576 or less"),
        ({"vocab_size": 1_000_000}, "the weights do not fit the configuration"),
        ({"type_vocab_size": 0}, "encoder.type_vocab_size: the value must be 1 or more"),
        ({"num_attention_heads": 3}, "no encoder can be built from this configuration: "),
        ({"hidden_act": "nonsense"}, "no encoder can be built from this configuration: "),
        ({"hidden_act": ["gelu"]}, "hidden_act: the value must be of type str"),
        ({"pad_token_id": -1}, "pad_token_id: the value must be the number of a word piece"),
        ({"pad_token_id": 60}, "pad_token_id: the value must be the number of a word piece"),
        ({"layer_norm_eps": "small"}, "layer_norm_eps: the value must be of type float"),
    ],
)
def test_settings_of_an_encoder_that_cannot_be(copy: Path, settings: dict[str, Any], message: str):
    change(copy / "encoded" / "encoder" / "config.json", **settings)
    assert message in refused(copy / "encoded")


@pytest.mark.parametrize(
    "settings",
    [
        {"num_hidden_layers": 3},
        {"num_hidden_layers": 256},
        {"hidden_size": 16},
        {"hidden_size": 10**6},
        {"hidden_size": 10**12},
        {"intermediate_size": 10**12},
        {"num_attention_heads": 3},
        {"num_attention_heads": 10**5},
        {"model_type": "mpnet"},
        {"model_type": "qwen2"},
        {"hidden_act": "nonsense"},
        {"layer_norm_eps": "small"},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["bert", "mpnet"])
def test_the_same_settings_in_the_chart_that_parses(copy: Path, kind: str, settings: dict[str, Any]):
    """No PyTorch is asked there: what does not fit is refused all the same, before the first text."""
    if kind == "mpnet":
        if settings == {"model_type": "mpnet"}:
            pytest.skip("it is one")
        save_model(make_chart(encoder="mpnet"), copy / "chart")
    change(copy / "chart" / "encoder" / "config.json", **settings)
    refused(copy / "chart")


def test_an_encoder_that_fails_with_the_first_text_fails_before_it(tmp_path: Path):
    """MPNet divides by the number of these."""
    save_model(make_encoded("mpnet"), tmp_path)
    change(tmp_path / "encoder" / "config.json", relative_attention_num_buckets=1)
    name = "edu_encoder.encoder.encoder.relative_attention_bias.weight"
    path = tmp_path / WEIGHTS
    weights = load_file(path)
    save_file(weights | {name: weights[name][:1].contiguous()}, path)
    assert "encoder: the encoder cannot be used: " in refused(tmp_path)


def edit_tokenizer(edit: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def apply(path: Path) -> None:
        data = json.loads(path.read_text())
        edit(data)
        path.write_text(json.dumps(data))

    return apply


def shift_numbers(data: dict[str, Any]) -> None:
    data["model"]["vocab"]["a"] = 10**6


def without_unknown(data: dict[str, Any]) -> None:
    data["model"]["unk_token"] = "nowhere"


def all_special(data: dict[str, Any]) -> None:
    data["post_processor"]["single"] = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}]


def long_prefix(data: dict[str, Any]) -> None:
    data["post_processor"]["single"] = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}] * 100 + [
        {"Sequence": {"id": "A", "type_id": 0}}
    ]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (shift_numbers, "the encoder must know all 1000001 word pieces, got 60"),
        (without_unknown, "tokenizer.json cannot be used: "),
        (all_special, "tokenizer.json must have a word piece for every letter"),
        (long_prefix, "a window of the encoder must have room for text"),
        (lambda data: data.update(model={"type": "Unigram", "vocab": [], "unk_id": 7}), "tokenizer.json cannot be "),
        (lambda data: data.update(version=5), "tokenizer.json cannot be read: "),
        (dict.clear, "tokenizer.json cannot be read: "),
    ],
)
def test_odd_tokenizers(copy: Path, edit: Callable[[dict[str, Any]], object], message: str):
    edit_tokenizer(edit)(copy / "encoded" / "encoder" / "tokenizer.json")
    assert message in refused(copy / "encoded")


def test_a_tokenizer_that_panics(copy: Path, monkeypatch: pytest.MonkeyPatch):
    """Rust's panics are no `Exception`s in Python."""

    class PanicException(BaseException):
        pass

    def panic(_: str) -> None:
        raise PanicException("index out of bounds\nnote: run with RUST_BACKTRACE=1")

    monkeypatch.setattr(Tokenizer, "from_str", panic)
    assert refused(copy / "encoded").endswith("tokenizer.json cannot be read: index out of bounds")


def test_an_ensemble_of_one_folder_a_hundred_times(copy: Path):
    listed = [{"model": "../plain"}] * 100
    change(copy / "ensemble" / "ensemble.json", members=listed)
    models = rnng_finder(load(copy / "ensemble", device="cpu")).members
    assert len(models) == 100
    assert len({id(one.model) for one in models}) == 1, "it takes memory once"
    change(copy / "ensemble" / "ensemble.json", members=[*listed, *listed])
    assert "members: an ensemble must have 1 to 100 members, got 200" in refused(copy / "ensemble")


@pytest.mark.parametrize(
    "members", [None, {}, "x", [5], [{}], [{"model": 5}], [{"model": "\0"}], [{"model": "a" * 999}]]
)
def test_odd_ensembles(copy: Path, members: object):
    change(copy / "ensemble" / "ensemble.json", members=members)
    refused(copy / "ensemble")
