"""Lines about a run: as text, or as JSON for log collectors."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import Literal

from tclose_spark.errors import ConfigurationError

LOG_FORMAT = "TCLOSE_LOG_FORMAT"
Level = Literal["info", "warning", "error"]
PREFIXES: dict[Level, str] = {"warning": "note: ", "error": "error: ", "info": ""}
"""How a line of text begins, by what it is."""


def require_log_format() -> None:
    """Raises ConfigurationError if the environment requests an unknown log format."""
    given = os.environ.get(LOG_FORMAT)
    if given not in (None, "text", "json"):
        raise ConfigurationError(f"{LOG_FORMAT} is {given}; expected text or json")


def in_json() -> bool:
    """Whether the environment requests JSON lines."""
    return os.environ.get(LOG_FORMAT) == "json"


def level_of(line: str) -> Level:
    """The level of a line of text.

    >>> level_of("note: k is 5"), level_of("profile 300 rows")
    ('warning', 'info')
    """
    return next(level for level, prefix in PREFIXES.items() if line.startswith(prefix))


def as_json(line: str) -> str:
    """A line of text as a JSON object: time (UTC, ISO), level, message."""
    level = level_of(line)
    said = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "level": level,
        "message": line.removeprefix(PREFIXES[level]),
    }
    return json.dumps(said, ensure_ascii=False)
