"""Trials that break runs on purpose; `make chaos` runs them. They take an hour, so plain pytest
ignores them.

CHAOS_TRIALS scales the number of trials (1: those of docs/how-it-is-tested.md), CHAOS_SEED draws
other ones.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from broken_runs import Command, published, write_crowd
from tried import record

SCALE, SEED = float(os.environ.get("CHAOS_TRIALS", "1")), os.environ.get("CHAOS_SEED", "2026")


class Trials:
    """Counts the trials of a test and those that ended well."""

    def __init__(self, name: str) -> None:
        self.name, self.tried, self.passed = name, 0, 0
        self.draw = random.Random(f"{SEED} {name}")
        self.failures: list[str] = []

    def __call__(self, most: int) -> Iterator[int]:
        """The numbers of about `most` trials, scaled by CHAOS_TRIALS. A trial passes if its body
        ends.
        """
        for number in range(max(1, round(most * SCALE))):
            self.tried += 1
            yield number

    def is_none(self) -> None:
        """Does not count the current trial: nothing was broken in it."""
        self.tried -= 1

    def well(self, ends: bool, why: str) -> None:
        """Counts the current trial. Writes the figures so far if TCLOSE_RECORD is set: a session
        may be interrupted.
        why: what went wrong if it does not end well.
        """
        self.passed += ends
        if not ends:
            self.failures.append(f"trial {self.tried}: {why}")
        if "TCLOSE_RECORD" in os.environ:
            record("faults", self.name, self.tried, self.passed)


@pytest.fixture
def trials(request: pytest.FixtureRequest) -> Iterator[Trials]:
    """See `Trials`. The test fails if a trial does, or if nothing was broken in any."""
    counted = Trials(
        request.node.name.removeprefix("test_").replace("_", " ").replace("[", ": ").rstrip("]"),
    )
    yield counted
    assert not counted.failures, "\n".join(counted.failures)
    assert counted.tried > 0, "nothing was broken in any trial"


@pytest.fixture(scope="session")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of 20,000 people in four files, and of run files, one for each of METHODS."""
    folder = tmp_path_factory.mktemp("crowd")
    write_crowd(folder, 20_000)
    return folder


class Undisturbed(dict[str, str]):
    """The fingerprint of the release that an undisturbed run makes, by method; made when it is
    needed first.
    """

    def __init__(self, crowd: Path, folder: Path) -> None:
        super().__init__()
        self.crowd, self.folder = crowd, folder

    def __missing__(self, method: str) -> str:
        done = Command(self.crowd / f"{method}.yaml", self.folder / method, "local").run()
        assert done.returncode == 0, done.stderr
        made = published(self.folder / method)
        assert made not in self.values(), "the release does not depend on the method"
        return self.setdefault(method, made)


@pytest.fixture(scope="session")
def fingerprints(crowd: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """See `Undisturbed`."""
    return Undisturbed(crowd, tmp_path_factory.mktemp("undisturbed"))
