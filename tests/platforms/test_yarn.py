"""Yarn with HDFS: releases in client mode and in cluster mode, input and output on HDFS. One
fingerprint.

The daemons are Hadoop's own, from the jars that `make test-yarn` brings; the Python of containers
is that of test_workers.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import test_workers
from conftest import undated
from servers import set_by_conf
from standalone import SPARK_HOME
from test_cluster import BIN, PACKAGES, ROOT
from yarn import JARS, Hadoop, hadoop

from tclose_spark import pipeline
from tclose_spark.io.run import Run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (JARS.is_dir() and test_workers.WORKERS.is_dir()),
        reason="made by make test-yarn",
    ),
]

no_python_path, conf, wheel = test_workers.no_python_path, test_workers.conf, test_workers.wheel
zipped, packed = test_workers.zipped, test_workers.packed
SETTINGS = {
    "spark.yarn.jars": f"local:{SPARK_HOME}/jars/*",  # the nodes have Spark
    "spark.executor.instances": 2,
    "spark.executor.memory": "700m",
    "spark.executor.memoryOverheadFactor": "0.6",
    "spark.ui.enabled": "false",
}


@pytest.fixture(scope="module")
def cluster(conf: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hadoop]:
    """Two nodes, and the people on HDFS."""
    with hadoop(tmp_path_factory.mktemp("hadoop")) as made:
        made.shell("-mkdir", "-p", "/raw")
        made.shell("-put", conf.parent / "people.parquet", conf.parent / "cities.csv", "/raw")
        yield made


@pytest.fixture(scope="module")
def submit(cluster: Hadoop, conf: Path) -> Callable[..., dict[str, Any]]:
    """`submit(output, run_file, option, ...)`: the certificate of a release to a folder of HDFS."""

    def run(
        output: str,
        run_file: object,
        *options: object,
        secret: str = "",
        more: str = "",
    ) -> dict[str, Any]:
        sets = (
            f"output.path={cluster.url}{output}",
            f"input.path={cluster.url}/raw/people.parquet",
        )
        job = [
            ROOT / "jobs/release.py",
            "--config",
            run_file,
            *(part for one in sets for part in ("--set", one)),
            *more.split(),
        ]
        command = [
            BIN / "spark-submit",
            "--master",
            "yarn",
            "--packages",
            PACKAGES,
            *set_by_conf(SETTINGS),
            *options,
        ]
        env = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("PYTHON", "PYSPARK_", "TCLOSE_"))
        }
        env |= cluster.environment()
        env |= (
            {"PYTHONPATH": str(ROOT), "TCLOSE_SECRET": secret} if secret else {}
        )  # of the driver here
        done = subprocess.run(
            list(map(str, [*command, *job])),
            env=env,
            cwd=conf.parent,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        made: dict[str, Any] = json.loads(
            cluster.shell("-cat", f"{output}/public/certificate.json"),
        )
        return made

    return run


@pytest.fixture(scope="module")
def in_cluster_mode(
    submit: Callable[..., dict[str, Any]],
    conf: Path,
    packed: Path,
) -> dict[str, Any]:
    """The certificate of a release whose driver is a container; the first run, which makes the
    secret.
    """
    settings = {"spark.pyspark.python": "./environment/bin/python", "spark.driver.memory": "1g"}
    options = [
        "--deploy-mode",
        "cluster",
        *set_by_conf(settings),
        "--archives",
        f"{packed}#environment",
    ]
    return submit(
        "/releases/cluster",
        conf.name,
        *options,
        "--files",
        f"{conf},{conf.parent}/cities.csv",
    )


@pytest.fixture(scope="module")
def secret(cluster: Hadoop, in_cluster_mode: dict[str, Any]) -> str:
    """The one that the run in cluster mode made."""
    return cluster.shell("-cat", "/releases/cluster/internal/secret").strip()


@pytest.fixture(scope="module")
def expected(
    secret: str,
    conf: Path,
    open_run: Callable[..., Run],
    tmp_path_factory: pytest.TempPathFactory,
) -> Any:
    """The certificate of a release in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TCLOSE_SECRET", secret)
        return pipeline.release(
            open_run(conf, f"output.path={tmp_path_factory.mktemp('local')}/out"),
        )


def test_in_cluster_mode(
    in_cluster_mode: dict[str, Any],
    expected: dict[str, Any],
    cluster: Hadoop,
) -> None:
    assert undated(in_cluster_mode) == undated(expected)
    assert cluster.shell("-stat", "%a", "/releases/cluster/internal").strip() == "700"


def test_in_client_mode_a_release_is_replaced_as_a_whole(
    submit: Callable[..., dict[str, Any]],
    conf: Path,
    zipped: Path,
    secret: str,
    expected: dict[str, Any],
    cluster: Hadoop,
) -> None:
    python = {
        "spark.pyspark.python": test_workers.WORKERS / "bin/python",
        "spark.pyspark.driver.python": sys.executable,
    }
    options = [*set_by_conf(python), "--py-files", zipped]
    made = submit("/releases/client", conf, *options, secret=secret)
    assert undated(made) == undated(expected)
    again = submit("/releases/client", conf, *options, secret=secret, more="--overwrite")
    assert undated(again) == undated(expected)
    left = {
        line.rpartition("/")[2] for line in cluster.shell("-ls", "-C", "/releases/client").split()
    }
    assert left == {"public", "internal"}
