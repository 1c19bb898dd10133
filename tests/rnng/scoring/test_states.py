"""The linear maps in parts against the network's own, on the whole state."""

import random
from itertools import accumulate

import pytest
import torch

from genrst.rnng.batch import pack_words
from genrst.rnng.examples import Example
from genrst.rnng.network import Network
from genrst.rnng.scoring.features import FeatureLookup
from genrst.rnng.scoring.scorer import Shown, StateScores
from tests.rnng.random_examples import random_example
from tests.rnng.scoring.test_features import all_spans
from tests.rnng.test_network import EXTENSIONS, KINDS, extended, make_network

torch.set_num_threads(1)


def show(examples: list[Example], seed: int) -> Shown:
    """Every pair of units of some documents, with random nuclear EDUs."""
    rng = random.Random(seed)
    firsts = [0, *accumulate(example.n_edus for example in examples)]
    rows = []
    for document, second, top, stop in all_spans(examples):
        first = firsts[document]
        of_top = [first + top, first + stop - 1, first + rng.randrange(top, stop)] if top >= 0 else [-1, 0, 0]
        of_second = [first + second, first + top - 1, first + rng.randrange(second, top)] if second >= 0 else [-1, 0, 0]
        rows.append((*of_top, *of_second, first + stop + document))
    return Shown(*torch.tensor(rows).T)


def direct_edus(shown: Shown, n_edus: int) -> torch.Tensor:
    """As the network wants them: the number of all EDUs where there is none."""
    top, second = (torch.stack(columns, dim=1) for columns in (shown[:3], shown[3:6]))
    units = [torch.where(unit[:, :1] < 0, n_edus, unit) for unit in (top, second)]
    return torch.cat(units, dim=1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("extension", [None, *EXTENSIONS])
@pytest.mark.parametrize("seed", range(3))
@torch.inference_mode()
def test_parts_sum_up_to_the_whole(kind, extension, seed):
    network: Network = make_network(kind, seed) if extension is None else extended(kind, extension)
    examples = [random_example(n_edus, 10 * seed + n_edus) for n_edus in (9, 2, 6)]
    shown = show(examples, seed)
    assert len(shown.first) > 150
    stops = shown.lookahead - torch.tensor([span.document for span in all_spans(examples)])
    looked_up = FeatureLookup(examples, torch.device("cpu")).features(shown.first_below, shown.first, stops)
    stacks = torch.randn(len(stops), network.config.stack_size, dtype=torch.double)
    edus = network.edu_encoder(network.embed_packed(pack_words(examples)))
    ahead = None if network.lookahead is None else network.lookahead(edus, [9, 2, 6])
    features = network.features(network.embeddings(looked_up.words), looked_up.comparisons, looked_up.deprels)
    direct = direct_edus(shown, len(edus))
    seen = None if ahead is None else ahead[shown.lookahead]
    states = network.state(stacks, features, looked_up.layout, edus, direct, seen)
    actions, queries = StateScores(network, examples, edus, ahead)(stacks, looked_up, shown)
    torch.testing.assert_close(actions, network.action_head.scores(states))
    if network.language_model is not None:
        torch.testing.assert_close(queries, network.language_model.from_stack(states))
    else:
        assert queries.shape == (len(stops), 0)
