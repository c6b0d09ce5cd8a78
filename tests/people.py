"""A small table and run that many tests share (see the fixtures of the same name in conftest.py),
and how to look at what a run leaves.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import deltalake
import pandas as pd
import pyarrow as pa
from strategies import CITIES

from tclose_spark import pipeline
from tclose_spark.io.run import Run
from tclose_spark.io.storage.folders import LocalFolder
from tclose_spark.io.storage.integrity import digests
from tclose_spark.stages.publish import public_files

ROWS = 48
PEOPLE = pa.table(
    {
        "name": [f"person {i}" for i in range(ROWS)],
        "age": [20 + i * 7 % 31 for i in range(ROWS)],
        "city": [CITIES.leaves[i % 5] for i in range(ROWS)],
        "disease": [["flu", "flu", "gout", "ulcer"][i % 4] for i in range(ROWS)],
        "region": [["north", "south"][i % 2] for i in range(ROWS)],
    },
)
ROLES: dict[str, Any] = {
    "direct_identifiers": ["name"],
    "quasi": {"age": {"type": "numeric"}, "city": {"hierarchy": "cities.csv"}},
    "sensitive": {"disease": {"t": "0.2", "l": {"distinct": 2}}},
    "insensitive_attributes": ["region"],
    "k": 5,
}


def run_stages(run: Run, *stages: str) -> Any:
    return [getattr(pipeline, stage)(run) for stage in stages][-1]


def read(folder: Path) -> pd.DataFrame:
    """A Delta table, without Spark."""
    return deltalake.DeltaTable(str(folder)).to_pyarrow_table().to_pandas()


def tree(folder: Path) -> dict[str, bytes]:
    """All files below a folder with their contents."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def list_again(output: Path) -> None:
    """Writes the SHA-256 of what lies in a finished output into its run.json, as an adversary would
    who changed it.
    """
    path = output / "internal/run.json"
    state = json.loads(path.read_text())
    files = state["stages"]["report"]["files"]
    internal = LocalFolder(str(output / "internal"))
    files["public"] = public_files(LocalFolder(str(output / "public")))
    files["internal"] = digests(
        internal,
        sorted({name.split("/")[0] for name in files["internal"]}),
    )
    path.write_text(json.dumps(state))
