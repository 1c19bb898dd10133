"""Work is bounded by whoever runs it, in all threads that it uses."""

from threading import current_thread

import pytest

from genrst.allowance import SizeError, allowance, check_edus, checkpoint
from genrst.encoder.onnx import in_threads


def test_steps_in_threads_are_checked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    seen = []

    def check() -> None:
        seen.append(current_thread())
        if len(seen) > 9:
            raise TimeoutError

    with allowance(check=check):
        assert in_threads(str, range(4)) == ["0", "1", "2", "3"]
        with pytest.raises(TimeoutError):
            in_threads(str, range(400))
    assert len(seen) < 20, "the others are not begun"
    assert current_thread() not in seen
    checkpoint()


def test_an_allowance_inside_another():
    with allowance(max_edus=3):
        with allowance(check=lambda: None), pytest.raises(SizeError, match="at most 3 EDUs, got 4"):
            check_edus("text", 4)
        with allowance(max_edus=4):
            check_edus("text", 4)
    check_edus("text", 5)
