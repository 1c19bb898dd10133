"""What a search returns."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Parse:
    """A completed computation: its actions by number, and the parts of its log-probability."""

    actions: tuple[int, ...]
    action_logp: float
    word_logp: float

    @property
    def logp(self) -> float:
        """log p(words, tree | number of EDUs)."""
        return self.action_logp + self.word_logp


@dataclass(frozen=True, slots=True)
class Fallen:
    """A hypothesis that fell off the beam: after how many EDUs and reductions, its score, and that of the last kept."""

    n_generated: int
    n_reduced: int
    logp: float
    kept_logp: float


@dataclass(slots=True)
class Found:
    """What was found for one document."""

    parses: list[Parse]
    """The best first."""
    is_bounded: bool = False
    """Whether the best tree comes up to the bound on the stack, so that a better one may lie beyond."""
    trace: list[Fallen] = field(default_factory=list)
    """What fell off the beam, if asked for."""
