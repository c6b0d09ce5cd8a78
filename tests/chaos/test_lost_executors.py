"""Executors and Python workers that die change no release."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from broken_runs import LAST_WORDS, METHODS, Command, published, seconds_of, workers_of
from trials import Trials

KILLS = 3
"""In one run: Spark ends an application whose executors all die again and again."""
KILLED_EXECUTORS, KILLED_WORKERS = 51, 15


def killed_now_and_then(executors: bool, trials: Trials, crowd: Path, expected: dict[str, str], folder: Path) -> None:
    seconds = seconds_of(Command(crowd / "closeness_tree.yaml", folder / "timed", "cluster"))
    for run, _ in enumerate(trials(KILLED_EXECUTORS // KILLS if executors else KILLED_WORKERS // KILLS)):
        method = list(METHODS)[run % len(METHODS)]
        command = Command(crowd / f"{method}.yaml", folder / str(run), "cluster")
        begun, process, killed = time.monotonic(), command.start(), 0
        for moment in sorted(trials.draw.uniform(0.3, 0.95) * seconds for _ in range(KILLS)):
            time.sleep(max(0.0, begun + moment - time.monotonic()))
            killed += kill_one(process.pid, executors, trials)
        told, _ = process.communicate(timeout=900)
        trials.well(
            killed > 0 and process.returncode == 0 and published(command.output) == expected[method],
            f"{method}, {killed} killed, exit {process.returncode}: {told[-LAST_WORDS:]}",
        )


def kill_one(driver: int, executors: bool, trials: Trials) -> bool:
    """Kills an executor of a driver, or a Python worker; returns whether there was one."""
    victims = workers_of(driver, executors)
    if victims:
        with suppress(ProcessLookupError):
            os.kill(trials.draw.choice(victims), signal.SIGKILL)
            return True
    return False


def test_runs_with_three_executors_killed(
    trials: Trials, crowd: Path, fingerprints: dict[str, str], tmp_path: Path
) -> None:
    killed_now_and_then(True, trials, crowd, fingerprints, tmp_path)


def test_runs_with_three_Python_workers_killed(
    trials: Trials, crowd: Path, fingerprints: dict[str, str], tmp_path: Path
) -> None:
    killed_now_and_then(False, trials, crowd, fingerprints, tmp_path)
