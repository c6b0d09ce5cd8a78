"""Releases of tables of odd shapes, each by the command, from the shell to the end of its last
process.

    python benchmarks/shapes.py [SHAPE ...] [--rows ROWS] [--engine local,spark]

For each shape and engine: the exit code, CPU and wall seconds, CPU microseconds for each value that
the run file names, beside those of the demo's census, and the most memory of one process.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import yaml
from rich.console import Console
from rich.table import Table

from tclose_spark.synthetic.census import HIERARCHIES, generate_people, write_hierarchies

RANDOM = np.random.default_rng(2026)
DISEASE: dict[str, Any] = {"disease": {"distance": "equal", "t": "0.1"}}
FEW = 10  # rows of the smallest table


@dataclass
class Shape:
    """A table and its run file. quasi: None for those of the census. files: of the input."""

    table: pa.Table
    sensitive: dict[str, Any]
    quasi: dict[str, Any] | None = None
    k: int = 10
    method: dict[str, Any] = field(
        default_factory=lambda: {"name": "closeness_tree", "effort": "fast"},
    )
    files: int = 1
    format: str = "parquet"


def census(rows: int) -> pa.Table:
    return pa.Table.from_batches(generate_people(rows)).slice(0, rows)


def texts(numbers: Any, length: int = 0) -> pa.Array:
    return pa.array([f"{number:05}".ljust(length, "x") for number in np.asarray(numbers).tolist()])


def with_sensitive(
    rows: int,
    values: Any,
    settings: dict[str, Any],
    kind: Callable[[Any], pa.Array],
) -> Shape:
    return Shape(census(rows).append_column("value", kind(values)), {"value": settings})


def tree_of(values: int, folder: Path) -> str:
    """A hierarchy of two levels above so many values."""
    file = folder / "values.csv"
    file.write_text("".join(f"{v:05};g{v // 100:04};h{v // 1000:03};*\n" for v in range(values)))
    return str(file)


def shapes(rows: int, folder: Path) -> dict[str, Callable[[], Shape]]:
    """By name, how each is made."""
    near = {"t": "0.3"}

    def mostly_one() -> Shape:
        return with_sensitive(
            rows,
            np.where(RANDOM.random(rows) < 0.9, 0, RANDOM.integers(1, 20, rows)),
            near,
            texts,
        )

    def many_equal() -> Shape:
        return with_sensitive(rows, RANDOM.integers(0, 10_000, rows), {"t": "0.9"}, texts)

    def many_hierarchical() -> Shape:
        settings = {"distance": "hierarchical", "t": "0.4", "hierarchy": tree_of(10_000, folder)}
        return with_sensitive(rows, np.arange(rows) % 10_000, settings, texts)

    def many_ordered() -> Shape:
        settings = {"distance": "ordered", "t": "0.1"}
        return with_sensitive(rows, RANDOM.integers(0, 50_000, rows), settings, pa.array)

    def many_quasi() -> Shape:
        table, names = census(rows), [f"q{place}" for place in range(33)]
        for name in names:
            table = table.append_column(name, texts(RANDOM.integers(0, 6, rows)))
        return Shape(table, DISEASE, {**census_quasi(folder), **{name: {} for name in names}})

    def many_tuples() -> Shape:
        table = census(rows).append_column("fine", pa.array(RANDOM.permutation(rows)))
        return Shape(table, DISEASE, {**census_quasi(folder), "fine": {"type": "numeric"}})

    def many_columns() -> Shape:
        table = census(rows)
        for place in range(790):
            table = table.append_column(f"other{place}", pa.array(RANDOM.integers(0, 100, rows)))
        return Shape(table, DISEASE)

    def long_texts() -> Shape:
        return with_sensitive(
            rows,
            RANDOM.integers(0, 40, rows),
            near,
            lambda values: texts(values, 10_000),
        )

    def all_alike() -> Shape:
        return Shape(pa.concat_tables([census(1)] * rows).combine_chunks(), DISEASE)

    def all_different() -> Shape:
        table = census(rows).append_column("value", pa.array(RANDOM.permutation(rows)))
        return Shape(table, {"value": {"distance": "ordered", "t": "0.1"}})

    return {
        "the demo's census": lambda: Shape(census(rows), DISEASE),
        "one sensitive value with 90 % of the rows": mostly_one,
        "10,000 sensitive values, equal": many_equal,
        "10,000 sensitive values, hierarchical": many_hierarchical,
        "an ordered attribute of 50,000 values": many_ordered,
        "40 quasi-identifiers": many_quasi,
        "a quasi-identifier of its own for each row": many_tuples,
        "800 columns, of which the run file names 8": many_columns,
        "sensitive texts of 10 kB": long_texts,
        "20,000 files": lambda: Shape(census(rows), DISEASE, files=20_000),
        "one CSV file": lambda: Shape(census(rows), DISEASE, format="csv"),
        "all rows alike": all_alike,
        "all rows different, with an ordered value of its own": all_different,
        "k of half the rows": lambda: Shape(census(rows), DISEASE, k=rows // 2),
        "ten rows, thorough": lambda: Shape(
            census(FEW),
            {"disease": {"t": "0.7"}},
            k=2,
            method={"name": "closeness_tree", "effort": "thorough"},
        ),
    }


def census_quasi(folder: Path) -> dict[str, Any]:
    trees = {
        name: {"hierarchy": f"{folder}/hierarchies/{name}.csv"}
        for name in HIERARCHIES
        if name != "disease"
    }
    return {"age": {"type": "numeric"}, "sex": {}, **trees, "hours": {"type": "numeric"}}


def write(shape: Shape, folder: Path) -> Path:
    """Writes the input and its run file; returns the latter."""
    data = folder / "input"
    data.mkdir()
    size = -(-len(shape.table) // shape.files)
    for number in range(shape.files):
        part = shape.table.slice(number * size, size)
        if shape.format == "csv":
            csv.write_csv(part, data / f"{number:05}.csv")
        elif len(part):
            pq.write_table(part, data / f"{number:05}.parquet")
    options = (
        {"options": {"header": "true", "inferSchema": "true"}} if shape.format == "csv" else {}
    )
    quasi = shape.quasi or census_quasi(folder.parent)
    tree = {
        "name": "shape",
        "input": {"path": str(data), "format": shape.format, **options},
        "output": {"path": str(folder / "output")},
        "attributes": {
            "quasi_identifiers": quasi,
            "sensitive_attributes": shape.sensitive,
            "drop_others": True,
        },
        "privacy": {"k": shape.k},
        "method": shape.method,
    }
    run = folder / "run.yaml"
    run.write_text(yaml.safe_dump(tree))
    return run


def released(run: Path, engine: str) -> tuple[int, float, float, float]:
    """(exit code, CPU seconds, wall seconds, GiB of the largest process) of a command and its
    processes.
    """
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    watched = "import resource, subprocess, sys; code = subprocess.run(sys.argv[1:]).returncode; "
    watched += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(code)"
    command = [sys.executable, "-m", "tclose_spark", "release", str(run), "--engine", engine]
    with (run.parent / f"{engine}.log").open("w") as log:
        done = subprocess.run(
            [sys.executable, "-c", watched, *command],
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    last = (run.parent / f"{engine}.log").read_text().rstrip().rsplit("\n", 1)[-1]
    return done.returncode, cpu, time.monotonic() - start, int(last) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shapes", nargs="*")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--engine", default="local,spark")
    given = parser.parse_args()
    os.environ["TCLOSE_SECRET"] = "the same classes in every run"
    console = Console(width=150, highlight=False)
    shown = Table(
        "shape",
        "engine",
        "exit",
        "CPU s",
        "wall s",
        "us a value",
        "of the demo's",
        "GiB",
    )
    of_demo: dict[str, float] = {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("TCLOSE_BENCH_FOLDER")) as name:
        root = Path(name)
        write_hierarchies(root / "hierarchies")
        for number, (title, make) in enumerate(shapes(given.rows, root).items()):
            if given.shapes and title not in given.shapes and number:
                continue
            folder = root / str(number)
            folder.mkdir()
            shape = make()
            run, values = (
                write(shape, folder),
                len(shape.table) * len({**(shape.quasi or census_quasi(root)), "s": 0}),
            )
            for engine in given.engine.split(","):
                code, cpu, wall, memory = released(run, engine)
                each = cpu / values * 1e6
                of_demo.setdefault(engine, each)
                ratio = f"{each / of_demo[engine]:.1f}"
                shown.add_row(
                    title,
                    engine,
                    f"{code}",
                    f"{cpu:.1f}",
                    f"{wall:.1f}",
                    f"{each:.1f}",
                    ratio,
                    f"{memory:.2f}",
                )
                console.print(f"{title}, {engine}: exit {code}, {cpu:.1f} CPU s, {memory:.2f} GiB")
                if code:
                    console.print((folder / f"{engine}.log").read_text()[-600:])
                subprocess.run(["rm", "-rf", str(folder / "output")], check=True)
            subprocess.run(["rm", "-rf", str(folder)], check=True)
    console.print(shown)


if __name__ == "__main__":
    main()
