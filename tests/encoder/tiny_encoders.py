"""Tiny pretrained encoders with random weights, in folders as Hugging Face has them, and documents for them."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from genrst.chart.config import ChartConfig
from genrst.chart.examples import ChartExample
from genrst.encoder.files import CONFIG, TOKENIZER
from genrst.encoder.model import wrap_encoder
from genrst.encoder.pretrained import PretrainedEncoder
from genrst.encoder.tokenizer import PieceTokenizer
from genrst.rnng.config import RnngConfig
from tests.rnng.random_examples import random_example

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SPECIALS = {
    "bert": ["[PAD]", "[UNK]", "[CLS]", "[SEP]"],
    "mpnet": ["<s>", "<pad>", "</s>", "[UNK]"],
    "roberta": ["<s>", "<pad>", "</s>", "[UNK]"],
    "qwen2": ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
}
KINDS = list(SPECIALS)
FAST_KINDS = ["bert", "mpnet", "roberta"]
"""Those that ONNX Runtime reads."""
N_POSITIONS = 24
"""Pieces in a window at most."""


def make_tokenizer(kind: str = "bert") -> PieceTokenizer:
    """Spells every word: its first letter, then `##` and each of the others. The only other sign is the full stop."""
    if kind == "qwen2":
        return _make_byte_tokenizer()
    pieces = [*SPECIALS[kind], *LETTERS, ".", *(f"##{letter}" for letter in LETTERS)]
    numbers = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    first, last = ("[CLS]", "[SEP]") if kind == "bert" else ("<s>", "</s>")
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}", special_tokens=[(first, numbers[first]), (last, numbers[last])]
    )
    tokenizer.add_special_tokens(SPECIALS[kind])
    # As the files of real encoders have it.
    tokenizer.enable_truncation(5)
    tokenizer.enable_padding(length=5, pad_id=numbers[SPECIALS[kind][kind != "bert"]])
    return PieceTokenizer(tokenizer.to_str())


def _make_byte_tokenizer() -> PieceTokenizer:
    """Spells every word: a space with its first letter, then each of the others. Nothing stands around a text."""
    pieces = [*SPECIALS["qwen2"], "Ġ", *LETTERS, ".", *(f"Ġ{letter}" for letter in LETTERS)]
    numbers = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.BPE(numbers, [("Ġ", letter) for letter in LETTERS]))
    tokenizer.normalizer = normalizers.NFC()
    # A full stop is no word with the space before it, as it is with Qwen's digits.
    words = pre_tokenizers.Split(Regex(r"[^\r\n\p{L}\p{N}]?\p{L}+|[^\s\p{L}]|\s+"), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([words, pre_tokenizers.ByteLevel(False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.add_special_tokens(SPECIALS["qwen2"])
    return PieceTokenizer(tokenizer.to_str())


def make_hugging_face(kind: str = "bert", seed: int = 0, **changes: int) -> Any:
    """A model of transformers with random weights."""
    torch.manual_seed(seed)
    sizes: dict[str, Any] = {"vocab_size": 60, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    sizes |= {"intermediate_size": 16, "initializer_range": 0.5, "max_position_embeddings": N_POSITIONS}
    config: Any
    if kind == "bert":
        config = transformers.BertConfig(**sizes | changes, pad_token_id=0)
    elif kind in ("mpnet", "roberta"):
        make = transformers.MPNetConfig if kind == "mpnet" else transformers.RobertaConfig
        config = make(**sizes | {"max_position_embeddings": N_POSITIONS + 2} | changes, pad_token_id=1)
    else:
        config = transformers.Qwen2Config(**sizes | changes, num_key_value_heads=1, rope_theta=1e6, use_cache=False)
    return transformers.AutoModel.from_config(config)


def write_encoder(folder: Path, kind: str = "bert", seed: int = 0) -> Path:
    """The folder of an encoder."""
    make_hugging_face(kind, seed).save_pretrained(folder)
    (folder / TOKENIZER).write_text(make_tokenizer(kind).json)
    assert (folder / CONFIG).is_file()
    return folder


def make_pretrained(config: ChartConfig | RnngConfig, kind: str = "bert", seed: int = 0) -> PretrainedEncoder:
    """The pretrained encoder of a network."""
    return wrap_encoder(config, make_hugging_face(kind, seed), make_tokenizer(kind))


def random_pieces(n_edus: int, seed: int = 0, longest: int = 6) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The word pieces of a random document, and how many each EDU has."""
    rng = random.Random(seed)
    lengths = np.array([rng.randint(1, longest) for _ in range(n_edus)])
    return np.array([rng.randrange(4, 57) for _ in range(lengths.sum())]), lengths


def piece_example(n_edus: int, seed: int = 0, longest: int = 6, n_labels: int = 3) -> ChartExample:
    """A random document with a random tree."""
    other = random_example(n_edus, seed)
    places = other.syntax.sentences, other.syntax.paragraphs, other.syntax.kinds
    units = []
    stack: list[tuple[int, int]] = []
    for action in other.actions:
        if action == 0:
            first = stack[-1][1] if stack else 0
            stack.append((first, first + 1))
            continue
        (split, stop), (start, _) = stack.pop(), stack.pop()
        units.append((start, split, stop, action % n_labels))
        stack.append((start, stop))
    found = np.array(units, dtype=np.int64).reshape(-1, 4)
    return ChartExample(other.id, *random_pieces(n_edus, seed, longest), *places, found)
