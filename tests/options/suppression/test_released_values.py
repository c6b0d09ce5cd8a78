"""What tasks note of released rows, and where labels then end; in memory, but for what Spark adds
up.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tclose_spark.engine.spark.tables import spark_schema
from tclose_spark.methods.method import ClassAssignment
from tclose_spark.options.suppression import released_values
from tclose_spark.options.suppression.released_values import PublicNames, note_values, read_values
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.domains import QuasiDomain
from tclose_spark.table.labels import MISSING, NumericLabels
from tclose_spark.table.rows import Rows

WIDTH = 100


def settled_rows(codes: IntArray) -> tuple[Rows, ClassAssignment]:
    """Rows of one number, labelled by the interval of WIDTH numbers that has theirs; missing ones
    by themselves.
    """
    n, missing = len(codes), codes == MISSING
    low = np.where(missing, MISSING, codes // WIDTH * WIDTH)
    regions = np.stack([low, np.where(missing, MISSING, low + WIDTH - 1)])[:, None]
    rows = Rows((codes,), np.zeros(n, dtype=np.int64), np.arange(n).astype(np.uint64))
    return rows, ClassAssignment(
        here=np.arange(n),
        classes=np.zeros(n, dtype=np.int64),
        regions=regions,
    )


def attributes_of(labeller: NumericLabels) -> Any:
    domain = QuasiDomain(name="age", kind="integer", missing=0, low=0, high=10**6)
    quasi = SimpleNamespace(name="age", domain=domain, labeller=labeller, hierarchy=None)
    return SimpleNamespace(
        quasi_identifiers=(quasi,),
        sensitive=(),
        cells=np.zeros((1, 0), dtype=np.int64),
    )


PLAIN = attributes_of(NumericLabels(integral=True))


def noted(rows: Rows, settled: ClassAssignment) -> IntArray:
    return np.stack([column.to_numpy() for column in note_values(rows, settled, PLAIN).columns])[1:]


def names_of(ends: IntArray, attributes: Any, monkeypatch: pytest.MonkeyPatch) -> PublicNames:
    monkeypatch.setattr(released_values, "built_columns", lambda _: {})
    return PublicNames.of(SimpleNamespace(attributes=None, privacy=None), attributes, {0: ends})


def test_numbers_are_noted_by_region_not_by_value() -> None:
    rows, settled = settled_rows(np.random.default_rng(1).permutation(20_000))
    assert note_values(rows, settled, PLAIN).num_rows == 20_000 // WIDTH
    alone = ClassAssignment(
        here=settled.here,
        classes=settled.classes,
        regions=np.stack([rows.quasi[0]] * 2)[:, None],
    )
    assert note_values(rows, alone, PLAIN).num_rows == 0  # labels of one value need no other ends


@settings(max_examples=100)
@given(st.lists(st.integers(-500, 500) | st.just(int(MISSING)), min_size=1, max_size=60), st.data())
def test_regions_end_at_the_released_values_in_them(codes: list[int], data: st.DataObject) -> None:
    rows, settled = settled_rows(np.array(codes))
    some = st.lists(st.sampled_from(range(len(codes))), min_size=1, unique=True)
    place = np.array(data.draw(some))  # in the order of classes, not of rows
    names = PublicNames(
        quasi=(),
        ends={0: noted(rows, settled.restricted(place))},
        hierarchies={},
        differs=True,
    )
    shrunk = names.shrink(settled.restricted(place))
    assert shrunk.regions is not None
    for row, (low, high) in zip(shrunk.here.tolist(), shrunk.regions[:, 0].T.tolist(), strict=True):
        alike = [codes[i] for i in place if codes[i] // WIDTH == codes[row] // WIDTH]
        assert (low, high) == (min(alike), max(alike))


def test_what_tasks_note_is_added_up_by_spark(spark: SparkSession) -> None:
    """Classes of several tasks have one label."""
    codes = np.array([110, 120, 205, 190, 105, 270, 199])
    parts = []
    for some in (codes[:3], codes[3:]):
        table = note_values(*settled_rows(some), PLAIN)
        parts += list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    found = read_values(spark.createDataFrame(parts, spark_schema(released_values.VALUES_SCHEMA)))
    assert {place: ends.tolist() for place, ends in found.items()} == {
        0: [[100, 200], [199, 299], [105, 205], [199, 270]],
    }


@pytest.mark.parametrize(
    ("ends", "step", "differs"),
    [
        ([[10], [19], [10], [19]], None, False),
        ([[10], [19], [11], [19]], None, True),
        ([[10], [19], [10], [18]], None, True),
        ([[11], [19], [12], [18]], 10, False),  # the ends are rounded to 10 and 20
        ([[MISSING], [19], [MISSING], [18]], None, False),  # the label is `*`
    ],
)
def test_a_release_is_written_again_only_where_a_label_differs(
    ends: list[list[int]],
    step: int | None,
    differs: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    labeller = NumericLabels(integral=True, round_to=None if step is None else Fraction(step))
    assert names_of(np.array(ends), attributes_of(labeller), monkeypatch).differs is differs
