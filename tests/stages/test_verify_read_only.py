"""`tclose verify --finished` of an output that is read-only: a snapshot, an archive, the folder of
somebody else.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tclose_spark import pipeline
from tclose_spark.engine.protocol import Session
from tclose_spark.errors import ConfigurationError, GuaranteeError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run
from tclose_spark.io.storage.lock import LOCK
from tclose_spark.runfile.loading import load_spec

pytestmark = pytest.mark.more

PEOPLE = pa.table(
    {
        "age": [20 + i % 9 for i in range(24)],
        "sex": ["f", "m"] * 12,
        "disease": ["flu", "gout"] * 12,
    },
)
DROP_FROM_BOUNDING_SET, DAC_OVERRIDE = 24, 1


@pytest.fixture(scope="module")
def conf(write_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run file of a finished release."""
    path = write_run(tmp_path_factory.mktemp("finished"), PEOPLE)
    pipeline.release(Run(load_spec(path), LocalSession(), lambda line: None))
    return path


@pytest.fixture
def output(conf: Path, tmp_path: Path) -> Iterator[Path]:
    """A read-only copy of the output."""
    output = shutil.copytree(conf.parent / "out", tmp_path / "out")
    everything = [output, *output.rglob("*")]
    for path in everything:
        path.chmod(path.stat().st_mode & ~0o222)
    yield output
    for path in everything:
        if path.exists():
            path.chmod(path.stat().st_mode | 0o200)


def respect_modes() -> None:
    """Makes the next program respect modes of files, also if root runs it."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(DROP_FROM_BOUNDING_SET, DAC_OVERRIDE, 0, 0, 0)


def run_as_reader(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        preexec_fn=respect_modes,
        capture_output=True,
        text=True,
        check=False,
    )


def times(output: Path) -> dict[Path, int]:
    """When each file and folder changed."""
    return {path: path.stat().st_mtime_ns for path in (output, *output.rglob("*"))}


def test_it_is_judged_where_nothing_can_be_written(conf: Path, output: Path) -> None:
    if not run_as_reader("-c", f"open({str(output / 'x')!r}, 'w')").returncode:
        pytest.skip("this user writes to read-only folders")
    before = times(output)
    verify = (
        "-m",
        "tclose_spark",
        "verify",
        conf,
        "--set",
        f"output.path={output}",
        "--engine",
        "local",
    )
    done = run_as_reader(*verify, "--finished")
    assert (done.returncode, done.stderr.splitlines()[-1][-26:]) == (
        0,
        "the finished release holds",
    )
    assert times(output) == before
    (part,) = (output / "public/release").glob("part-*.parquet")
    part.chmod(0o644)
    pq.write_table(pq.read_table(part).slice(1), part)
    done = run_as_reader(*verify, "--finished")
    assert (done.returncode, f"{part.name} was changed" in done.stderr) == (1, True)


@pytest.fixture(params=["local", "spark"])
def session(request: pytest.FixtureRequest) -> Session:
    """A session of each engine."""
    return LocalSession() if request.param == "local" else request.getfixturevalue("spark")


def opened(conf: Path, output: Path, session: Session) -> Run:
    return Run(load_spec(conf, [f"output.path={output}"]), session, lambda line: None)


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs that are read-only for this user, whoever that is."""
    monkeypatch.setattr(Run, "is_writable", False)


@pytest.mark.usefixtures("closed")
def test_nothing_is_written_on_either_engine(conf: Path, output: Path, session: Session) -> None:
    before, run = times(output), opened(conf, output, session)
    with run.locked(to_read=True):
        assert pipeline.verify(run, finished=True).holds
    assert times(output) == before


@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize("what", ["is replaced", "is locked"])
def test_a_release_that_is_replaced_meanwhile_is_not_called_broken(
    conf: Path,
    output: Path,
    what: str,
) -> None:
    run, internal = opened(conf, output, LocalSession()), output / "internal"
    with (  # noqa: PT012
        pytest.raises(ConfigurationError, match="is being written by another run"),
        run.locked(to_read=True),
    ):
        internal.chmod(0o700)
        if what == "is replaced":
            (internal / "run.json").chmod(0o600)
            (internal / "run.json").write_text("{}")
        else:
            (internal / LOCK).touch()
        raise GuaranteeError("it does not hold")


@pytest.mark.usefixtures("closed")
def test_a_release_that_does_not_hold_is_called_so(conf: Path, output: Path) -> None:
    with (
        pytest.raises(GuaranteeError, match="not hold"),
        opened(conf, output, LocalSession()).locked(to_read=True),
    ):
        raise GuaranteeError("it does not hold")
