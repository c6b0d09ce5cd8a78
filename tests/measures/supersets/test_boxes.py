"""Whether boxes lie apart: as each pair of them says."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.measures.supersets import boxes as module
from tclose_spark.measures.supersets.boxes import Boxes, find_overlap

MASKS = st.integers(1, 15)


@st.composite
def some_boxes(draw: st.DrawFn) -> Boxes:
    """Up to 12 boxes in 2 dimensions and one of sets; few of them meet."""
    n = draw(st.integers(1, 12))
    ends = np.array(
        [[sorted(draw(st.tuples(*[st.integers(0, 6)] * 2))) for _ in range(n)] for _ in range(2)],
    )
    masks = [draw(MASKS) for _ in range(n)]
    members = np.array(masks, dtype=np.int64)[:, None]
    low = np.array([min(b for b in range(4) if mask >> b & 1) for mask in masks])
    high = np.array([max(b for b in range(4) if mask >> b & 1) for mask in masks])
    return Boxes(np.stack([*ends[:, :, 0], low]), np.stack([*ends[:, :, 1], high]), {2: members})


def points(boxes: Boxes, i: int) -> set[tuple[int, ...]]:
    ranges = [
        range(lo, hi + 1)
        for lo, hi in zip(boxes.low[:2, i].tolist(), boxes.high[:2, i].tolist(), strict=True)
    ]
    mask = int(boxes.sets[2][i, 0])
    return {(x, y, b) for x in ranges[0] for y in ranges[1] for b in range(4) if mask >> b & 1}


@pytest.mark.parametrize("few", [1, 48])
@drawn(200)
@given(some_boxes())
def test_boxes_overlap_if_two_have_a_point_in_common(few, boxes):
    before, module.FEW = module.FEW, few
    try:
        found = find_overlap(boxes)
    finally:
        module.FEW = before
    n = boxes.low.shape[1]
    met = {(i, j) for i, j in combinations(range(n), 2) if points(boxes, i) & points(boxes, j)}
    assert (found is None) == (not met)
    if found is not None:
        assert tuple(sorted(found)) in met


def test_many_boxes_that_lie_apart_are_told_apart_and_one_that_does_not_is_found():
    x, y = (side.reshape(-1) for side in np.meshgrid(np.arange(150), np.arange(100)))
    low = np.stack([3 * x, 5 * y])
    boxes = Boxes(low, low + np.array([[2], [4]]), {})
    assert find_overlap(boxes) is None
    high = boxes.high.copy()
    high[0, 7777] += 1
    assert find_overlap(Boxes(low, high, {})) == (7777, 7778)
