"""Executors and Python workers that die change no release."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
from broken_runs import LAST_WORDS, METHODS, Command, published, seconds_of, workers_of
from conftest import Trials

KILLS = 3
"""Of one run: Spark ends an application whose executors all die again and again."""


def killed_now_and_then(executors: bool, trials: Trials, crowd: Path, expected: dict[str, str], folder: Path) -> None:
    method, run, seconds, process, failed = "", 0, 0.0, None, False
    for number in trials(50 if executors else 15):
        if number % KILLS == 0:
            method = list(METHODS)[run % len(METHODS)]
            command = Command(crowd / f"{method}.yaml", folder / str(run), "cluster")
            seconds = seconds or seconds_of(Command(command.run_file, folder / "timed", "cluster"))
            moments = sorted(trials.draw.uniform(0.3, 0.95) * seconds for _ in range(KILLS))
            begun, process, run = time.monotonic(), command.start(), run + 1
            killed = 0
            for moment in moments:
                time.sleep(max(0.0, begun + moment - time.monotonic()))
                victims = workers_of(process.pid, executors) if process.poll() is None else []
                if victims:
                    try:
                        trials.draw.choice(victims).kill()
                        killed += 1
                    except psutil.NoSuchProcess:
                        pass
            told, _ = process.communicate(timeout=900)
            failed = process.returncode != 0 or published(command.output) != expected[method]
        trials.well(not failed, f"{method}, {killed} killed, exit {process.returncode}: {told[-LAST_WORDS:]}")


def test_executors_killed(trials: Trials, crowd: Path, fingerprints: dict[str, str], tmp_path: Path) -> None:
    killed_now_and_then(True, trials, crowd, fingerprints, tmp_path)


def test_python_workers_killed(trials: Trials, crowd: Path, fingerprints: dict[str, str], tmp_path: Path) -> None:
    killed_now_and_then(False, trials, crowd, fingerprints, tmp_path)
