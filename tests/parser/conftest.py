"""A stand-in for the Hub, and a model to put there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from genrst.parser.hub import fetch
from tests.parser.hub_server import Hub, running_hub


@pytest.fixture(scope="session")
def chart_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small chart, with a card."""
    pytest.importorskip("torch")
    from tests.parser.samples import write_chart

    folder = write_chart(tmp_path_factory.mktemp("models") / "chart")
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# A chart\n", encoding="utf-8")
    return folder


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A Hub without repositories, a cache without files, and nobody logged in."""
    pytest.importorskip("huggingface_hub", reason="not installed: genrst[hub]")
    from huggingface_hub import constants

    fetch.cache_clear()
    with running_hub() as running:
        monkeypatch.setattr(constants, "ENDPOINT", running.address)
        template = f"{running.address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        yield running
    fetch.cache_clear()
