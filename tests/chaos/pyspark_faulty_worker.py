"""A Python worker of Spark whose tasks fail at random when they are tried first, for
`spark.python.worker.module`. PySpark requires the beginning of its name.

FAILING_SHARE: how many of them. FAILED_TASKS: a file with a line for each that failed.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from pyspark import TaskContext, worker

main = worker.main
read_functions = worker.read_udfs


def read_failing_functions(*arguments: Any) -> tuple[Any, ...]:
    """What a task is to run. If it is to fail, it fails before its first results, after them, or at
    the end.
    """
    run, *others = read_functions(*arguments)
    task = TaskContext.get()
    draw = random.Random(f"{os.environ['FAILED_TASKS']} {task.stageId()} {task.partitionId()}")
    fails = task.attemptNumber() == 0 and draw.random() < float(os.environ["FAILING_SHARE"])
    return (failing(run, draw.choice((0, 1, None))) if fails else run, *others)


def failing(run: Callable[..., Iterator[Any]], results: int | None) -> Callable[..., Iterator[Any]]:
    """The function of a task, which fails after some results; None: after all."""

    def fail(number: int, batches: Iterator[Any]) -> Iterator[Any]:
        with open(os.environ["FAILED_TASKS"], "a") as file:
            file.write(f"{results}\n")
        yield from islice(run(number, batches), results)
        raise RuntimeError("this task fails on purpose")

    return fail


worker.read_udfs = read_failing_functions
