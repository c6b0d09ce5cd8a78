"""Where compiled kernels are kept: in the user's cache, by what the sources say, also where the package is inside a
wheel or a zip.

Numba alone looks at the file of a function only, and would run an old kernel that the function calls from another one.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from numba.core.caching import CacheImpl

PROJECT = __name__.partition(".")[0]
IMPORT = re.compile(rf"^ *from ({PROJECT}[.\w]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
NAME = re.compile(r"\w+")


@cache
def sources(module: str) -> str:
    """A hash of all that a module's kernels are compiled from: its name and source, those of what it imports from this
    project, and so on through every module that has kernels, in whatever folder.
    """
    found: dict[str, str] = {}
    to_read = [module]
    while to_read:
        name = to_read.pop()
        text = _source(name)
        if name in found or text is None:
            continue
        found[name] = text
        if name == module or _has_kernels(text):
            to_read += _imports(text)
    named = (f"{name}\n{found[name]}\n" for name in sorted(found))  # compiled code names the modules of its types
    return hashlib.sha256("".join(named).encode()).hexdigest()[:16]


@cache
def _source(module: str) -> str | None:
    """The text of a module of this project, also in a wheel; None if there is none of this name."""
    folder, _, name = module.rpartition(".")
    try:
        parent = resources.files(folder)
    except (ModuleNotFoundError, TypeError):  # a name of something in a module
        return None
    for file in (parent / f"{name}.py", parent / name / "__init__.py"):
        if file.is_file():
            return file.read_text(encoding="utf-8")
    return None


def _has_kernels(text: str) -> bool:
    return f"from {__package__} import" in text or "@kernel" in text


@cache
def _imports(text: str) -> list[str]:
    """The modules of this project that a module imports (and names in them, which are none)."""
    return [
        name
        for module, names in IMPORT.findall(text)
        for name in (module, *(f"{module}.{part}" for part in NAME.findall(names)))
    ]


@cache
def folder(module: str) -> str:
    """The folder of the compiled kernels of this version of a module, made if need be.

    Below NUMBA_CACHE_DIR, or the user's cache; where a user has none that can be written (a service on a worker), below
    a folder of temporary files that is this user's alone. It holds code: no one else may write to it.
    """
    mine = str(os.getuid()) if hasattr(os, "getuid") else "user"
    named = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    usual = Path(named) if named else Path(os.path.expanduser("~")) / ".cache"
    for base in (usual / "tclose_spark", Path(tempfile.gettempdir()) / f"tclose_spark-{mine}"):
        try:
            for path in (base, base / sources(module)):
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
                if not is_mine_alone(path):
                    raise PermissionError(f"others may write to {path}")
            tempfile.TemporaryFile(dir=base / sources(module)).close()
            return str(base / sources(module))
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
        self._line, self._module = function.__code__.co_firstlineno, function.__module__

    @classmethod
    def from_function(cls, function: Callable[..., Any], _: str) -> KernelCache | None:
        """The locator of one function; None for what is not ours."""
        return cls(function) if function.__module__.startswith(f"{PROJECT}.") else None

    def get_cache_path(self) -> str:
        """The folder."""
        return folder(self._module)

    def ensure_cache_path(self) -> None:
        """Nothing: `folder` made it."""

    def get_source_stamp(self) -> str:
        """What must be unchanged for compiled code to be used."""
        return sources(self._module)

    def get_disambiguator(self) -> str:
        """Tells functions of one name apart."""
        return str(self._line)


def keep_compiled_kernels() -> None:
    """Makes numba keep this project's kernels in `folder`; nothing changes for other packages."""
    locators: list[Any] = CacheImpl._locator_classes
    if KernelCache not in locators:
        locators.insert(0, KernelCache)
