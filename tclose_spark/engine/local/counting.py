"""The rows of files, before they are read."""

from __future__ import annotations

import zlib
from contextlib import suppress
from zipfile import BadZipFile

import pyarrow as pa
import pyarrow.parquet as pq

from tclose_spark.engine.local.needs_spark import NeedsSparkError as NeedsSparkError
from tclose_spark.errors import InputError
from tclose_spark.io.input.states import walk
from tclose_spark.io.input.text_files import opened_lines
from tclose_spark.io.storage.folders import place_of
from tclose_spark.io.storage.stores import in_order, opened
from tclose_spark.runfile.spec import Input


def count_rows(source: Input, most: int) -> int:
    """The rows of files, before they are read: by the footers of Parquet, or the lines of CSV.
    Counts no file more once there are more than `most`. Files that cannot be read count for
    nothing; reading them reports why.
    """
    rows = 0
    for file in in_order(file for file, _ in walk(place_of(source.path))):
        if rows > most:
            break
        with suppress(OSError, EOFError, zlib.error, BadZipFile, InputError, pa.ArrowException):
            if source.format == "csv":
                with opened_lines(file) as lines:
                    while rows <= most and (block := lines.read(1 << 22)):
                        rows += block.count(b"\n")
            else:
                rows += pq.read_metadata(opened(file)).num_rows
    return rows
