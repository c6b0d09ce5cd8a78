"""Integrity of files: the SHA-256 of each, and JSON that all readers understand alike."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tclose_spark.io.storage.folders import Folder

Digests = Mapping[str, str]
"""The SHA-256 of each file, by its path in a folder."""
AT_ONCE = 4  # files that are read together


def digests(folder: Folder, names: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of each of these files, and of each file below these folders, as far as they
    exist.
    """
    files = sorted(file for name in names for file in folder.sizes(name))
    with ThreadPoolExecutor(AT_ONCE) as reading:
        return dict(zip(files, reading.map(folder.sha256, files), strict=True))


def differences(expected: Digests, found: Digests) -> list[str]:
    """The changes of files since they were as expected, one line each."""
    return [
        *(f"{name} is missing" for name in expected if name not in found),
        *(
            f"{name} was changed"
            for name, digest in expected.items()
            if found.get(name, digest) != digest
        ),
        *(f"{name} is no file of this release" for name in found if name not in expected),
    ]


def strict_json(text: str) -> Any:
    """The value of a JSON text.

    >>> strict_json('{"k": 5}')
    {'k': 5}

    Raises:
        ValueError: if it is no JSON or nested too deeply, or an object in it has a key twice, which
            readers take differently.
    """

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("an object has a key twice")
        return found

    try:
        return json.loads(text, object_pairs_hook=unique)
    except RecursionError:
        raise ValueError("nested too deeply") from None
