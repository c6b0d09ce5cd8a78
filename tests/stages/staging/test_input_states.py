"""The recorded state of the input is that of the commit that the run reads, whatever was committed
meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from tclose_spark.io.input.states import Commit
from tclose_spark.io.run import Run
from tclose_spark.stages.staging.resuming import state_of_inputs


def test_the_state_is_that_of_the_commit_that_is_read(make_run: Callable[..., Run]) -> None:
    table = pa.table({"age": list(range(20)), "disease": ["flu", "gout"] * 10})
    run = make_run(
        table,
        quasi={"age": {"type": "numeric"}},
        sensitive={"disease": {"t": "0.5"}},
        k=4,
    )
    read = Commit(version=3, time="2026-01-01T00:00:00Z")
    assert state_of_inputs(run, read) == read.state
    assert state_of_inputs(run, None) not in (None, read.state)  # of its files
