"""Tries a random sample of mutants, each of which should fail a test. `make mutants` continues
where it was stopped.

MUTANTS is the size of the sample, SEED draws it. The results are in build/mutants. Survivors have a
reason in `harmless.yaml`, or are holes of the tests.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib.util import cache_from_source
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from covering_tests import OPTIONS, TESTS, choose, file_of, observe
from mutations import ROOT, Mutant, hashed, sample
from survivors import report

STATE = ROOT / "build/mutants"
LEFT_OUT = shutil.ignore_patterns(".*", "build", "__pycache__")

HEAVY = [
    "deltalake",
    "great_expectations",
    "hypothesis",
    "numba",
    "pandas",
    "pyspark.sql",
    "scipy",
]
"""What all processes of tests import, so each need not."""

MOST_MEMORY = 8 << 30
"""Bytes of a process of tests: an endless loop may fill a list."""

CONTROL = 20
"""After so many mutants, the module as it is has to pass its tests."""


def main() -> int:
    os.environ.setdefault("TCLOSE_DATA", str(ROOT.parent / "shared/data"))
    STATE.mkdir(parents=True, exist_ok=True)
    for name in HEAVY:
        importlib.import_module(name)
    tried = STATE / "tried.json"
    files: dict[str, Any] = {}
    for part in TESTS:
        print("runs tests with the modules as they are:", part, flush=True)
        lines = STATE / f"lines-{part.replace('/', '-')}.json"
        ended = in_child(partial(observe, part, lines), ROOT, lines.with_suffix(".log"))
        assert ended == 0, lines.with_suffix(".log")
        files |= json.loads(lines.read_text())
    copies: Queue[Path] = Queue()
    for worker in range(int(os.environ["WORKERS"])):
        shutil.rmtree(STATE / f"copy-{worker}", ignore_errors=True)
        copies.put(Path(shutil.copytree(ROOT, STATE / f"copy-{worker}", ignore=LEFT_OUT)))
    known = json.loads(tried.read_text()) if tried.exists() else {}
    mutants = sample(int(os.environ["MUTANTS"]), int(os.environ["SEED"]), STATE)

    def try_it(place: int, mutant: Mutant) -> None:
        tests = choose(files, mutant)
        version = hashed(
            "".join(sorted({files[file_of(test)]["hash"] for test in tests} | tests.keys())),
        )
        before = known.get(mutant.key)
        if before and (not before["survived"] or before["version"] == version):
            return
        copy = copies.get()
        if place % CONTROL == 0:
            assert outcome(copy, mutant, tests, (ROOT / mutant.path).read_text()) == 0, (
                copy.with_suffix(".log")
            )
        ended = outcome(copy, mutant, tests, mutant.code)
        copies.put(copy)
        facts = {name: getattr(mutant, name) for name in ("path", "line", "before", "after")}
        known[mutant.key] = {
            **facts,
            "survived": ended == 0,
            "ended": ended,
            "tests": len(tests),
            "version": version,
        }
        tried.write_text(json.dumps(dict(known), indent=1))
        print(place, mutant.path, mutant.line, "killed" if ended else "SURVIVED", flush=True)

    with ThreadPoolExecutor(copies.qsize()) as pool:
        for done in [pool.submit(try_it, place, mutant) for place, mutant in enumerate(mutants)]:
            done.result()
    return report([known[mutant.key] for mutant in mutants])


def outcome(copy: Path, mutant: Mutant, tests: Mapping[str, float], code: str) -> int:
    """How the tests end in a copy of the repository with this code of the mutant's module: 0 if all
    pass.
    """
    if not tests:
        return 0
    _write(copy / mutant.path, code)
    ended = in_child(
        lambda: run(tests),
        copy,
        copy.with_suffix(".log"),
        seconds=30 + 3 * sum(tests.values()),
    )
    _write(copy / mutant.path, (ROOT / mutant.path).read_text())
    assert ended != pytest.ExitCode.NO_TESTS_COLLECTED, tests
    return ended


def _write(module: Path, code: str) -> None:
    """Writes a module, and removes its compiled form: one of the same second and length would be
    used.
    """
    module.write_text(code)
    Path(cache_from_source(str(module))).unlink(missing_ok=True)


def run(tests: Mapping[str, float]) -> int:
    """Runs tests in their order until one fails, the first file by itself; how pytest ended."""
    files = list(dict.fromkeys(map(file_of, tests)))
    options = [*OPTIONS, "-x", "--tb=line", "-p", "no:xdist"]
    for some in (files[:1], files[1:]):
        if some and (ended := pytest.main([*options, *some], plugins=[InOrder(tests)])):
            return int(ended)
    return 0


class InOrder:
    """A plugin of pytest that runs only these tests, in their order."""

    def __init__(self, tests: Mapping[str, Any]) -> None:
        self._place = {test: place for place, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (one for one in items if one.nodeid in self._place),
            key=lambda one: self._place[one.nodeid],
        )


def in_child(work: Callable[[], int], folder: Path, log: Path, seconds: float | None = None) -> int:
    """How `work` ended in a process of its own, with the package of `folder`: its result, below 0
    after a signal.

    seconds: of the processor, before it is ended; also after ten times as long, or with more than
        MOST_MEMORY.
    """
    child = os.fork()
    if child == 0:
        os.setsid()
        with log.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        os.chdir(folder)
        sys.path[:0] = [str(folder)]
        os.environ["PYTHONPATH"] = str(folder)
        if seconds is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
            resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
            signal.alarm(int(10 * seconds))
        code = work()
        sys.stdout.flush()
        os._exit(code)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    return ended


if __name__ == "__main__":
    sys.exit(main())
