"""A suite that takes hours runs in parts: `make test-spark PART=1/4`."""

from __future__ import annotations

from zlib import crc32


def is_in_part(file: str, part: str) -> bool:
    """Whether a test file is in a part, such as 1/4: the first of four. Each file is in one of
    them.

    >>> [is_in_part("tests/test_suites.py", part) for part in ("1/1", "1/2", "2/2")]
    [True, False, True]
    """
    number, parts = map(int, part.split("/"))
    return crc32(file.encode()) % parts == number - 1
