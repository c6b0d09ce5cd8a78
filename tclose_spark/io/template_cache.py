"""The compiled templates of pages, kept from process to process: compiling them takes a second of
CPU.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from jinja2 import BytecodeCache, FileSystemBytecodeCache


class TemplateCache(FileSystemBytecodeCache):
    """A folder of the user below the system's for temporary files. A template that cannot be kept
    is compiled again.
    """

    def dump_bytecode(self, bucket: Any) -> None:
        """Keeps a compiled template."""
        with suppress(OSError):
            super().dump_bytecode(bucket)


def template_cache() -> BytecodeCache | None:
    """The cache of compiled templates; None where the system has no private place for it."""
    with suppress(OSError, RuntimeError):
        return TemplateCache()
    return None
