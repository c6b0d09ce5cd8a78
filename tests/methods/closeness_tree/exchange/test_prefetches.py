"""What is prefetched is what a walk along an order reaches some places later."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from strategies import make_problem, town

from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.closeness_tree.exchange import prefetching
from tclose_spark.methods.closeness_tree.exchange.changes import count_all
from tclose_spark.methods.closeness_tree.exchange.partition import make_partition, make_table
from tclose_spark.methods.closeness_tree.exchange.prefetching import CLASS_AHEAD, ROW_AHEAD


@pytest.mark.parametrize("rows", [2, CLASS_AHEAD, ROW_AHEAD, ROW_AHEAD + 1, 150])
def test_rows_and_classes_are_fetched_before_the_walk_reaches_them(
    monkeypatch: pytest.MonkeyPatch,
    rows: int,
) -> None:
    problem, _ = make_problem(town(rows), {"disease": {}}, k=2)
    block, _ = Dense(problem.attributes, 2).block(problem.sample)
    table = make_table(block)
    partition = make_partition(table, np.arange(rows) // 4, 1)
    count_all(table, partition)
    order = np.random.default_rng(1).permutation(rows).astype(np.int32)
    fetched: list[tuple[Any, int]] = []
    monkeypatch.setattr(prefetching, "prefetch", lambda array, at: fetched.append((array, at)))
    named = {id(array): name for of in (table, partition) for name, array in of._asdict().items()}
    boxes: Any = prefetching.prefetch_boxes
    figures: Any = prefetching.prefetch_figures
    for at in range(rows):
        boxes.py_func(table, partition, order, at)
        figures.py_func(partition, order, at)
        of_rows = {"of", "cell", "packed"}
        found = {(named[id(array)], int(place)) for array, place in fetched}
        assert all(0 <= place < len(array) for array, place in fetched)
        row = {(name, place) for name, place in found if name in of_rows}
        of_class = found - row
        if at + ROW_AHEAD < rows:
            assert row == {(name, order[at + ROW_AHEAD]) for name in of_rows}
            assert {name for name, _ in of_class} > {"packed_low", "packed_high"}
        else:
            assert not row
            assert not {name for name, _ in of_class} & {"packed_low", "packed_high"}
        if at + CLASS_AHEAD < rows:
            assert {place for _, place in of_class} == {partition.of[order[at + CLASS_AHEAD]]}
        else:
            assert not of_class
        fetched.clear()
