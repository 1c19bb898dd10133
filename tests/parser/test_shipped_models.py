"""The models that come with the package: they load, parse, and are small enough."""

import pytest

import genrst
from genrst.parser.packages import MODELS, describe_model, installed_models

TEXT = "The bridge is closed because the river has risen. Drivers should take the ferry, which runs all night."


def test_all_of_them_are_at_most_forty_megabytes():
    assert installed_models() == ["en", "en-generative"]
    assert sum(path.stat().st_size for path in MODELS.rglob("*") if path.is_file()) < 40e6


@pytest.mark.parametrize("name", installed_models())
def test_a_shipped_model_parses_raw_text(name):
    parser = genrst.load(name, device="cpu")
    document = parser(TEXT)
    texts = [TEXT[edu.start : edu.end] for edu in document.edus]
    assert texts[:2] == ["The bridge is closed", "because the river has risen."], "also its segmenter works"
    assert document.model == name
    if name == "en":
        assert "(causal NS 0 1)" in str(document.tree)
    facts = describe_model(MODELS / name)
    is_generative = facts["config"]["kind"] == "generative"
    assert document.log_probability is not None
    assert document.log_probability < (-50 if is_generative else 0), "words are generated, too, or not"
    assert facts["card"].startswith(f"# {name}\n")


def test_the_encoder_makes_no_trouble_of_its_own(capfd):
    """Libraries of encoders are talkative; a parse prints nothing."""
    genrst.load("en", device="cpu")(TEXT)
    assert capfd.readouterr() == ("", "")
