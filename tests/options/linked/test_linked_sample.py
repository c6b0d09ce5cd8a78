"""Rows beside what is published of them: what tasks send is put together whatever their order, and
stays bounded.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tclose_spark.options.linked import maker
from tclose_spark.options.linked.maker import LinkedSample, read_linked_rows
from tclose_spark.table.domains import Profile, QuasiDomain, SensitiveDomain
from tclose_spark.table.rows import Rows


class Sent:
    """An accumulator in one process."""

    def __init__(self) -> None:
        self.value: list[bytes] = []

    def add(self, more: list[bytes]) -> None:
        self.value = [*more, *self.value]


SPARK: Any = SimpleNamespace(sparkContext=SimpleNamespace(accumulator=lambda *_: Sent()))


def profile(rows: int, distinct: int) -> Profile:
    return Profile(
        rows=rows,
        quasi=(QuasiDomain(name="age", kind="integer", missing=0, low=0, high=99),),
        sensitive=(SensitiveDomain("disease", ("flu", "gout"), (rows - 1, 1)),),
        cells=((0,), (1,)),
        cell_counts=(rows - 1, 1),
        distinct_rows=distinct,
        fingerprint="f-0",
        version=None,
        repeated=(),
    )


def rows(hashes: list[int]) -> Rows:
    made = np.array(hashes, dtype=np.uint64)
    return Rows((made.astype(np.int64) % 100,), (made % np.uint64(2)).astype(np.int64), made)


def labels(of: Rows) -> list[pa.Array]:
    return [pa.array([f"[{age}, {age + 5}]" for age in of.quasi[0].tolist()]).dictionary_encode()]


def test_of_a_small_table_all_rows_come_with_their_labels():
    sample, parts = LinkedSample(SPARK, profile(5, 5), 2), (rows([7, 3]), rows([5, 1]))
    for part in parts:
        sample.add(part, labels(part), 1)
    sample.add(rows([9]), None, 1)
    found = read_linked_rows(sample.to_json(), profile(5, 5))
    assert found is not None
    assert found.rows.hash.tolist() == [1, 3, 5, 7]
    assert found.labels[0].to_pylist() == ["[1, 6]", "[3, 8]", "[5, 10]", "[7, 12]"]
    assert found.suppressed.quasi[0].tolist() == [9]
    assert found.whole == 5


def test_the_order_of_tasks_does_not_matter():
    one, other = LinkedSample(SPARK, profile(4, 4), 2), LinkedSample(SPARK, profile(4, 4), 2)
    parts = (rows([7, 3]), rows([5, 1]))
    for part in parts:
        one.add(part, labels(part), 1)
    for part in reversed(parts):
        other.add(part, labels(part), 1)
    assert one.to_json() == other.to_json()


def test_rows_that_are_alike_are_counted_and_neither_crowd_the_sample(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(maker, "SAMPLE_ROWS", 10)
    many, few = profile(1000, 2), rows([2] * 900 + [5] * 100)
    sample = LinkedSample(SPARK, many, 1)
    sample.add(few, labels(few), 1)
    assert len(sample.to_json()) < 3000
    found = read_linked_rows(sample.to_json(), many)
    assert found is not None
    assert found.rows.hash.tolist() == [2] * 9 + [5]


def test_a_large_table_is_sampled_by_its_hashes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(maker, "SAMPLE_ROWS", 50)
    drawn = np.random.default_rng(1).integers(0, 2**62, 5000).tolist()
    sample, whole = LinkedSample(SPARK, profile(5000, 5000), 1), rows(drawn)
    sample.add(whole, labels(whole), 1)
    found = read_linked_rows(sample.to_json(), profile(5000, 5000))
    assert found is not None
    assert 20 < len(found.rows) <= 50
    assert set(found.rows.hash.tolist()) < set(drawn)


def test_without_a_context_nothing_is_drawn():
    sample = LinkedSample(SimpleNamespace(), profile(5, 5), 1)  # type: ignore[arg-type]
    sample.add(rows([1]), labels(rows([1])), 1)
    assert read_linked_rows(sample.to_json(), profile(5, 5)) is None
