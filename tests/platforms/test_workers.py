"""A cluster whose workers' Python has not this package: it comes with the job, as its wheel beside
what it needs, or in an environment that is packed whole. One fingerprint. Needs what `make
test-clusters` installs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import test_cluster
from conftest import draw_people
from standalone import SPARK_HOME
from test_cluster import BIN, PACKAGES, published

ROOT = Path(__file__).resolve().parents[2]
WORKERS = ROOT / ".venv-workers"
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not WORKERS.is_dir(), reason="made by make test-clusters"),
]


@pytest.fixture(scope="module", autouse=True)
def no_python_path() -> Iterator[None]:
    """Nothing but what is submitted leads workers to the package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONPATH", raising=False)
        patch.setenv("SPARK_HOME", str(SPARK_HOME))
        yield


cluster = test_cluster.cluster


@pytest.fixture(scope="module")
def conf(write_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(
        tmp_path_factory.mktemp("people"),
        draw_people(3, 300),
        quasi={
            "age": {"type": "numeric"},
            "sex": {"generalization": "set"},
            "city": {"hierarchy": "cities.csv"},
        },
        sensitive={"disease": {"t": "0.4"}, "grade": {"distance": "ordered", "t": "0.4"}},
        k=8,
        method={"name": "closeness_tree"},
        drop_others=True,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `make dist` builds it, from a copy of the sources."""
    copy = tmp_path_factory.mktemp("sources")
    for name in SOURCES:
        shutil.copy(ROOT / name, copy / name)
    shutil.copytree(
        ROOT / "tclose_spark",
        copy / "tclose_spark",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    build = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        copy / "dist",
        copy,
    ]
    subprocess.run(build, check=True, capture_output=True)
    (made,) = (copy / "dist").glob("*.whl")
    return made


@pytest.fixture(scope="module")
def zipped(wheel: Path) -> Path:
    """The wheel under a name that Spark puts on the path of Python: that of a zip file, which it
    is.
    """
    return Path(shutil.copy(wheel, wheel.parent / "tclose_spark.zip"))


@pytest.fixture(scope="module")
def packed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workers' environment with the wheel in it, packed."""
    folder = tmp_path_factory.mktemp("packed")
    python = folder / "environment/bin/python"
    shutil.copytree(WORKERS, folder / "environment", symlinks=True)
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run(install, check=True, capture_output=True)
    archive = folder / "environment.tar.gz"
    pack = [
        python,
        "-m",
        "venv_pack",
        "--prefix",
        folder / "environment",
        "--output",
        archive,
        "--compress-level",
        "1",
    ]
    subprocess.run(pack, check=True, capture_output=True)
    shutil.rmtree(folder / "environment")
    with tarfile.open(archive) as held:
        assert any(
            name.endswith("site-packages/tclose_spark/pipeline.py") for name in held.getnames()
        )
    return archive


def run(job: str, conf: Path, output: Path, *options: object) -> subprocess.CompletedProcess[str]:
    """spark-submit of a job, from a Python that has the package."""
    submitted = [
        BIN / "spark-submit",
        "--packages",
        PACKAGES,
        *options,
        ROOT / "jobs" / f"{job}.py",
    ]
    command = [*submitted, "--config", conf, "--set", f"output.path={output}"]
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK_")}
    env["PYTHONPATH"] = str(ROOT)  # of the driver alone
    return subprocess.run(
        list(map(str, command)),
        env=env,
        cwd=conf.parent,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def on(url: str, python: object) -> list[object]:
    """The options of a cluster whose workers have this Python, and the driver ours."""
    settings = {
        "spark.executor.memory": "700m",
        "spark.pyspark.python": python,
        "spark.pyspark.driver.python": sys.executable,
    }
    return [
        "--master",
        url,
        *[part for key, value in settings.items() for part in ("--conf", f"{key}={value}")],
    ]


@pytest.fixture(scope="module")
def fingerprint(conf: Path, zipped: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of the release in local mode."""
    output = tmp_path_factory.mktemp("local")
    done = run("release", conf, output, *on("local[2]", sys.executable), "--py-files", zipped)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:]
    return published(output)


def test_workers_without_the_package_do_nothing(
    cluster: tuple[str, Path],
    conf: Path,
    tmp_path: Path,
) -> None:
    done = run("profile", conf, tmp_path / "out", *on(cluster[0], WORKERS / "bin/python"))
    assert done.returncode == 2, done.stderr[-2000:]
    said = done.stdout + done.stderr  # spark-submit gives all that Python says to stdout
    assert "the Python of Spark's workers has no package 'tclose_spark'" in said
    assert "Traceback" not in said
    assert not (tmp_path / "out/internal/staging/profile.json").exists()


def test_the_wheel_comes_with_the_job(
    cluster: tuple[str, Path],
    conf: Path,
    fingerprint: str,
    zipped: Path,
    tmp_path: Path,
) -> None:
    done = run(
        "release",
        conf,
        tmp_path / "out",
        *on(cluster[0], WORKERS / "bin/python"),
        "--py-files",
        zipped,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert published(tmp_path / "out") == fingerprint


def test_a_packed_environment_comes_with_the_job(
    cluster: tuple[str, Path],
    conf: Path,
    fingerprint: str,
    packed: Path,
    tmp_path: Path,
) -> None:
    options = [*on(cluster[0], "./environment/bin/python"), "--archives", f"{packed}#environment"]
    done = run("release", conf, tmp_path / "out", *options)
    assert done.returncode == 0, done.stderr[-2000:]
    assert published(tmp_path / "out") == fingerprint
