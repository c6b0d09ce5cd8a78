"""The session of the local engine: this process, without a JVM."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class LocalSession:
    """A session that works in this process.

    views: tables in memory by name, which `input.path` may name, as Spark's temporary views.
    """

    views: dict[str, Any] = field(default_factory=dict)

    @property
    def threads(self) -> int:
        """The number of threads that work on partitions at once."""
        return os.cpu_count() or 1


def is_local(session: Any) -> bool:
    """Whether a session is that of the local engine."""
    return isinstance(session, LocalSession)
