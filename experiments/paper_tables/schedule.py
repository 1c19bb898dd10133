"""Which trainings and searches are left to do, and doing them side by side."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed
from dataclasses import dataclass

from experiments.paper_tables.data import Split
from experiments.paper_tables.scores import System, make_systems
from experiments.paper_tables.searches import Search, read_result, result_path, run_search
from experiments.paper_tables.train import Member, train
from genrst.training.data import Prepared


@dataclass(frozen=True, slots=True)
class Schedule:
    """Does what has no file yet."""

    workers: Executor
    device: str
    at_once: int
    """Hypotheses side by side in one search."""

    def train(self, members: Sequence[Member], prepared: Prepared) -> Iterator[Member]:
        """Train; every member comes out as soon as it is ready."""
        ready = [member for member in members if member.is_trained]
        waiting = {
            self.workers.submit(train, member, prepared, self.device): member
            for member in members
            if member not in ready
        }
        yield from ready
        for future in as_completed(waiting):
            future.result()
            yield waiting[future]

    def search(self, ready: Iterable[Member], searches: Mapping[str, Sequence[Search]], split: Split) -> list[System]:
        """Run the searches of each model with members as they get ready."""
        members: list[Member] = []
        waiting: list[Future[None]] = []
        for member in ready:
            members.append(member)
            waiting += self._start(member, searches[member.model], split)
        for future in as_completed(waiting):
            future.result()
        results = [
            read_result(member, search, split)
            for model, of_model in searches.items()
            for search in of_model
            for member in members
            if member.model == model
        ]
        return make_systems(results, split)

    def _start(self, member: Member, searches: Sequence[Search], split: Split) -> list["Future[None]"]:
        missing = [search for search in searches if not result_path(member, search, split).is_file()]
        # The slow ones first, so that no worker has to be waited for at the end.
        missing.sort(key=lambda search: -search.beam)
        return [self.workers.submit(run_search, member, search, split, self.at_once, self.device) for search in missing]
