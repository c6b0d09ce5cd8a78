"""What tasks send to the driver while a release is written."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

Value = TypeVar("Value")


class TaskSum(Generic[Value]):
    """A sum that tasks add to, and that the driver reads after the write. Spark adds the part of a result task once,
    however often the task was tried.

    Sessions without a Spark context of their own (Spark Connect) count nothing.
    """

    def __init__(self, spark: SparkSession, empty: Callable[[], Value], merge: Callable[[Value, Value], Value]) -> None:
        """merge: returns its first argument, changed to include the second."""
        self._sum: Accumulator[Value] | None = None
        with suppress(PySparkException, AttributeError):
            self._sum = spark.sparkContext.accumulator(empty(), _Merging(empty, merge))

    @property
    def counts(self) -> bool:
        """Whether this session counts."""
        return self._sum is not None

    def add(self, part: Value) -> None:
        """In a task: adds a part."""
        if self._sum is not None:
            self._sum.add(part)

    @property
    def value(self) -> Value | None:
        """On the driver: the sum, None if this session does not count."""
        return None if self._sum is None else self._sum.value


class _Merging(AccumulatorParam[Value]):
    def __init__(self, empty: Callable[[], Value], merge: Callable[[Value, Value], Value]) -> None:
        self._empty, self._merge = empty, merge

    def zero(self, value: Value) -> Value:
        return self._empty()

    def addInPlace(self, value1: Value, value2: Value) -> Value:  # noqa: N802 - Spark's name
        return self._merge(value1, value2)
