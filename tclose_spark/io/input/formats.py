"""What a table is, by its path. Without Spark."""

from __future__ import annotations

from pathlib import Path

ENDINGS = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".txt": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".delta": "delta",
}


def guess_format(path: str) -> str:
    """What a table is by its path: csv or parquet by its ending, delta by its log; else parquet where it exists, and
    else the name of a table in the catalog.

    >>> guess_format("people.CSV"), guess_format("s3://bucket/people"), guess_format("census.people")
    ('csv', 'delta', 'table')
    """
    bare = path.rstrip("/").lower()
    for ending, kind in ENDINGS.items():
        if bare.endswith(ending):
            return kind
    if (Path(path) / "_delta_log").is_dir():
        return "delta"
    if Path(path).is_dir():
        return "csv" if any(Path(path).glob("*.csv")) else "parquet"
    return "delta" if "/" in path else "table"
