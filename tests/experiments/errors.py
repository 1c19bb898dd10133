"""How a command must end if something is wrong with what it was given."""

from collections.abc import Callable

import pytest


def ends_in_one_line(command: Callable[[], None], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        command()
    assert end.value.code in (1, 2)
    assert message in capsys.readouterr().err.splitlines()[-1]
