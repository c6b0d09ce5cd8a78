"""The effort of a block whose people are counted follows from its units: people if their rows stay
together, otherwise rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from stays import QUASI, SENSITIVE, stays

from tclose_spark import pipeline
from tclose_spark.methods.closeness_tree import effort as effort_module
from tclose_spark.methods.closeness_tree import people as people_module
from tclose_spark.methods.closeness_tree.classes import put_into_classes
from tclose_spark.methods.closeness_tree.effort import EFFORTS, BlockEffort

PEOPLE = 120
STAYS = stays(5, people=PEOPLE)


@pytest.mark.parametrize(("rows", "units"), [("together", PEOPLE), ("apart", len(STAYS))])
@pytest.mark.parametrize("is_small", [True, False])
def test_units_decide_the_effort_of_a_block(
    monkeypatch: pytest.MonkeyPatch,
    make_run: Callable[..., Any],
    rows: str,
    units: int,
    is_small: bool,
) -> None:
    given: list[tuple[int, BlockEffort]] = []

    def watched(block: Any, growth: Any, effort: BlockEffort) -> Any:
        given.append((len(block.cell), effort))
        return put_into_classes(block, growth, effort)

    monkeypatch.setattr(people_module, "put_into_classes", watched)
    monkeypatch.setattr(effort_module, "SMALL_BLOCK", units if is_small else units - 1)
    run = make_run(
        STAYS,
        quasi=QUASI,
        sensitive={"disease": SENSITIVE["disease"][0]},
        k=4,
        person={"column": "patient", "rows": rows, "placeholders": []},
        method={"name": "closeness_tree", "effort": "balanced"},
        drop_others=True,
    )
    pipeline.release(run)
    balanced = EFFORTS["balanced"]
    assert given == [(units, balanced.small if is_small else balanced.middle)]
