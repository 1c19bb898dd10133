"""The way of searches on a GPU, taken on a CPU: every slot is worked on, whether it has a hypothesis or not."""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from genrst.rnng.scoring.words import WordScores
from genrst.rnng.search import hypotheses, successors, word
from genrst.rnng.search.hypotheses import Table
from genrst.rnng.transitions.actions import States
from tests.rnng.search.tables import TableScorer


def take_gpu_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may wait any more, words are scored in padded products, and as many rows are made as is said."""
    modules = [module for name, module in sys.modules.items() if name.startswith("genrst.")]
    asking = [module for module in modules if hasattr(module, "sync_is_free")]
    assert {hypotheses, successors, word} <= {*asking}
    for module in asking:
        monkeypatch.setattr(module, "sync_is_free", lambda device: False)
    monkeypatch.setattr(WordScores, "logp", WordScores._padded)
    release = Table.release

    def checked_release(table: Table, n_new: int) -> None:
        assert table._counter is not None
        assert int(table._counter) == table.n_rows + n_new <= len(table[0])
        release(table, n_new)

    monkeypatch.setattr(Table, "release", checked_release)


class DenseScorer(TableScorer):
    """Is asked about slots without a hypothesis, too. What it says about them must not matter: so it says nan.

    It can tell most of them by their number of EDUs, which is not that of their stack.
    """

    def score(self, states: States[Tensor], n_words: int, n_alike: int = 1) -> tuple[Tensor, Tensor]:
        assert len(states.documents) % n_alike == n_words % n_alike == 0
        for column in (states.documents, states.n_generated):
            rows = column.view(-1, n_alike)
            assert (rows == rows[:, :1]).all(), "as many are alike as is said"
        return super().score(states, n_words, n_alike)

    def _row(self, document: int, number: int, second: int, top: int, n_generated: int) -> tuple[list[float], float]:
        assert 0 <= n_generated <= self.n_edus[document], "also without a hypothesis: it is looked up in tables"
        if self.stacks[number].actions.count(0) != n_generated:
            return [math.nan] * (1 + self.n_labels), math.nan
        actions, words = super()._row(document, number, second, top, n_generated)
        return actions, words if n_generated < self.n_edus[document] else math.nan


class Waits(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts what a program would have to wait for a GPU at: sizes and values that only results tell, and transfers."""

    OPERATIONS = ("_local_scalar_dense", "nonzero", "masked_select", "unique", "repeat_interleave.Tensor", "equal")

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0
        tolist, to = Tensor.tolist, Tensor.to

        def counted_tolist(tensor: Tensor) -> object:
            self.count += 1
            return tolist(tensor)

        def counted_to(*given: Any, **options: Any) -> Tensor:
            is_moved = any(isinstance(one, torch.device) for one in given)
            self.count += is_moved and not options.get("non_blocking")
            return to(*given, **options)

        monkeypatch.setattr(Tensor, "tolist", counted_tolist)
        monkeypatch.setattr(Tensor, "to", counted_to)

    def __torch_dispatch__(
        self,
        operation: Callable[..., object],
        types: Sequence[type],
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        del types
        self.count += any(name in str(operation) for name in self.OPERATIONS)
        # Taking the entries where a mask is true needs their number.
        self.count += any(isinstance(one, Tensor) and one.dtype == torch.bool for one in _indices(operation, args))
        return operation(*args, **(kwargs or {}))


def _indices(operation: Callable[..., object], args: tuple[object, ...]) -> Sequence[object]:
    found = args[1] if str(operation).startswith("aten.index") and len(args) > 1 else ()
    return found if isinstance(found, (list, tuple)) else ()
