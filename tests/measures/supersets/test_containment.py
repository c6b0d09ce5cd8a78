"""The index of boxes adds up exactly what lies in a box."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.measures.supersets.boxes import FAN, BoxIndex


@drawn(100)
@given(
    st.integers(1, 4),
    st.integers(1, FAN**2 + 9),
    st.integers(1, 40),
    st.integers(1, 9),
    st.integers(0, 2**32),
)
def test_sums_are_of_the_boxes_inside_and_no_others(axes, boxes, ends, wide, seed):
    draw = np.random.default_rng(seed)
    low, high = np.sort(draw.integers(-1, ends, (2, axes, boxes)), axis=0)
    first, last = np.sort(draw.integers(-1, ends, (2, axes, wide)), axis=0)
    values = draw.integers(0, 100, (boxes, 2))
    index = BoxIndex.of(low, high)
    found = index.inside(first, last).sums(index.prefix(values), wide)
    inside = (low[:, None] >= first[:, :, None]).all(axis=0) & (
        high[:, None] <= last[:, :, None]
    ).all(axis=0)
    assert found.tolist() == (inside.astype(np.int64) @ values).tolist()


@pytest.mark.parametrize("boxes", [FAN, FAN + 1, FAN**2, FAN**2 + 1, FAN**3 + 5])
def test_all_boxes_lie_in_everything(boxes):
    ends = np.arange(boxes)[None]
    index = BoxIndex.of(ends, ends)
    sizes = np.ones(boxes, dtype=np.int64)
    everything = index.inside(np.array([[-1]]), np.array([[boxes]]))
    assert everything.sums(index.prefix(sizes), 1).tolist() == [boxes]
    assert len(everything.of) <= FAN
