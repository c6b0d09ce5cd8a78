"""Places of numbers: numpy's bins, and equal steps; and the distance between them in both of its
forms.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose_spark.errors import InputError
from tclose_spark.measures.distances.bins import places_of
from tclose_spark.measures.distances.ground_distances import OrderedDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.runfile.attributes import EvenPlaces
from tclose_spark.table.arrays import IntArray

numbers = st.lists(st.integers(-40, 60), min_size=2, max_size=20, unique=True).map(sorted)


@given(numbers, st.sampled_from([2, 4, 5, 10, 20]))
def test_bins_are_those_of_numpy(values: list[int], bins: int) -> None:
    places = places_of("pay", [str(value) for value in values], EvenPlaces(equal_width=bins))
    scaled = [
        value * bins for value in values
    ]  # edges are whole numbers then, which numpy does not round
    table = np.arange(1, len(values) + 1)
    counts, edges = np.histogram(scaled, bins, weights=table)
    assert places.counts(table).tolist() == counts.tolist()
    assert [float(end * bins) for end in places.ends] == edges.tolist()


@given(numbers, st.fractions(Fraction(1, 3), 5, max_denominator=3))
def test_steps_begin_at_the_smallest_value(values: list[int], step: Fraction) -> None:
    places = places_of("pay", [str(value) for value in values], EvenPlaces(step=step))
    for value, place in zip(values, places.of_value.tolist(), strict=True):
        assert places.ends[place] <= value < places.ends[place + 1]
    assert {b - a for a, b in zip(places.ends, places.ends[1:], strict=False)} == {step}
    assert places.ends[0] == values[0]


@given(numbers, st.integers(2, 12), st.data())
def test_the_distance_of_values_is_that_of_their_places(
    values: list[int],
    bins: int,
    data: st.DataObject,
) -> None:
    places = places_of("pay", [str(value) for value in values], EvenPlaces(equal_width=bins))
    size = st.integers(0, 5)
    part = np.array(
        data.draw(st.lists(size, min_size=len(values), max_size=len(values)).filter(any)),
    )
    table = part + np.array(data.draw(st.lists(size, min_size=len(values), max_size=len(values))))
    by_value = OrderedDistance(table, places.of_value)
    by_place = OrderedDistance(places.counts(table))
    assert reached(by_value, part) == reached(by_place, places.counts(part))


def reached(distance: OrderedDistance, part: IntArray) -> Fraction:
    numerator = int(distance.numerators(Histograms.dense(part[None, :]))[0])
    return Fraction(numerator, distance.scale * int(distance.table.sum()) * int(part.sum()))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([None, "1", "9"], [0, 1, 2]),
        (["1", "9", None], [0, 1, 2]),
        (["7"], [0]),
        ([None], [0]),
        (["7", None], [0, 1]),
    ],
)
def test_missing_values_are_before_or_after_the_numbers(
    values: list[str | None],
    expected: list[int],
) -> None:
    assert places_of("pay", values, EvenPlaces(equal_width=2)).of_value.tolist() == expected


@pytest.mark.parametrize(
    ("values", "settings", "message"),
    [
        (["low", "high"], {"equal_width": 2}, "no numbers"),
        (["0", "1"], {"step": "0.00001"}, "100,001 places"),
    ],
)
def test_what_has_no_places_is_an_error(
    values: list[str],
    settings: dict[str, object],
    message: str,
) -> None:
    with pytest.raises(InputError, match=message):
        places_of("pay", values, EvenPlaces.model_validate(settings))
