"""Tasks that fail and are tried again change no release."""

from __future__ import annotations

from pathlib import Path

from broken_runs import LAST_WORDS, METHODS, ROOT, Command, published
from trials import Trials


def test_runs_in_which_half_of_the_tasks_fail_once(
    trials: Trials,
    crowd: Path,
    fingerprints: dict[str, str],
    tmp_path: Path,
) -> None:
    for run in trials(len(METHODS)):
        method, failed = list(METHODS)[run], tmp_path / f"failed{run}"
        environment = {
            "PYTHONPATH": f"{ROOT}:{ROOT}/tests/chaos",
            "FAILED_TASKS": str(failed),
            "FAILING_SHARE": "0.5",
        }
        command = Command(
            crowd / f"{method}.yaml",
            tmp_path / str(run),
            "cluster",
            environment=environment,
            settings={"spark.python.worker.module": "pyspark_faulty_worker"},
        )
        done = command.run()
        times = len(failed.read_text().split()) if failed.exists() else 0
        trials.well(
            times > 0
            and done.returncode == 0
            and published(command.output) == fingerprints[method],
            f"{method}, {times} tasks failed, exit {done.returncode}: {done.stderr[-LAST_WORDS:]}",
        )
