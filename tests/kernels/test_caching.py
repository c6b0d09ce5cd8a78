"""Compiled kernels are cached, also of a package in a wheel and without a home, and are keyed by
all kernel sources.
"""

import ast
import importlib
import inspect
import os
import pkgutil
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from numba.core.dispatcher import Dispatcher
from numba.extending import typeof_impl

import tclose_spark
from tclose_spark.kernels import caching, kernel

pytestmark = pytest.mark.more

PACKAGE = Path(tclose_spark.__file__).parent

PROGRAM = """
import sys
import numpy as np
from tclose_spark.kernels import caching, kernel
from tclose_spark.kernels.widths import LabelWidths, width
widths = LabelWidths(
    kinds=np.zeros(1, np.int8),
    domains=np.array([2]),
    missing=np.zeros(1, bool),
    place=np.array([[0.0, 0.5]]),
    nodes=np.zeros((1, 1, 2), np.int32),
    shares=np.zeros((1, 1, 2)),
    weights=np.ones(1),
    beyond=np.ones(1),
    reach=np.full((1, 2), 2, np.int32),
)
assert width(0, 0, 1, widths) == 0.5
assert caching.__file__.startswith(sys.argv[1]), caching.__file__
print(caching.folder(), sum(width.stats.cache_hits.values()))
"""


def run(where: Path, environment: dict[str, str]) -> tuple[Path, int]:
    """(the folder of the compiled kernels, hits of the cache) of a process that imports the package
    from a folder or an archive.
    """
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    }
    env |= {"PYTHONPATH": str(where), **environment}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(where)],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        cwd=where.parent,
    )
    assert done.returncode == 0, done.stderr
    folder, hits = done.stdout.split()
    return Path(folder), int(hits)


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """The package in an archive, as executors get it with --py-files."""
    with zipfile.ZipFile(tmp_path / "package.whl", "w") as archive:
        for file in sorted(PACKAGE.rglob("*.py")):
            archive.write(file, Path("tclose_spark") / file.relative_to(PACKAGE))
    return tmp_path / "package.whl"


def test_kernels_in_a_wheel_are_compiled_once(wheel: Path, tmp_path: Path) -> None:
    home = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    first, hits = run(wheel, home)
    assert first.is_relative_to(tmp_path / "cache" / "tclose_spark")
    assert hits == 0
    assert run(wheel, home) == (first, 1)


def test_without_a_home_they_are_kept_among_temporary_files(wheel: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "temporary").mkdir()
    nowhere = {"HOME": str(tmp_path / "file"), "TMPDIR": str(tmp_path / "temporary")}
    first, _ = run(wheel, nowhere)
    assert first.is_relative_to(tmp_path / "temporary")
    assert run(wheel, nowhere) == (first, 1)


def test_other_sources_have_other_kernels(tmp_path: Path) -> None:
    shutil.copytree(
        PACKAGE,
        tmp_path / "changed" / "tclose_spark",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    home = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    first, _ = run(tmp_path / "changed", home)
    with (tmp_path / "changed/tclose_spark/kernels/widths.py").open("a", encoding="utf-8") as file:
        file.write("# another one\n")
    second, hits = run(tmp_path / "changed", home)
    assert second != first
    assert hits == 0


def key_with(monkeypatch: pytest.MonkeyPatch, changed: str) -> str:
    """The key of the cache if one more line were in a module."""
    sources = caching._sources
    with monkeypatch.context() as patch:
        patch.setattr(
            caching,
            "_sources",
            lambda *where: (
                (name, text + "# changed" * (name == changed)) for name, text in sources(*where)
            ),
        )
        return caching.source_key.__wrapped__()


def modules() -> Iterator[ModuleType]:
    """Every module of the package that can be imported here."""
    for found in pkgutil.walk_packages([str(PACKAGE)], "tclose_spark."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def defines_kernels(module: ModuleType) -> bool:
    """Whether a kernel or a structure is defined in a module, in whatever form it imports the
    decorators.
    """
    own = [
        value
        for value in vars(module).values()
        if getattr(value, "__module__", None) == module.__name__
    ]
    return any(
        isinstance(value, Dispatcher) or value in typeof_impl.registry
        for value in own
        if callable(value)
    )


def test_a_change_in_any_module_that_defines_kernels_changes_the_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = caching.source_key()
    with_kernels = [module.__name__ for module in modules() if defines_kernels(module)]
    assert len(with_kernels) > 30
    assert "tclose_spark.kernels" in with_kernels
    for name in with_kernels:
        name += ".__init__" * hasattr(sys.modules[name], "__path__")
        assert key_with(monkeypatch, name) != key, name
    assert key_with(monkeypatch, "tclose_spark.runfile.spec") == key


IMPORTS = [
    "from tclose_spark.kernels import kernel\n@kernel",
    "from tclose_spark.kernels import kernel as fast\n@fast",
    "import tclose_spark.kernels as k\n@k.kernel",
    "from tclose_spark import kernels\n@kernels.kernel",
    "from ..kernels import (\n    kernel,\n)\n@kernel",
    "def make():\n    import tclose_spark.kernels.structures as s\n    return s.structure",
]


@pytest.mark.parametrize("text", IMPORTS)
def test_a_module_counts_in_whatever_form_it_imports_the_decorators(
    text: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = set()
    for name, more in (("here", ""), ("here", "\n# changed"), ("there", "")):
        monkeypatch.setattr(
            caching,
            "_sources",
            lambda *_, name=name, more=more: [(name, text + more)],
        )
        keys.add(caching.source_key.__wrapped__())
    assert len(keys) == 3  # compiled code also names the modules of its types


def test_kernels_take_what_they_use_from_modules_that_count() -> None:
    """Constants and functions are compiled into a kernel. So where a kernel's module imports them
    from, in whatever form, counts as well.
    """
    counted = {
        name.removesuffix(".__init__")
        for name, text in caching._sources(PACKAGE, "tclose_spark")
        if caching.NAMES_KERNELS.search(text)
    }
    for module in modules():
        kernels = [value for value in vars(module).values() if isinstance(value, Dispatcher)]
        used = {name for kernel in kernels for name in kernel.py_func.__code__.co_names}
        for node in ast.walk(ast.parse(inspect.getsource(module))) if used else ():
            if isinstance(node, ast.ImportFrom):
                source = importlib.util.resolve_name(
                    "." * node.level + (node.module or ""),
                    module.__package__,
                )
                taken = {
                    f"{source}.{a.name}" if f"{source}.{a.name}" in sys.modules else source: a
                    for a in node.names
                }
            elif isinstance(node, ast.Import):
                taken = {a.name: a for a in node.names}
            else:
                continue
            for source, alias in taken.items():
                if (
                    source.startswith("tclose_spark")
                    and (alias.asname or alias.name).partition(".")[0] in used
                ):
                    assert source in counted, (
                        f"{module.__name__} uses {alias.name} of {source} in a kernel"
                    )


def test_functions_of_others_are_kept_where_numba_keeps_them() -> None:
    from tclose_spark.kernels.caching import KernelCache
    from tclose_spark.kernels.widths import width

    assert KernelCache.from_function(run, __file__) is None
    assert KernelCache.from_function(width.py_func, "") is not None


def test_kernels_of_others_are_not_kept() -> None:
    """They hold compiled code of kernels here, which their own file does not name."""

    def twice(x: int) -> int:
        return 2 * x

    compiled: Any = kernel(twice)
    assert compiled(3) == 6
    assert compiled.stats.cache_path is None


def test_a_folder_that_others_may_write_to_is_not_used(wheel: Path, tmp_path: Path) -> None:
    (tmp_path / "cache/tclose_spark").mkdir(parents=True)
    (tmp_path / "cache/tclose_spark").chmod(0o777)
    (tmp_path / "temporary").mkdir()
    first, _ = run(
        wheel,
        {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "temporary")},
    )
    assert first.is_relative_to(tmp_path / "temporary")
    assert first.stat().st_mode & 0o077 == first.parent.stat().st_mode & 0o077 == 0
