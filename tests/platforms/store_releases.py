"""Releases of one table from and to object stores: what the tests of stores share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

import deltalake
import pyarrow.csv as csv
import pyarrow.parquet as pq
from conftest import draw_people, undated, write_run_file
from served_stores import INSIDE, RAW, RELEASES, ROOT, ServedStore

from tclose_spark.io.storage.lock import is_of_lock

ODD = "delta 2, \u00e9=+"
"""A folder whose name has signs that URIs quote."""
KILLED = """
import os, signal, sys
from tclose_spark import cli
from tclose_spark.io.storage.folders import ArrowFolder
from tclose_spark.io.storage.hadoop import HadoopFolder

def ending(move):
    def moved(self, source, name):
        move(self, source, name)
        os.kill(os.getpid(), signal.SIGKILL)
    return moved

for folder in (ArrowFolder, HadoopFolder):
    folder._move_file = ending(folder._move_file)
cli.main(sys.argv[1:])
"""
"""A command that is killed when it has published one object."""

Certificates = Mapping[str, dict[str, Any]]
"""Without their dates, by the format of the input."""
Command = Callable[..., str]
"""`tclose(command, ..., code=0)`: what it says, in a process of its own. code: how it ends; None:
in any way. program: what runs in place of the package.
"""


def command_in(environment: Mapping[str, str]) -> Command:
    def run(
        *arguments: object,
        code: int | None = 0,
        program: Sequence[str] = ("-m", "tclose_spark"),
    ) -> str:
        command = [sys.executable, *program, *map(str, arguments)]
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert code is None or done.returncode == code, done.stderr[-3000:]
        return done.stdout + done.stderr

    return run


def sets(**values: str) -> list[str]:
    return [
        part
        for key, value in values.items()
        for part in ("--set", f"{key.replace('__', '.')}={value}")
    ]


def in_two_buckets(store: ServedStore, name: str) -> list[str]:
    """The settings of an output whose public and internal folders are in two buckets."""
    return sets(
        output__path="",
        output__public=store.uri(RELEASES, name),
        output__internal=store.uri(INSIDE, name),
    )


def certificate_in(store: ServedStore, bucket: str, folder: str) -> dict[str, Any]:
    """The certificate of a public folder, without its date."""
    return undated(json.loads(store.get(bucket, f"{folder}/certificate.json")))


def write_people(folder: Path) -> Path:
    """A run file of files on a local disk: the same rows as Parquet, as CSV and as a Delta
    table.
    """
    path = write_run_file(
        folder,
        draw_people(3, 300),
        quasi={
            "age": {"type": "numeric", "round_to": "5"},
            "sex": {"generalization": "set"},
            "city": {"hierarchy": "cities.csv"},
        },
        sensitive={
            "disease": {"t": "0.4"},
            "grade": {"distance": "ordered", "t": "0.4", "l": {"distinct": 2}},
        },
        k=8,
        method={"name": "closeness_tree"},
        insensitive_attributes=["site"],
        drop_others=True,
    )
    people = pq.read_table(path.parent / "people.parquet")
    csv.write_csv(people, path.parent / "people.csv")
    deltalake.write_deltalake(path.parent / "delta", people)
    return path


AS_CSV = sets(input__format="csv", input__options="{header: true}")


def release_locally(run_file: Path) -> Certificates:
    """The certificates of releases of local files, by the format of the input."""
    release = command_in({**os.environ, "PYTHONPATH": str(ROOT)})
    inputs = {
        "parquet": [],
        "csv": [*AS_CSV, *sets(input__path=str(run_file.parent / "people.csv"))],
    }
    for kind, source in inputs.items():
        release(
            "release",
            run_file,
            *source,
            *sets(output__path=str(run_file.parent / f"from_{kind}")),
        )
    made = {
        kind: undated(
            json.loads((run_file.parent / f"from_{kind}/public/certificate.json").read_text()),
        )
        for kind in inputs
    }
    return {
        **made,
        "delta": {**made["parquet"], "input": {**made["parquet"]["input"], "version": 0}},
    }


def inputs_in(store: ServedStore, run_file: Path) -> Mapping[str, list[str]]:
    """Puts the table and its hierarchy into a store; the settings that read them there, by
    format.
    """
    folder = run_file.parent
    people = pq.read_table(folder / "people.parquet")
    for i in range(3):
        pq.write_table(people.slice(100 * i, 100), folder / "part.parquet")
        store.put(RAW, f"people/part-{i}.parquet", (folder / "part.parquet").read_bytes())
    store.put(RAW, "cities.csv", (folder / "cities.csv").read_bytes())
    store.put(RAW, "csv/people.csv", (folder / "people.csv").read_bytes())
    for path in (folder / "delta").rglob("*"):
        if path.is_file():
            for name in ("delta", ODD):
                store.put(RAW, f"{name}/{path.relative_to(folder / 'delta')}", path.read_bytes())
    hierarchy = sets(attributes__quasi_identifiers__city__hierarchy=store.uri(RAW, "cities.csv"))
    return {
        "parquet": [
            *hierarchy,
            *sets(input__path=store.uri(RAW, "people"), input__format="parquet"),
        ],
        "csv": [*AS_CSV, *sets(input__path=store.uri(RAW, "csv/people.csv"))],
        "delta": sets(input__path=store.uri(RAW, "delta"), input__format="delta"),
        "odd delta": sets(input__path=store.uri(RAW, ODD), input__format="delta"),
    }


@dataclass(frozen=True)
class StoredPeople:
    """The table in a store.

    run_file: of its files on a local disk.
    inputs: the settings that read it in the store.
    expected: the certificates of local releases. Both by the format of the input.
    """

    run_file: Path
    inputs: Mapping[str, list[str]]
    expected: Certificates


def put_people(store: ServedStore, folder: Path) -> StoredPeople:
    """Puts the table into a store. folder: of its local files."""
    run_file = write_people(folder)
    return StoredPeople(run_file, inputs_in(store, run_file), release_locally(run_file))


@contextmanager
def watched(store: ServedStore, bucket: str, folder: str) -> Iterator[list[frozenset[str]]]:
    """The objects of a public folder that a reader saw during the body, each time that they had
    changed. It skips locks, and copies that are on their way under another name.
    """
    seen: list[frozenset[str]] = []
    ended = Event()

    def look() -> None:
        while not ended.wait(0.02):
            names = [key.removeprefix(f"{folder}/") for key in store.keys(bucket, folder)]
            found = frozenset(
                name for name in names if not is_of_lock(name) and not name.endswith(".partial")
            )
            if seen[-1:] != [found]:
                seen.append(found)

    reader = Thread(target=look)
    reader.start()
    try:
        yield seen
    finally:
        ended.set()
        reader.join()
