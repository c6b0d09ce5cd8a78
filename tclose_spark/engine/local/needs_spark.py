"""Inputs that only Spark reads."""

from __future__ import annotations

from tclose_spark.errors import ConfigurationError


class NeedsSparkError(ConfigurationError):
    """An input that the local engine does not read exactly as Spark does."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}, which only Spark reads; set engine: spark")
