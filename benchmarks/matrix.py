"""How large a multiplicity matrix can be planned: a table of 2,000,000 rows with about 1.2 million
distinct tuples of five attributes.

    python benchmarks/matrix.py METHOD [--rows N] [--t T]

Prints how long profile and plan take, and the most memory that the driver's Python and its JVM had.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from tclose_spark import pipeline
from tclose_spark.errors import TcloseError
from tclose_spark.io.run import Run
from tclose_spark.io.spark.session import get_session
from tclose_spark.runfile.loading import load_spec

DOMAINS = {"industry": 16, "occupation": 24, "hours": 32, "rent": 40, "income": 50}


def write_table(path: Path, rows: int) -> int:
    """Writes the table; how many distinct tuples it has."""
    random = np.random.default_rng(1)
    wealth = random.normal(size=rows)
    columns = {}
    for name, m in DOMAINS.items():
        mixed = 0.6 * wealth + 0.8 * random.normal(size=rows)
        columns[name] = np.clip((mixed + 3) / 6 * m, 0, m - 1).astype(np.int64)
    tuples = np.zeros(rows, dtype=np.int64)
    for name, m in DOMAINS.items():
        tuples = tuples * m + columns[name]
    columns |= {
        "age": random.integers(18, 90, rows),
        "region": random.integers(0, 12, rows),
        "sex": random.integers(0, 2, rows),
    }
    pq.write_table(pa.table(columns), path)
    return len(np.unique(tuples))


def high_water() -> dict[str, float]:
    """The most memory so far, in GiB, of this process and of its JVM."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = dict(
                line.split(":", 1)
                for line in (folder / "status").read_text(encoding="utf-8").splitlines()
            )
        except OSError:  # it has ended
            continue
        mine = folder.name == str(os.getpid())
        if mine or (int(status["PPid"]) == os.getpid() and status["Name"].strip() == "java"):
            found["Python" if mine else "JVM"] = int(status["VmHWM"].split()[0]) / 2**20
    return found


def plan(method: dict, t: float, folder: Path) -> str:
    kinds = {name: "equal" if name in ("industry", "occupation") else "ordered" for name in DOMAINS}
    run = {
        "name": "matrix",
        "input": {"path": str(folder / "people.parquet")},
        "output": {"path": str(folder / "release")},
        "attributes": {
            "quasi_identifiers": {"age": {"type": "numeric"}, "region": {}, "sex": {}},
            "sensitive_attributes": {
                name: {"distance": kind, "t": t} for name, kind in kinds.items()
            },
        },
        "privacy": {"k": 10},
        "method": method,
    }
    file = folder / "run.yaml"
    file.write_text(yaml.safe_dump(run), encoding="utf-8")
    this = Run(
        load_spec(file),
        get_session("benchmark"),
        lambda line: print(f"    {line}", flush=True),
        overwrite=True,
    )
    start = time.perf_counter()
    pipeline.profile(this)
    profiled = time.perf_counter()
    try:
        figures = pipeline.plan(this).figures
        found = ", ".join(f"{name} {figure:,}" for name, figure in figures.items())
    except TcloseError as error:
        found = f"exit {error.exit_code}: {error}"
    done = time.perf_counter()
    memory = ", ".join(f"{name} {gib:.2f} GiB" for name, gib in high_water().items())
    return (
        f"{found}; profile {profiled - start:.0f} s, plan {done - profiled:.0f} s; at most {memory}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("method", choices=["stack_and_deal", "fragmentation", "closeness_tree"])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--t", type=float, default=0.2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tuples = write_table(Path(folder) / "people.parquet", asked.rows)
        print(f"{asked.rows:,} rows, {tuples:,} distinct tuples", flush=True)
        print(f"{asked.method}: {plan({'name': asked.method}, asked.t, Path(folder))}", flush=True)


if __name__ == "__main__":
    main()
