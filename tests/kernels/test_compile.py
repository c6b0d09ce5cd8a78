"""`tclose compile`: a release after it compiles nothing, in the driver or in a worker, whatever its
method and settings; also from a folder that it may not write to.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tclose_spark import cli, pipeline
from tclose_spark.kernels import caching

pytestmark = pytest.mark.more

ROOT = Path(__file__).resolve().parents[2]
RELEASE = """
import sys
sys.path[:0] = [{tests!r}]
from pathlib import Path
from conftest import write_run_file
from test_fingerprints import RUNS, people
from tclose_spark import cli
for number, name in enumerate({names!r}):
    folder = Path({folder!r}) / str(number)
    folder.mkdir()
    asked = dict(RUNS[name])
    table = people(asked.pop("rows", 300))
    assert cli.main(["release", str(write_run_file(folder, table, drop_others=True, **{{"k": 4, **asked}}))]) == 0
"""
NAMES = [
    "tree, balanced, ordered",
    "tree, four attributes",
    "dealt in layers",
    "fragments, measured",
    "microaggregation, refined, two attributes",
    "sabre",
]

CALLED = """
__init__.log2 anneal.propose buckets._form canary.store_many canary.store_one changes.count_all
changes.loss changes.repack cutting._grow even_blocks._merge figures._measure_classes
figures._width_sum goal.add_up layers._lower layers._measure maximum_emd._sweep mdav._microaggregate
nearest._generate partition.draw reshape.reshape rounds.merge_all scatter.dissolve_all
splits.split_all sweeps.sweep_moves sweeps.sweep_swaps tree._divide
"""
"""The kernels that Python calls. Only they are machine code with a file in the cache."""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all kernels."""
    folder = tmp_path_factory.mktemp("kernels")
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from tclose_spark.cli import app; app()",
            "compile",
            "--to",
            str(folder),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"kept in {folder}" in done.stdout
    assert "kernels compiled: 0;" not in done.stdout
    return folder


def kernels(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*.nb[ci]")}


@pytest.mark.slow
def test_releases_after_it_compile_nothing(compiled: Path, tmp_path: Path) -> None:
    before = kernels(compiled)
    assert sorted({Path(name).name.partition("-")[0] for name in before}) == CALLED.split()
    program = RELEASE.format(tests=str(ROOT / "tests"), names=NAMES, folder=str(tmp_path))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(compiled)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert kernels(compiled) == before


@pytest.mark.slow
def test_what_others_may_only_read_is_copied(
    compiled: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = Path(caching.folder.__wrapped__()).name
    shutil.copytree(compiled, tmp_path / "image")
    image = tmp_path / "image" / "tclose_spark"
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "image"))
    monkeypatch.setattr(caching.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    monkeypatch.setattr(
        caching,
        "is_mine_alone",
        lambda path, or_root=False: or_root or "image" not in str(path),
    )
    found = Path(caching.folder.__wrapped__())
    assert found.is_relative_to(tmp_path / "temporary")
    copied = {file.name: file.read_bytes() for file in found.iterdir()}
    assert copied
    assert copied == {file.name: file.read_bytes() for file in (image / kept).glob("*.nb[ci]")}
    monkeypatch.setattr(
        caching,
        "is_mine_alone",
        lambda path, or_root=False: "image" not in str(path),
    )
    shutil.rmtree(found)
    assert list(Path(caching.folder.__wrapped__()).iterdir()) == []


PLAN = """
import sys
from pathlib import Path
from tclose_spark import pipeline
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run
from tclose_spark.kernels import progress
from tclose_spark.runfile.loading import load_spec
progress.SECONDS = 0.0
run = Run(load_spec(Path(sys.argv[1])), LocalSession(), print)
pipeline.profile(run)
pipeline.plan(run)
"""


@pytest.mark.slow
def test_the_first_plan_reports_that_kernels_are_compiled(
    tmp_path: Path,
    write_run: Callable[..., Path],
) -> None:
    """Once: with kernels in the cache, it does not. In processes of their own, because kernels stay
    in the memory of one that has compiled them.
    """
    table = pa.table({"age": list(range(20, 60)), "disease": ["flu", "gout"] * 20})
    conf = write_run(
        tmp_path,
        table,
        quasi={"age": {"type": "numeric"}},
        sensitive={"disease": {"t": "0.5"}},
        k=4,
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    reported = []
    for _ in range(2):
        said = subprocess.run(
            [sys.executable, "-c", PLAN, str(conf)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        reported.append((pipeline.NO_KERNELS in said, "of at most" in said))
    assert reported == [(True, True), (False, False)]


def test_the_folder_is_for_all_users_to_read_and_for_one_to_write(compiled: Path) -> None:
    folders = [compiled / "tclose_spark", *(compiled / "tclose_spark").iterdir()]
    assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o755}


def test_a_folder_that_cannot_be_is_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "file").touch()
    caching.folder.cache_clear()
    assert cli.main(["compile", "--to", str(tmp_path / "file")]) == 2
    assert "--to" in capsys.readouterr().err


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test says of the cache is forgotten after it."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", os.environ.get("NUMBA_CACHE_DIR", ""))
    yield
    caching.folder.cache_clear()
