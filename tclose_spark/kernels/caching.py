"""The cache of compiled kernels: in the user's cache folder, keyed by a hash of all kernel sources,
also if the package is a wheel or a zip.

Numba alone checks only the file of the function itself. It would run stale code if a kernel in
another file changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from numba.core import config
from numba.core.caching import CacheImpl

PROJECT = __name__.partition(".")[0]
NAMES_KERNELS = re.compile(r"\b(kernel|structure)\b")
"""In every source that defines a kernel or a structure, in whatever form it imports these
decorators.
"""


@cache
def source_key() -> str:
    """A hash of the names and sources of all modules that may define kernels, and of whether kernels
    check indices (NUMBA_BOUNDSCHECK). Kernels take constants and functions from such modules only,
    so a change of any of these compiles all kernels anew.
    """
    key = hashlib.sha256()
    if config.BOUNDSCHECK:  # type: ignore[attr-defined]
        key.update(b"indices are checked\n")
    for module, text in sorted(_sources(resources.files(PROJECT), PROJECT)):
        if NAMES_KERNELS.search(text):
            key.update(f"{module}\n{text}\n".encode())
    return key.hexdigest()[:16]


def _sources(folder: Traversable, package: str) -> Iterator[tuple[str, str]]:
    """(name, text) of every module below a package."""
    for file in folder.iterdir():
        if file.name.endswith(".py"):
            yield f"{package}.{file.name[:-3]}", file.read_text(encoding="utf-8")
        elif file.is_dir():
            yield from _sources(file, f"{package}.{file.name}")


@cache
def folder() -> str:
    """The folder of the compiled kernels of these sources; it is created if needed.

    It is below NUMBA_CACHE_DIR or the user's cache. If that cannot be written (a service on a
    worker, an image), it is a folder of temporary files with copies of the kernels in the usual
    place. It holds code, so only this user may write to it.
    """
    mine = str(os.getuid()) if hasattr(os, "getuid") else "user"
    named = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    usual = (Path(named) if named else Path(os.path.expanduser("~")) / ".cache") / PROJECT
    for base in (usual, Path(tempfile.gettempdir()) / f"{PROJECT}-{mine}"):
        kernels = base / source_key()
        try:
            for path in (base, kernels):
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
                if not is_mine_alone(path):
                    raise PermissionError(f"others may write to {path}")
            tempfile.TemporaryFile(dir=kernels).close()
            if base != usual:
                _copy_kernels(usual / kernels.name, kernels)
            return str(kernels)
        except OSError:
            continue
    return tempfile.mkdtemp(prefix="tclose_spark-")


def _copy_kernels(image: Path, to: Path) -> None:
    """Copies what `tclose compile` left for all users, if only this user or root may write to it.
    The index of a kernel is copied after the code that it lists.
    """
    if not image.is_dir() or not all(
        is_mine_alone(path, or_root=True) for path in (image.parent, image)
    ):
        return
    for file in sorted(image.glob("*.nb[ci]"), key=lambda file: file.suffix):
        if not (to / file.name).exists():
            part = to / f"{file.name}.{os.getpid()}"
            shutil.copyfile(file, part)
            part.replace(to / file.name)


def cache_folder() -> Path:
    """The folder that holds the compiled kernels of all versions of the sources."""
    return Path(folder()).parent


def has_kernels() -> bool:
    """Whether kernels of these sources were compiled before."""
    return any(Path(folder()).glob("*.nbi"))


def let_all_read() -> None:
    """Lets every user read the compiled kernels. They contain no data of any table."""
    for path in (cache_folder(), *cache_folder().iterdir()):
        if path.is_dir():
            path.chmod(0o755)


def is_mine_alone(path: Path, or_root: bool = False) -> bool:
    """Whether this user (or root, with `or_root`) owns a folder and no one else may write to it."""
    found = path.stat()
    if not hasattr(os, "getuid"):
        return True
    return (
        found.st_uid in ((os.getuid(), 0) if or_root else (os.getuid(),))
        and not found.st_mode & 0o022
    )


def is_ours(function: Callable[..., Any]) -> bool:
    """Whether a function belongs to this project."""
    return function.__module__.startswith(f"{PROJECT}.")


class KernelCache:
    """Tells numba where it keeps this project's kernels (a locator, in numba's words)."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._place = f"{function.__module__}.{function.__code__.co_firstlineno}"

    @classmethod
    def from_function(cls, function: Callable[..., Any], _: str) -> KernelCache | None:
        """The locator of a function; None if it belongs to another package."""
        return cls(function) if is_ours(function) else None

    def get_cache_path(self) -> str:
        """The folder."""
        return folder()

    def ensure_cache_path(self) -> None:
        """Does nothing: `folder` created it."""

    def get_source_stamp(self) -> str:
        """Compiled code is used only if this is unchanged."""
        return source_key()

    def get_disambiguator(self) -> str:
        """Distinguishes functions of the same name."""
        return self._place


def cache_kernels() -> None:
    """Makes numba keep this project's kernels in `folder`; nothing changes for other packages."""
    locators: list[Any] = CacheImpl._locator_classes
    if KernelCache not in locators:
        locators.insert(0, KernelCache)
