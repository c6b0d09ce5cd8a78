"""Releases that the tests of docs/promise.md and docs/limits.md look at, as those look who may read
all of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from people import read

from tclose_spark import pipeline

ROWS = 3000


def skewed(rows: int = ROWS) -> pd.DataFrame:
    """Ten zips; in A .6 have flu, elsewhere .15."""
    draw = np.random.default_rng(1)
    zips = draw.integers(10, size=rows)
    flu = draw.random(rows) < np.where(zips == 0, 0.6, 0.15)
    others = np.array(["gout", "ulcer", "cold", "asthma"])[draw.integers(4, size=rows)]
    return pd.DataFrame(
        {"zip": [f"zip {chr(65 + z)}" for z in zips], "disease": np.where(flu, "flu", others)},
    )


class Finished:
    """A finished release: its rows, its certificate, what the run printed, and what is kept
    inside.
    """

    def __init__(self, folder: Path, said: list[str]) -> None:
        self.folder, self.said = folder, said
        self.rows = read(folder / "public/release")
        self.certificate: dict[str, Any] = json.loads(
            (folder / "public/certificate.json").read_text(),
        )
        self.measured: dict[str, Any] = json.loads(
            (folder / "internal/minimality.json").read_text(),
        )


MakeRelease = Callable[..., Finished]


@pytest.fixture(scope="module")
def make_finished(
    write_run: Callable[..., Path],
    open_run: Callable[..., Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> MakeRelease:
    """`make_finished(table, quasi=.., method=..)`: a release with t = .1 for `disease` and k = 5,
    unless given.
    """

    def release(table: pd.DataFrame, **given: Any) -> Finished:
        settings = {"sensitive": {"disease": {"t": "0.1"}}, "k": 5, **given}
        path = write_run(tmp_path_factory.mktemp("made"), pa.Table.from_pandas(table), **settings)
        run, said = open_run(path), list[str]()
        run.announce = said.append
        pipeline.release(run)
        return Finished(path.parent / "out", said)

    return release
