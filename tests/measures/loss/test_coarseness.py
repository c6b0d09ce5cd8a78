"""Limits on labels, of every form of them."""

from fractions import Fraction

import pyarrow as pa
import pytest
from strategies import CITIES

from tclose_spark.measures.loss.information_loss import Coarsest
from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.table.hierarchies.hierarchy import Hierarchy


def limit(**settings) -> Coarsest:
    found = Coarsest.of(
        QuasiIdentifier.model_validate(settings),
        CITIES if settings.get("hierarchy") is not None else None,
    )
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("settings", "fine", "coarse"),
    [
        (
            {"type": "numeric", "coarsest": 10},
            ["7", "[20, 30]", "[-5.5, 4.5]", None],
            ["[20, 30.01]", "*"],
        ),
        ({"type": "numeric", "coarsest": 0}, ["7", "[7, 7]", None], ["[7, 8]", "*"]),
        ({"hierarchy": "cities.csv", "coarsest": 0}, ["Pisa", None], ["Tuscany", "Italy", "*"]),
        ({"hierarchy": "cities.csv", "coarsest": 1}, ["Pisa", "Tuscany", None], ["Italy", "*"]),
        ({"hierarchy": "cities.csv", "coarsest": CITIES.height}, ["Pisa", "Italy", "*", None], []),
        (
            {"generalization": "set", "coarsest": 2},
            ["a", "{a, b}", '{"a, b", c}', None],
            ["{a, b, c}", "*"],
        ),
        ({"coarsest": 0}, ["a", "{a, b, c}", None], ["*"]),
    ],
)
def test_labels_within_a_limit_and_beyond(settings, fine, coarse):
    labels = pa.array([*coarse, *fine, *coarse], pa.string())
    expected = [True] * len(coarse) + [False] * len(fine) + [True] * len(coarse)
    assert limit(**settings).broken([labels]).tolist() == expected


def test_two_bounds_are_an_interval():
    ten = limit(type="numeric", numeric_output="bounds", coarsest="10")
    low, high = pa.array([20, 20, None, 5]), pa.array([30, 31, None, None])
    assert ten.broken([low, high]).tolist() == [False, True, False, True]
    tenths = pa.array([0.1, 0.1]), pa.array([10.1, 10.2])
    assert ten.broken(tenths).tolist() == [False, True]


def test_a_label_that_stands_at_several_levels_has_the_highest():
    tree = Hierarchy.build(
        [("A", "A", "X", "*"), ("B", "X", "X", "*"), ("C", "*", "*", "*")],
        "padded",
    )
    levels = [Coarsest.of(QuasiIdentifier(hierarchy="h.csv", coarsest=n), tree) for n in range(4)]
    coarse = [[limit.broken_by(label) for limit in levels] for label in ("A", "C", "X", "*")]
    assert coarse == [
        [False] * 4,
        [False] * 4,
        [True, True, False, False],
        [True, True, True, False],
    ]


def test_no_limit():
    assert Coarsest.of(QuasiIdentifier(), None) is None
    assert limit(type="numeric", coarsest="1/3").limit == Fraction(1, 3)
