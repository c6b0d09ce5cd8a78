"""What errors that are not ours mean to the user."""

from __future__ import annotations

from pyspark.errors import PySparkException

from tclose_spark.api.errors import known
from tclose_spark.errors import ConfigurationError


def test_a_package_that_workers_lack_is_named() -> None:
    said = (
        "An exception was thrown from the Python worker. ... ModuleNotFoundError: No module named "
        "'tclose_spark.io'\n"
    )
    meant = known(PySparkException(said))
    assert isinstance(meant, ConfigurationError)
    assert "has no package 'tclose_spark'" in str(meant)
    assert "--py-files" in str(meant)
    lacks = known(ModuleNotFoundError("No module named 'numba'"))
    assert "tclose cannot start: No module named 'numba'" in str(lacks)  # the driver
