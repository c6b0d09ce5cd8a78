"""Drawn tables, methods, formats and options give one release on both engines: the same rows,
certificate and verdict, or the same refusal. Each engine is the other's test.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession
from test_fingerprints import (
    BOUNDS,
    EQUAL,
    LISTED,
    NESTED,
    NUMBERS,
    ORDERED,
    dealt,
    fragments,
    people,
    tree,
)

from tclose_spark import pipeline
from tclose_spark.errors import TcloseError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run
from tclose_spark.runfile.loading import load_spec

QUICK = 6
DRAWN = 200
METHODS: list[dict[str, Any]] = [
    tree("fast"),
    tree("balanced"),
    {"name": "closeness_tree", "effort": "fast", "overlap": "none"},
    dealt(),
    dealt(deal="round_robin"),
    dealt(deal="layered"),
    fragments(),
    fragments(sizing="measured"),
    {"name": "t_mondrian"},
    {"name": "t_incognito"},
    {"name": "microaggregation"},
    {"name": "microaggregation", "representative": "mean", "digits": 1},
    {"name": "sabre"},
]
QUASI: list[dict[str, Any]] = [
    *({name: settings} for name, settings in {**NUMBERS, **BOUNDS}.items()),
    {"visits": {"type": "numeric"}},
    {"sex": {}},
    {"city": {"hierarchy": "cities.csv"}},
    {"site": {"generalization": "set"}},
]
SENSITIVE: list[dict[str, Any]] = [
    EQUAL,
    ORDERED,
    NESTED,
    LISTED,
    {"disease": {"t": "0.4", "l": {"distinct": 2}}},
]


def draw_run(seed: int, folder: Path, write_run: Callable[..., Path]) -> Path:
    """A run file and its table in one of the formats, beside a hierarchy."""
    draw = np.random.default_rng(seed)

    def pick(values: list[Any], most: int = 1) -> list[Any]:
        return [values[i] for i in draw.permutation(len(values))[: draw.integers(1, most + 1)]]

    (method,), (kind,), (n,) = (
        pick(METHODS),
        pick(["csv", "parquet", "delta"]),
        pick([60, 150, 400]),
    )
    quasi = {name: settings for one in pick(QUASI, 4) for name, settings in one.items()}
    sensitive = {name: settings for one in pick(SENSITIVE, 2) for name, settings in one.items()}
    if method.get("representative") == "mean":
        quasi = {
            name: {"type": "numeric"} if "type" in settings else settings
            for name, settings in quasi.items()
        }
    table = people(n)
    privacy: dict[str, Any] = pick(
        [{}, {}, {"suppression_limit": "0.1"}, {"suppression_limit": "0.1", "of": "input"}],
    )[0]
    path = write_run(
        folder,
        None,
        quasi=quasi,
        sensitive=sensitive,
        k=int(draw.integers(2, 8)),
        method=method,
        privacy=privacy,
        source={
            "path": f"people.{kind}",
            "format": kind,
            **({"options": {"header": "true"}} if kind == "csv" else {}),
        },
        output={"keep_linked": bool(draw.integers(2)), "export": pick(["csv", "parquet"], 2)},
        insensitive_attributes=pick([[], ["region"]])[0],
        drop_others=True,
    )
    if kind == "csv":
        pc.write_csv(table, folder / "people.csv")
    elif kind == "parquet":
        pq.write_table(table, folder / "people.parquet", row_group_size=50)
    else:
        write_deltalake(folder / "people.delta", pa.Table.from_batches(table.to_batches()))
    return path


def outcome(path: Path, session: Any) -> Any:
    """The certificate without its time, or the refusal."""
    try:
        found = pipeline.release(Run(load_spec(path), session, lambda line: None, overwrite=True))
    except TcloseError as error:
        return type(error), str(error)
    return {key: part for key, part in found.items() if key not in ("issued", "tool")}


@pytest.mark.parametrize(
    "seed",
    [pytest.param(i, marks=[] if i < QUICK else pytest.mark.slow) for i in range(DRAWN)],
)
def test_both_engines_make_one_release(
    seed: int,
    spark: SparkSession,
    write_run: Callable[..., Path],
    tmp_path: Path,
) -> None:
    path = draw_run(seed, tmp_path, write_run)
    assert outcome(path, LocalSession()) == outcome(path, spark)
