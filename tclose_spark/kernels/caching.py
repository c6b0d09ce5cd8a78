"""Where compiled kernels are kept: in the user's cache, by what the sources say, also where the package is inside a wheel or a zip.

Numba alone looks at the file of a function only, and would run an old kernel that the function calls from another one.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from numba.core.caching import CacheImpl

PROJECT = __name__.partition(".")[0]


@cache
def sources(package: str) -> str:
    """A hash of all sources of the kernels of a package, which call each other and those of this one."""
    files = [file for folder in (package, __package__) for file in resources.files(folder).iterdir() if file.name.endswith(".py")]
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(files, key=str))).hexdigest()[:16]


@cache
def folder(package: str) -> str:
    """The folder of the compiled kernels of this version of a package, made if need be.

    Below NUMBA_CACHE_DIR, or the user's cache; where a user has none that can be written (a service on a worker), below a folder
    of temporary files that is this user's alone. It holds code: no one else may write to it.
    """
    mine = str(os.getuid()) if hasattr(os, "getuid") else "user"
    named = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    usual = Path(named) if named else Path(os.path.expanduser("~")) / ".cache"
    for base in (usual / "tclose_spark", Path(tempfile.gettempdir()) / f"tclose_spark-{mine}"):
        try:
            for path in (base, base / sources(package)):
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
                if not is_mine_alone(path):
                    raise PermissionError(f"others may write to {path}")
            tempfile.TemporaryFile(dir=base / sources(package)).close()
            return str(base / sources(package))
        except OSError:
            continue
    return tempfile.mkdtemp(prefix="tclose_spark-")


def is_mine_alone(path: Path) -> bool:
    """Whether this user owns a folder and no one else may write to it."""
    found = path.stat()
    return not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o022)


class KernelCache:
    """The locator, as numba calls it, of this project's kernels."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._line, self._package = function.__code__.co_firstlineno, function.__module__.rpartition(".")[0]

    @classmethod
    def from_function(cls, function: Callable[..., Any], _: str) -> KernelCache | None:
        """The locator of one function; None for what is not ours."""
        return cls(function) if function.__module__.startswith(f"{PROJECT}.") else None

    def get_cache_path(self) -> str:
        """The folder."""
        return folder(self._package)

    def ensure_cache_path(self) -> None:
        """Nothing: `folder` made it."""

    def get_source_stamp(self) -> str:
        """What must be unchanged for compiled code to be used."""
        return sources(self._package)

    def get_disambiguator(self) -> str:
        """Tells functions of one name apart."""
        return str(self._line)


def keep_compiled_kernels() -> None:
    """Makes numba keep this project's kernels in `folder`; nothing changes for other packages."""
    locators: list[Any] = CacheImpl._locator_classes
    if KernelCache not in locators:
        locators.insert(0, KernelCache)
