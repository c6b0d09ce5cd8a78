"""`tclose_spark.generate`: a synthetic census to try things on."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from tclose_spark.api.signatures import verb
from tclose_spark.errors import ConfigurationError

if TYPE_CHECKING:
    import pyarrow as pa


@verb
def generate(
    rows: int,
    hierarchies: str | PathLike[str] | None = None,
    seed: int = 2026,
    *,
    encounters: bool = False,
) -> pa.Table:
    """Synthetic people, a pyarrow table in this process's memory: the same rows for the same seed,
    anywhere.

    encounters: hospital stays in place of people; a person may have several.
    hierarchies: a folder for their hierarchies, a CSV for each column.

    Raises:
        ConfigurationError: if it cannot be written.
    """
    import pyarrow as pa

    from tclose_spark.synthetic import census
    from tclose_spark.synthetic import encounters as stays

    made, batches = (
        (stays, stays.generate_encounters) if encounters else (census, census.generate_people)
    )
    drawn = batches(rows, seed)
    if hierarchies is not None:
        try:
            census.write_hierarchies(Path(fspath(hierarchies)), made.HIERARCHIES)
        except OSError as error:
            raise ConfigurationError(
                f"{hierarchies} cannot be written ({error.strerror})",
            ) from None
    return pa.Table.from_batches(drawn, made.SCHEMA)


def write_generated(rows: int, folder: Path, encounters: bool, seed: int) -> tuple[Path, Path]:
    """Writes synthetic people or stays, a batch at a time: (their Parquet file, the folder of their
    hierarchies).

    Raises:
        OSError: if they cannot be written.
    """
    from tclose_spark.synthetic import census
    from tclose_spark.synthetic import encounters as stays

    made, batches = (
        (stays, stays.generate_encounters) if encounters else (census, census.generate_people)
    )
    table = folder / f"{'encounters' if encounters else 'people'}.parquet"
    hierarchies = folder / "hierarchies"
    drawn = batches(rows, seed)
    census.write_hierarchies(hierarchies, made.HIERARCHIES)
    census.write_table(table, made.SCHEMA, drawn)
    return table, hierarchies
