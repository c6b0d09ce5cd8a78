"""Executors, workers of a cluster and Python workers that die change no release."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from broken_runs import LAST_WORDS, METHODS, Command, disturb_at, published, seconds_of, workers_of
from standalone import standalone
from trials import Trials

KILLS = 3
"""In one run: Spark ends an application whose executors all die again and again."""
KILLED_EXECUTORS, KILLED_WORKERS, STOPPED_MACHINES = 51, 15, 5


def killed_now_and_then(executors: bool, trials: Trials, crowd: Path, expected: dict[str, str], folder: Path) -> None:
    seconds = seconds_of(Command(crowd / "closeness_tree.yaml", folder / "timed", "cluster"))
    for run, _ in enumerate(trials(KILLED_EXECUTORS // KILLS if executors else KILLED_WORKERS // KILLS)):
        method = list(METHODS)[run % len(METHODS)]
        command, killed = Command(crowd / f"{method}.yaml", folder / str(run), "cluster"), []
        code, told = disturb_at(
            [trials.draw.uniform(0.3, 0.95) * seconds for _ in range(KILLS)],
            command,
            lambda driver, killed=killed: killed.extend(kill_one(driver, executors, trials)),
        )
        trials.well(
            bool(killed) and code == 0 and published(command.output) == expected[method],
            f"{method}, {len(killed)} killed, exit {code}: {told[-LAST_WORDS:]}",
        )


def kill_one(driver: int, executors: bool, trials: Trials) -> list[int]:
    """Kills an executor of a driver, or a Python worker; returns it, if there was one."""
    victims = workers_of(driver, executors)
    if victims:
        with suppress(ProcessLookupError):
            victim = trials.draw.choice(victims)
            os.kill(victim, signal.SIGKILL)
            return [victim]
    return []


def test_runs_with_three_executors_killed(
    trials: Trials, crowd: Path, fingerprints: dict[str, str], tmp_path: Path
) -> None:
    killed_now_and_then(True, trials, crowd, fingerprints, tmp_path)


def test_runs_with_three_Python_workers_killed(
    trials: Trials, crowd: Path, fingerprints: dict[str, str], tmp_path: Path
) -> None:
    killed_now_and_then(False, trials, crowd, fingerprints, tmp_path)


def test_runs_on_two_workers_of_which_one_is_killed(
    trials: Trials, crowd: Path, fingerprints: dict[str, str], tmp_path: Path
) -> None:
    """A worker of a standalone cluster and its executor die at the same moment, and do not come back."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    with standalone(folder) as cluster:
        for name in ("w1", "w2"):
            cluster.add_worker(name)
        seconds = seconds_of(Command(crowd / "closeness_tree.yaml", tmp_path / "timed", "cluster", master=cluster.url))
        for run in trials(STOPPED_MACHINES):
            method, victim = list(METHODS)[run % len(METHODS)], trials.draw.choice(("w1", "w2"))
            command = Command(crowd / f"{method}.yaml", tmp_path / str(run), "cluster", master=cluster.url)
            killed: list[int] = []

            def kill(_: int, victim: str = victim, killed: list[int] = killed) -> None:
                killed += workers_of(cluster.daemons[victim].pid, executors=True)
                cluster.kill(victim)

            code, told = disturb_at([trials.draw.uniform(0.3, 0.95) * seconds], command, kill)
            cluster.add_worker(victim)
            trials.well(
                bool(killed) and code == 0 and published(command.output) == fingerprints[method],
                f"{method}, {len(killed)} executors killed, exit {code}: {told[-LAST_WORDS:]}",
            )
