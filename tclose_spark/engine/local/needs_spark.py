"""Inputs that only Spark reads."""

from __future__ import annotations

from tclose_spark.errors import ConfigurationError

ADVICE = "; try engine: spark"
"""The end of each message. Spark may still find that the input is damaged."""


class NeedsSparkError(ConfigurationError):
    """An input that the local engine does not read exactly as Spark does."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}, which the local engine does not read{ADVICE}")
