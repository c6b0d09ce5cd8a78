"""Where compiled kernels are kept: in the user's cache, by what the sources say, also where the package is inside a
wheel or a zip.

Numba alone looks at the file of a function only, and would run an old kernel that the function calls from another one.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
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
    return f"from {__package__} import" in text or "@kernel" in text or "@structure" in text


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

    Below NUMBA_CACHE_DIR, or the user's cache; where that cannot be written (a service on a worker, an image), below a
    folder of temporary files that is this user's alone, with what is found in the usual place. It holds code: no one
    else may write to it.
    """
    mine = str(os.getuid()) if hasattr(os, "getuid") else "user"
    named = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    usual = (Path(named) if named else Path(os.path.expanduser("~")) / ".cache") / PROJECT
    for base in (usual, Path(tempfile.gettempdir()) / f"{PROJECT}-{mine}"):
        kept = base / sources(module)
        try:
            for path in (base, kept):
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
                if not is_mine_alone(path):
                    raise PermissionError(f"others may write to {path}")
            tempfile.TemporaryFile(dir=kept).close()
            if base != usual:
                _copy_kernels(usual / kept.name, kept)
            return str(kept)
        except OSError:
            continue
    return tempfile.mkdtemp(prefix="tclose_spark-")


def _copy_kernels(image: Path, to: Path) -> None:
    """Copies what `tclose compile` left for all users, if it is this user's or root's and no one else may write to it.
    The index of a kernel comes after what it tells of.
    """
    if not image.is_dir() or not all(is_mine_alone(path, or_root=True) for path in (image.parent, image)):
        return
    for file in sorted(image.glob("*.nb[ci]"), key=lambda file: file.suffix):
        if not (to / file.name).exists():
            part = to / f"{file.name}.{os.getpid()}"
            shutil.copyfile(file, part)
            part.replace(to / file.name)


def kept_in() -> Path:
    """The folder that holds all folders of compiled kernels."""
    return Path(folder(__package__)).parent


def let_all_read() -> None:
    """Lets every user read the compiled kernels, which hold nothing of any table."""
    for path in (kept_in(), *kept_in().iterdir()):
        if path.is_dir():
            path.chmod(0o755)


def is_mine_alone(path: Path, or_root: bool = False) -> bool:
    """Whether this user (or root, if asked) owns a folder and no one else may write to it."""
    found = path.stat()
    if not hasattr(os, "getuid"):
        return True
    return found.st_uid in ((os.getuid(), 0) if or_root else (os.getuid(),)) and not found.st_mode & 0o022


def is_ours(function: Callable[..., Any]) -> bool:
    """Whether a function is of this project."""
    return function.__module__.startswith(f"{PROJECT}.")


class KernelCache:
    """The locator, as numba calls it, of this project's kernels."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._line, self._module = function.__code__.co_firstlineno, function.__module__

    @classmethod
    def from_function(cls, function: Callable[..., Any], _: str) -> KernelCache | None:
        """The locator of one function; None for what is not ours."""
        return cls(function) if is_ours(function) else None

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
