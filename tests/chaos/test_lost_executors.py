"""Executors, workers of a cluster and Python workers that die change no release."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from functools import partial
from pathlib import Path

from broken_runs import (
    LAST_WORDS,
    METHODS,
    Command,
    disturb_at,
    published,
    some_moments,
    workers_of,
)
from standalone import Standalone, standalone
from trials import Trials

KILLS = 3
"""In one run: Spark ends an application whose executors all die again and again."""
KILLED_EXECUTORS, KILLED_WORKERS, STOPPED_MACHINES = 51, 15, 5


def killed_now_and_then(
    executors: bool,
    trials: Trials,
    crowd: Path,
    expected: dict[str, str],
    folder: Path,
) -> None:
    for run in trials((KILLED_EXECUTORS if executors else KILLED_WORKERS) // KILLS):
        method, moments = list(METHODS)[run % len(METHODS)], some_moments(trials.draw, KILLS)
        command = Command(crowd / f"{method}.yaml", folder / str(run), "cluster")
        code, told, killed = disturb_at(moments, command, partial(kill_one, executors, trials))
        if code == killed == 0:
            trials.is_none()
            continue
        trials.well(
            code == 0 and published(command.output) == expected[method],
            f"{method}, {killed} killed at {moments}, exit {code}: {told[-LAST_WORDS:]}",
        )


def kill_one(executors: bool, trials: Trials, driver: int) -> bool:
    """Kills an executor of a driver, or a Python worker; returns whether there was one."""
    victims = workers_of(driver, executors)
    if victims:
        with suppress(ProcessLookupError):
            os.kill(trials.draw.choice(victims), signal.SIGKILL)
            return True
    return False


def test_runs_with_three_executors_killed(
    trials: Trials,
    crowd: Path,
    fingerprints: dict[str, str],
    tmp_path: Path,
) -> None:
    killed_now_and_then(True, trials, crowd, fingerprints, tmp_path)


def test_runs_with_three_Python_workers_killed(
    trials: Trials,
    crowd: Path,
    fingerprints: dict[str, str],
    tmp_path: Path,
) -> None:
    killed_now_and_then(False, trials, crowd, fingerprints, tmp_path)


def test_runs_on_two_workers_of_which_one_is_killed(
    trials: Trials,
    crowd: Path,
    fingerprints: dict[str, str],
    tmp_path: Path,
) -> None:
    """A worker of a standalone cluster and its executor die at the same moment, and do not come
    back.
    """
    folder = tmp_path / "cluster"
    folder.mkdir()
    with standalone(folder) as cluster:
        cluster.add_worker("w1")
        for run in trials(STOPPED_MACHINES):
            cluster.add_worker("w2")
            method, moments = list(METHODS)[run % len(METHODS)], some_moments(trials.draw, 1)
            command = Command(
                crowd / f"{method}.yaml",
                tmp_path / str(run),
                "cluster",
                master=cluster.url,
            )
            code, told, killed = disturb_at(moments, command, partial(kill_machine, cluster))
            if code == killed == 0:
                trials.is_none()
                continue
            trials.well(
                code == 0 and published(command.output) == fingerprints[method],
                f"{method}, {killed} killed at {moments}, exit {code}: {told[-LAST_WORDS:]}",
            )


def kill_machine(cluster: Standalone, _: int) -> bool:
    """Kills the worker `w2` and its executor, if it has one; returns whether it had."""
    if workers_of(cluster.daemons["w2"].pid, executors=True):
        cluster.kill("w2")
        return True
    return False
