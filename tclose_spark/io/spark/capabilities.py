"""The abilities of a session. Platforms that share a cluster, and Spark Connect, give no JVM and
few settings; Spark 4.0 lacks some functions of 4.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REFUSALS = (PySparkException, Py4JError, AttributeError)
"""What is raised for what a session does not have: by Spark Connect, by a cluster's allow list, by
Python.
"""

SENDS_TO_TASKS = hasattr(DataFrame, "repartitionById")
"""Whether rows can be sent to a partition by its number (Spark 4.1); else see `shuffles.by_key`."""


class Java(NamedTuple):
    """The driver's JVM, and its Hadoop configuration."""

    jvm: Any
    hadoop: Any


def java_of(spark: SparkSession) -> Java | None:
    """The JVM behind a session; None without access (Spark Connect, Databricks' shared and
    serverless compute).
    """
    try:
        context = spark.sparkContext
        return Java(context._jvm, context._jsc.hadoopConfiguration())
    except REFUSALS:
        return None


def setting(spark: SparkSession, key: str) -> str | None:
    """A setting's value; None if it is not set or not readable."""
    try:
        value = spark.conf.get(key, None)
    except REFUSALS:
        return None
    return None if value is None else str(value)


def settings_below(spark: SparkSession, prefix: str) -> dict[str, str]:
    """The settings whose keys begin with this; none if they are not readable."""
    try:
        return {key: value for key, value in spark.conf.getAll.items() if key.startswith(prefix)}
    except REFUSALS:
        return {}


def set_if_allowed(spark: SparkSession, key: str, value: str | None) -> bool:
    """Sets a session's setting (None: unsets it); False, without a change, if the platform does not
    allow it.
    """
    try:
        if value is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, value)
    except REFUSALS:
        return False
    return True
