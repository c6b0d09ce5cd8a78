"""Notes about what was found in an input, or is lost in it. They hold names and counts, never a
value of a person.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from contextvars import ContextVar

told: ContextVar[Callable[[str], object]] = ContextVar("told", default=warnings.warn)
"""Takes the lines about what was found."""
ZONED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]{5,}[+-](?!00:?00)[0-9]{2}:?[0-9]{2}")


def note(text: str) -> None:
    """Passes a note on."""
    told.get()(f"note: {text}")


def note_zones(file: str, texts: Iterable[str]) -> None:
    """Notes that a file has times with a zone, if one of these texts is such a time."""
    if any(ZONED.fullmatch(text.strip()) for text in texts):
        note(f"{file} has times with a zone, which a release shows in UTC and without a zone")
