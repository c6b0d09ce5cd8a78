"""`tclose_spark.generate`: a synthetic census to try things on."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from tclose_spark.api.errors import translate_errors
from tclose_spark.api.session import working
from tclose_spark.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@translate_errors()
def generate(rows: int, hierarchies: str | PathLike[str] | None = None, seed: int = 2026) -> DataFrame:
    """Synthetic people, a DataFrame of Spark: the same rows for the same seed, on any cluster.

    hierarchies: a folder for their hierarchies, a CSV for each column.

    Raises:
        ConfigurationError: if it cannot be written.
    """
    with working("tclose generate") as session:
        from tclose_spark.synthetic.census import generate_people, write_hierarchies

        if hierarchies is not None:
            try:
                write_hierarchies(Path(fspath(hierarchies)))
            except OSError as error:
                raise ConfigurationError(f"{hierarchies} cannot be written ({error.strerror})") from None
        return generate_people(session, rows, seed)
