"""Our MPNet computes what that of transformers does."""

from pathlib import Path

import pytest
import torch

from genrst.encoder.files import CONFIG, make_encoder, read_encoder_config, restore_encoder
from genrst.encoder.pretrained import PADDING, Mpnet, distance_classes
from tests.encoder.tiny_encoders import N_POSITIONS, make_tokenizer, write_encoder


def test_settings_are_written_as_they_were_read(tmp_path: Path):
    config = read_encoder_config(write_encoder(tmp_path, "mpnet") / CONFIG)
    (tmp_path / "again.json").write_text(config.to_json_string())
    assert read_encoder_config(tmp_path / "again.json") == config


@pytest.mark.parametrize(("key", "value"), [("hidden_act", '"relu"'), ("num_attention_heads", "null")])
def test_others_are_those_of_transformers(tmp_path: Path, key: str, value: str):
    path = write_encoder(tmp_path, "mpnet") / CONFIG
    assert read_encoder_config(path).is_plain
    path.write_text(path.read_text().rstrip().removesuffix("}") + f', "{key}": {value}}}')
    assert not read_encoder_config(path).is_plain


@pytest.mark.parametrize("length", [1, 7, N_POSITIONS])
def test_mpnet_is_that_of_transformers_but_for_rounding(tmp_path: Path, length: int):
    folder = write_encoder(tmp_path, "mpnet")
    theirs, ours = (make(folder, make_tokenizer("mpnet")) for make in (make_encoder, restore_encoder))
    assert isinstance(ours, Mpnet)
    theirs.pooler = None  # type: ignore[assignment]
    ours.load_state_dict(theirs.state_dict())
    generator = torch.Generator().manual_seed(1)
    pieces = torch.randint(4, 57, (5, length), generator=generator)
    pieces[2, length // 2 + 1 :] = PADDING
    order = torch.randint(0, 3, (5, length), generator=generator)
    is_hidden = (order[:, None, :] > order[:, :, None])[:, None]
    mask = torch.zeros(is_hidden.shape).masked_fill_(is_hidden, -torch.inf)
    with torch.inference_mode():
        found = [one(input_ids=pieces, attention_mask=mask).last_hidden_state for one in (theirs.eval(), ours)]
    torch.testing.assert_close(*found, atol=1e-5, rtol=1e-5)


def test_distances_have_the_classes_of_transformers():
    from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

    distances = torch.arange(-600, 601)
    expected = MPNetEncoder.relative_position_bucket(distances)
    assert torch.equal(distance_classes(distances, 32), expected)
