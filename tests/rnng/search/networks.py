"""Small random networks of few labels as scorers, and what they say themselves about a derivation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from genrst.rnng.batch import derive, make_batch
from genrst.rnng.examples import Example
from genrst.rnng.network import Network
from genrst.rnng.scoring.scorer import NetworkScorer
from tests.rnng.random_examples import N_DEPRELS, N_WORDS, random_example
from tests.rnng.test_network import small_config


@dataclass(frozen=True)
class RandomModel:
    network: Network
    examples: list[Example]
    nucleus_is_right: tuple[bool, ...]

    def scorer(self, *documents: int) -> NetworkScorer:
        """A new scorer of some documents, or of all."""
        examples = [self.examples[document] for document in documents] or self.examples
        return NetworkScorer(self.network, examples, self.nucleus_is_right)

    def own_logp(self, document: int, actions: Sequence[int]) -> tuple[float, float]:
        """The log-probabilities of a derivation and of its words, all at once as in training."""
        example = replace(self.examples[document], actions=tuple(actions))
        with torch.inference_mode():
            found = self.network(make_batch([example], [derive(example, self.nucleus_is_right)]))
        return float(found.actions.sum()), float(found.words.sum())


def random_model(kind: str, n_edus: Sequence[int], seed: int = 0, n_labels: int = 2) -> RandomModel:
    """A network in double precision, and documents."""
    torch.manual_seed(seed)
    network = Network(small_config(kind), N_WORDS, N_DEPRELS, n_labels).double()
    for parameter in network.parameters():
        torch.nn.init.uniform_(parameter, -0.7, 0.7)
    examples = [random_example(size, 100 * seed + size) for size in n_edus]
    return RandomModel(network, examples, (False, *(label % 2 == 1 for label in range(n_labels))))
