"""Gowda 2023, chapter 6: privacy loss falls as k grows (figure 6.1), information loss grows, and a
k is chosen.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from test_gowda_stack_and_deal import DATASET_1, PRIVACY_LOSS

from tclose_spark.comparing.choose_k import best_k, costs, normalised
from tclose_spark.measures.distances.ground_distances import OrderedDistance
from tclose_spark.methods.dealing.maximum_emd import maximum_emd
from tclose_spark.methods.dealing.stacks import stack_by_frequency

KS = range(2, 21)


def privacy_loss(k: int) -> float:
    """Of Stack & Deal on Dataset 1, 730 records of 6 values, stacked and ordered by frequency as
    the paper has them.
    """
    return float(
        maximum_emd(
            stack_by_frequency(DATASET_1),
            np.arange(6),
            OrderedDistance(DATASET_1),
            730 // k,
        ),
    )


def test_figure_6_1_privacy_loss_tends_to_fall_as_k_grows():
    """The figure is printed without numbers; those of figure 3.1, of the same data and method, are
    its right part.
    """
    losses = {k: privacy_loss(k) for k in KS}
    assert {k: round(losses[k], 6) for k in PRIVACY_LOSS} == PRIVACY_LOSS
    falls = [losses[k + 1] < losses[k] for k in KS if k + 1 in losses]
    assert 0.6 < np.mean(falls) < 1  # it tends to, and not at every step
    assert np.polyfit(list(KS), list(losses.values()), 1)[0] < 0
    assert max(losses, key=losses.__getitem__) in (2, 3)


def test_the_ends_of_alpha_are_privacy_alone_and_information_alone():
    t = [privacy_loss(k) for k in KS]
    loss = [k / 40 for k in KS]  # "directly proportional to anonymity level"
    assert best_k(list(KS), costs(t, loss, 1.0)) == 16  # the least of figure 3.1
    assert best_k(list(KS), costs(t, loss, 0.0)) == 2
    chosen = [best_k(list(KS), costs(t, loss, alpha)) for alpha in np.linspace(0, 1, 11)]
    assert chosen == sorted(chosen)  # the more privacy weighs, the larger k


def test_at_equal_weights_the_range_of_the_paper_is_2_to_l_less_1():
    t, loss = [privacy_loss(k) for k in range(2, 6)], [0.1, 0.12, 0.3, 0.4]
    cost = costs(t, loss, 0.5)
    assert cost.tolist() == pytest.approx([(a + b) / 2 for a, b in zip(t, loss, strict=True)])
    assert best_k(range(2, 6), cost) == min(range(4), key=lambda i: t[i] + loss[i]) + 2


def test_normalised_costs_do_not_depend_on_the_scale_of_either_loss():
    t, loss = [0.05, 0.03, 0.02], [0.3, 0.34, 0.6]
    assert best_k([2, 3, 4], costs(t, loss, 0.5)) == 2
    scaled = costs(normalised(t).tolist(), normalised(loss).tolist(), 0.5)
    assert best_k([2, 3, 4], scaled) == 3
    again = costs(
        normalised([100 * x for x in t]).tolist(),
        normalised([x / 7 for x in loss]).tolist(),
        0.5,
    )
    assert again.tolist() == pytest.approx(scaled.tolist())


def test_the_printed_values_are_those_of_the_worked_examples():
    path = Path(__file__).resolve().parents[2].parent / "shared/golden/worked_examples.json"
    if not path.exists():
        pytest.skip("the worked examples are not there")
    printed = json.loads(path.read_text())["gowda_dataset_1"]
    assert printed["frequencies"] == DATASET_1.tolist()
    assert {
        int(k): x for k, x in printed["privacy_loss_by_k_ordered_over_frequency_order"].items()
    } == PRIVACY_LOSS
