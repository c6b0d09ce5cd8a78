"""Groups of boxes that overlap."""

import numpy as np
import pytest

from tclose_spark.measures.supersets.boxes import overlapping_groups


def test_groups_do_not_depend_on_how_many_pairs_are_compared_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = np.random.default_rng(5)
    low = draw.integers(0, 150, (400, 2))
    ends = low + draw.integers(0, 9, (400, 2))
    given = (low, ends, np.arange(400), draw.integers(0, 3, 400))
    whole = overlapping_groups(*given)
    assert 2 < len(np.unique(whole)) < 350
    monkeypatch.setattr("tclose_spark.measures.supersets.boxes.PAIRS_AT_ONCE", 1)
    parts = overlapping_groups(*given)
    assert (
        len({*zip(whole.tolist(), parts.tolist(), strict=True)})
        == len(np.unique(whole))
        == len(np.unique(parts))
    )
