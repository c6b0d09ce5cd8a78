"""How the tests of docs/promise.md make releases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from promise_releases import Finished, MakeRelease

from tclose_spark import pipeline


@pytest.fixture(scope="module")
def make(
    write_run: Callable[..., Path], open_run: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> MakeRelease:
    """`make(table, quasi=.., method=..)`: a release with t = .1 for `disease` and k = 5, unless told otherwise."""

    def release(table: pd.DataFrame, **given: Any) -> Finished:
        settings = {"sensitive": {"disease": {"t": "0.1"}}, "k": 5, **given}
        path = write_run(tmp_path_factory.mktemp("made"), pa.Table.from_pandas(table), **settings)
        run, said = open_run(path), list[str]()
        run.announce = said.append
        pipeline.release(run)
        return Finished(path.parent / "out", said)

    return release
