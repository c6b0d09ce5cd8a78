"""Tasks that fail and are tried again change no release."""

from __future__ import annotations

from pathlib import Path

from broken_runs import LAST_WORDS, METHODS, ROOT, Command, published
from trials import Trials


def test_runs_in_which_a_third_of_the_tasks_fails_once(
    trials: Trials, crowd: Path, fingerprints: dict[str, str], tmp_path: Path
) -> None:
    for run in trials(len(METHODS)):
        method, failed = list(METHODS)[run], tmp_path / f"failed{run}"
        environment = {"PYTHONPATH": f"{ROOT}:{ROOT}/tests/chaos", "FAILED_TASKS": str(failed), "FAILING_SHARE": "0.33"}
        command = Command(
            crowd / f"{method}.yaml",
            tmp_path / str(run),
            "cluster",
            environment=environment,
            settings={"spark.python.worker.module": "pyspark_faulty_worker"},
        )
        done = command.run()
        moments = set(failed.read_text().split()) if failed.exists() else set()
        trials.well(
            moments == {"0", "1", "None"}
            and done.returncode == 0
            and published(command.output) == fingerprints[method],
            f"{method}, failed after {moments} results, exit {done.returncode}: {done.stderr[-LAST_WORDS:]}",
        )
