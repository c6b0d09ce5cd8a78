"""Compiled kernels are kept, also of a package in a wheel and without a home, and are found again by what the sources
say.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tclose_spark

PACKAGE = Path(tclose_spark.__file__).parent

PROGRAM = """
import sys
import numpy as np
from tclose_spark.kernels import caching
from tclose_spark.kernels.widths import LabelWidths, width
widths = LabelWidths(
    kinds=np.zeros(1, np.int8),
    domains=np.array([2]),
    missing=np.zeros(1, bool),
    place=np.array([[0.0, 0.5]]),
    nodes=np.zeros((1, 1, 2), np.int32),
    shares=np.zeros((1, 1, 2)),
    weights=np.ones(1),
)
assert width(0, 0, 1, widths) == 0.5
assert caching.__file__.startswith(sys.argv[1]), caching.__file__
print(caching.folder("tclose_spark.methods.closeness_tree.carve.tree"), sum(width.stats.cache_hits.values()))
"""


def run(where: Path, environment: dict[str, str]) -> tuple[Path, int]:
    """(the folder of the compiled kernels, hits of the cache) of a process that imports the package from a folder or an
    archive.
    """
    env = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
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
    shutil.copytree(PACKAGE, tmp_path / "changed" / "tclose_spark", ignore=shutil.ignore_patterns("__pycache__"))
    home = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    first, _ = run(tmp_path / "changed", home)
    with (tmp_path / "changed/tclose_spark/kernels/widths.py").open("a", encoding="utf-8") as file:
        file.write("# another one\n")
    second, hits = run(tmp_path / "changed", home)
    assert second != first
    assert hits == 0


@pytest.mark.parametrize(
    ("changed", "module", "anew"),
    [
        ("methods/closeness_tree/carve/peel.py", "methods.closeness_tree.carve.tree", True),  # of a module with kernels
        ("methods/blocks/numerators.py", "methods.closeness_tree.carve.tree", True),  # in another folder of methods
        ("methods/blocks/requirement.py", "methods.closeness_tree.exchange.splits", True),  # constants only
        ("kernels/widths.py", "methods.dealing.nearest", True),  # in another folder
        ("methods/blocks/numerators.py", "methods.dealing.nearest", False),
        ("runfile/spec.py", "methods.closeness_tree.carve.tree", False),
    ],
)
def test_kernels_are_compiled_anew_if_what_they_are_made_of_changes(
    changed: str, module: str, anew: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tclose_spark.kernels import caching

    before, name = (
        caching.sources.__wrapped__(f"tclose_spark.{module}"),
        f"tclose_spark.{changed[:-3].replace('/', '.')}",
    )
    source = caching._source
    monkeypatch.setattr(
        caching, "_source", lambda asked: source(asked) and source(asked) + "# changed" * (asked == name)
    )
    assert (caching.sources.__wrapped__(f"tclose_spark.{module}") != before) == anew


def test_a_module_that_moved_has_other_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    from tclose_spark.kernels import caching

    monkeypatch.setattr(caching, "_source", lambda name: "@kernel")
    assert caching.sources.__wrapped__("tclose_spark.here") != caching.sources.__wrapped__("tclose_spark.there")


def test_functions_of_others_are_kept_where_numba_keeps_them() -> None:
    from tclose_spark.kernels.caching import KernelCache
    from tclose_spark.kernels.widths import width

    assert KernelCache.from_function(run, __file__) is None
    assert KernelCache.from_function(width.py_func, "") is not None


def test_a_folder_that_others_may_write_to_is_not_used(wheel: Path, tmp_path: Path) -> None:
    (tmp_path / "cache/tclose_spark").mkdir(parents=True)
    (tmp_path / "cache/tclose_spark").chmod(0o777)
    (tmp_path / "temporary").mkdir()
    first, _ = run(wheel, {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "temporary")})
    assert first.is_relative_to(tmp_path / "temporary")
    assert first.stat().st_mode & 0o077 == first.parent.stat().st_mode & 0o077 == 0
