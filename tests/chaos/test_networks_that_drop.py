"""A network between driver and executors that drops for seconds: the same release, or a failure
that says so.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from broken_runs import (
    LAST_WORDS,
    METHODS,
    Command,
    disturb_at,
    is_whole,
    nothing_public,
    published,
    some_moments,
    workers_of,
)
from separate_networks import DRIVER, WORKERS, separate_networks, set_link, within
from standalone import Standalone, standalone
from trials import Trials

IMPATIENT = {
    "spark.executor.heartbeatInterval": "1s",
    "spark.network.timeout": "4s",
    "spark.network.timeoutInterval": "1s",
    "spark.rpc.askTimeout": "60s",
    "spark.shuffle.io.connectionTimeout": "60s",
}
"""A driver that gives up an executor after four seconds, although it works on."""


def test_networks_that_drop(
    trials: Trials,
    crowd: Path,
    fingerprints: dict[str, str],
    tmp_path: Path,
) -> None:
    """Driver and workers are in networks of their own. Twice in a run, the cable of a worker is out
    for 3 to 10 s.
    """
    folder = tmp_path / "cluster"
    folder.mkdir()
    with separate_networks(), standalone(folder, DRIVER, within("driver")) as cluster:
        for name, address in WORKERS.items():
            cluster.add_worker(name, address, within(name))
        on = partial(
            Command,
            engine="cluster",
            master=cluster.url,
            wrapped=within("driver"),
            environment={"SPARK_LOCAL_IP": DRIVER},
        )
        for run in trials(6):
            method, settings = list(METHODS)[run % len(METHODS)], IMPATIENT if run % 2 else {}
            command = on(crowd / f"{method}.yaml", tmp_path / str(run), settings=settings)
            code, told, drops = disturb_at(
                some_moments(trials.draw, 2),
                command,
                partial(drop, trials, cluster),
            )
            ended = nothing_public(command.output) if code else is_whole(command.output)
            repeated = 0
            if code:
                repeated = (
                    on(command.run_file, command.output, options=("--overwrite",)).run().returncode
                )
            trials.well(
                drops > 0
                and ended
                and "Traceback" not in told
                and repeated == 0
                and published(command.output) == fingerprints[method],
                f"{method}, {drops} drops, {settings}, exit {code} and {repeated}: "
                f"{told[-LAST_WORDS:]}",
            )


def drop(trials: Trials, cluster: Standalone, _: int) -> bool:
    """Takes the cable of a worker with an executor out for some seconds; returns whether there was
    one.
    """
    at_work = [
        worker for worker in WORKERS if workers_of(cluster.daemons[worker].pid, executors=True)
    ]
    if at_work:
        worker = trials.draw.choice(at_work)
        set_link(worker, "down")
        time.sleep(trials.draw.uniform(3, 10))
        set_link(worker, "up")
    return bool(at_work)
