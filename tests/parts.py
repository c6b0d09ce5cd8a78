"""A suite that takes hours runs in parts: `make test-spark PART=1/4`."""

from __future__ import annotations

from zlib import crc32


def is_in_part(file: str, part: str) -> bool:
    """Whether a test file is in a part, such as 1/4: the first of four. Each file is in one of
    them.
    """
    number, parts = map(int, part.split("/"))
    assert 1 <= number <= parts
    return crc32(file.encode()) % parts == number - 1
