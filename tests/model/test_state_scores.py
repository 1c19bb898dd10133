"""The linear maps in parts against the network's own, on the concatenated state."""

import pytest
import torch

from genrst.model.feature_lookup import FeatureLookup
from genrst.model.state_scores import StateScores
from tests.model.random_examples import N_LABELS, random_example
from tests.model.test_network import KINDS, make_network

torch.set_num_threads(1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
@torch.inference_mode()
def test_parts_sum_up_to_the_whole(kind, seed):
    network = make_network(kind, seed)
    examples = [random_example(n_edus, 10 * seed + n_edus) for n_edus in (9, 2, 6)]
    rows = [(number, second, top, stop) for number, example in enumerate(examples)
            for second in range(-1, example.n_edus) for top in range(second + 1, example.n_edus)
            for stop in range(top + 1, example.n_edus + 1) if second >= 0 or top == 0]  # fmt: skip
    rows += [(0, -1, -1, 0), (2, -1, -1, 0)]
    looked_up = FeatureLookup(examples, torch.device("cpu")).features(*torch.tensor(rows).T)
    stacks = torch.randn(len(rows), network.config.stack_size, dtype=torch.double)
    features = network.features(network.embeddings(looked_up.words), looked_up.comparisons, looked_up.deprels)
    states = torch.cat([stacks, features], dim=1)
    seen, ahead = states, None
    if network.lookahead is not None:
        ahead = torch.randn(len(rows), network.config.lookahead_size, dtype=torch.double)
        seen = torch.cat([states, ahead], dim=1)
    actions, queries = StateScores(network, examples)(stacks, looked_up, ahead)
    torch.testing.assert_close(actions, network.action_head.scores(seen))
    assert actions.shape == (len(rows), 1 + N_LABELS)
    if network.language_model is not None:
        torch.testing.assert_close(queries, network.language_model.from_stack(states))
    else:
        assert queries.shape == (len(rows), 0)
    assert len(rows) > 150
