"""What conf/kubernetes says is what is here: sources, commands, versions, settings of Spark; no
secret in arguments. (hadolint: make lint-images.)
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tomllib
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyspark
import pytest
import yaml

from tclose_spark import cli
from tclose_spark.io.spark.installation import ALREADY_IN_SPARK, minor, package
from tclose_spark.version import __version__

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "conf/kubernetes"
JARS = Path(pyspark.__file__).parent / "jars"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions and what they say, lines joined."""
    lines = [
        line for line in (HERE / "Dockerfile").read_text().splitlines() if not line.startswith("#")
    ]
    whole = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [
        (kind, said)
        for kind, _, said in (line.partition(" ") for line in whole.splitlines() if line)
    ]


def commands() -> list[list[str]]:
    """The commands that are run while the image is built."""
    runs = [said for kind, said in instructions() if kind == "RUN"]
    return [shlex.split(command) for run in runs for command in run.split("&&")]


def copied() -> list[str]:
    """What is copied from the project."""
    copies = [said.split() for kind, said in instructions() if kind == "COPY"]
    return [
        source for words in copies if not words[0].startswith("--from") for source in words[:-1]
    ]


def test_what_is_copied_is_there_and_is_let_into_the_build() -> None:
    wheel = f"dist/{PROJECT['name'].replace('-', '_')}-{__version__}-py3-none-any.whl"
    ignored = (HERE / "Dockerfile.dockerignore").read_text().split()
    assert ignored[0] == "*"
    assert len(copied()) == 4
    for source in copied():
        files = (
            [wheel]
            if source.startswith("dist/")
            else [str(path.relative_to(ROOT)) for path in ROOT.glob(source)]
        )
        assert files, source
        assert all(Path(file).match(source) for file in files)
        assert any(line.startswith(f"!{source}") for line in ignored), source


def test_stages_that_are_copied_from_are_there() -> None:
    stages = {
        said.split()[-1] for kind, said in instructions() if kind == "FROM" and " AS " in said
    }
    assert {said.split()[0] for kind, said in instructions() if kind == "FROM"} == {
        "python:3.11-slim-bookworm",
        "base",
    }
    assert (
        set(re.findall(r"--from=(\w+)", (HERE / "Dockerfile").read_text()))
        <= stages
        == {"base", "build"}
    )


@pytest.mark.skipif(minor(pyspark.__version__) != "4.1", reason="the image has Spark 4.1")
def test_the_image_has_the_versions_of_the_project() -> None:
    said = dict(text.split("=", 1) for kind, text in instructions() if kind == "ARG")
    pinned = dict(
        re.findall(
            r"^([\w-]+)==(\S+)",
            (ROOT / "requirements/image.txt").read_text(),
            re.MULTILINE,
        ),
    )
    assert said["DELTA"] == package(pinned["delta-spark"], pinned["pyspark"])
    (hadoop,) = JARS.glob("hadoop-client-api-*.jar")
    assert f"org.apache.hadoop:hadoop-aws:{hadoop.stem.removeprefix('hadoop-client-api-')}" in said[
        "STORE"
    ].split(",")
    known = set(ALREADY_IN_SPARK.split(",")) - {
        "org.apache.hadoop:*",
    }  # of which the store's connector is
    known |= {f"org.apache.hadoop:hadoop-client-{part}" for part in ("api", "runtime")}
    assert known < set(said["IN_SPARK"].split(","))
    assert pinned["pyspark"] == pyspark.__version__
    assert "pytest" not in pinned
    of_tests = dict(
        re.findall(r"^([\w-]+)==(\S+)", (ROOT / "requirements/dev.txt").read_text(), re.MULTILINE),
    )
    assert pinned.items() <= of_tests.items()


def test_the_image_is_built_by_commands_that_are_there() -> None:
    said = [command for command in commands() if command[0] == "tclose"]
    assert said == [["tclose", "compile", "--to", "/opt/tclose/kernels"]]
    assert "--to" in {flag for option in _options("compile") for flag in option}
    (installed,) = [command for command in commands() if "--require-hashes" in command]
    assert installed[-1] == "/tmp/build/image.txt"
    variables = dict(
        re.findall(
            r"(\w+)=(\S*)",
            " ".join(said for kind, said in instructions() if kind == "ENV"),
        ),
    )
    assert variables["NUMBA_CACHE_DIR"] == "/opt/tclose/kernels"
    assert {"NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"} <= variables.keys()
    assert (
        variables["SPARK_HOME"].removeprefix("/opt/venv/") == "lib/python3.11/site-packages/pyspark"
    )


def _options(name: str) -> list[list[str]]:
    import typer

    command = typer.main.get_command(cli.app)
    return [list(parameter.opts) for parameter in command.commands[name].params]  # type: ignore[attr-defined]


def test_the_image_runs_as_no_root_and_names_no_address() -> None:
    users = [said for kind, said in instructions() if kind == "USER"]
    assert users == ["185:185"]
    assert [kind for kind, _ in instructions()].index("USER") > max(
        i for i, (kind, _) in enumerate(instructions()) if kind in ("RUN", "COPY")
    )
    for file in HERE.iterdir():
        assert not re.search(r"https?://(?!host[:/])", file.read_text()), file
    pod = yaml.safe_load((HERE / "pod.yaml").read_text())["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == int(users[0].partition(":")[0])
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }


# --- what Spark asks of an image


@pytest.fixture
def spoken(tmp_path: Path) -> Any:
    """What the entry point runs, as words: `java` and `spark-submit` only say what they are
    given.
    """
    for name in ("java", "spark-submit"):
        (tmp_path / name).write_text(
            '#!/usr/bin/env bash\nprintf "%s\\n" "$(basename "$0")" "$@"\n',
        )
        (tmp_path / name).chmod(0o755)

    def run(*arguments: str, **variables: str) -> list[str]:
        env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SPARK_HOME": "/spark", **variables}
        done = subprocess.run(
            [HERE / "entrypoint.sh", *arguments],
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()

    return run


def test_the_driver_is_submitted_as_a_client(spoken: Any) -> None:
    words = spoken(
        "driver",
        "--properties-file",
        "p",
        "local:///job.py",
        SPARK_DRIVER_BIND_ADDRESS="10.0.0.1",
    )
    assert words == [
        "spark-submit",
        "--deploy-mode",
        "client",
        "--conf",
        "spark.driver.bindAddress=10.0.0.1",
        "--properties-file",
        "p",
        "local:///job.py",
    ]


def test_an_executor_is_given_all_that_spark_says(spoken: Any) -> None:
    names = set(re.findall(r"\$\{?(SPARK_[A-Z_]+)", (HERE / "entrypoint.sh").read_text()))
    names -= {"SPARK_HOME", "SPARK_CLASSPATH"}
    with zipfile.ZipFile(next(JARS.glob("spark-kubernetes_*.jar"))) as jar:
        known = b"".join(jar.read(name) for name in jar.namelist() if name.endswith(".class"))
    assert len(names) == 10
    assert all(
        name.encode() in known for name in {*names, "SPARK_JAVA_OPT_", "KubernetesExecutorBackend"}
    )
    options = {"SPARK_JAVA_OPT_10": "-Dlast=1", "SPARK_JAVA_OPT_2": "-Dfirst=a b"}
    words = spoken(
        "executor",
        **{name: name.lower() for name in names},
        **options,
        SPARK_CLASSPATH="/more",
    )
    assert words[:5] == [
        "java",
        "-Dfirst=a b",
        "-Dlast=1",
        "-Xmsspark_executor_memory",
        "-Xmxspark_executor_memory",
    ]
    assert words[5:7] == ["-cp", "spark_conf_dir:/more:/spark/jars/*"]
    assert words[7].rpartition(".")[2] == "KubernetesExecutorBackend"
    assert dict(zip(words[8::2], words[9::2], strict=True)) == {
        "--driver-url": "spark_driver_url",
        "--executor-id": "spark_executor_id",
        "--cores": "spark_executor_cores",
        "--app-id": "spark_application_id",
        "--hostname": "spark_executor_pod_ip",
        "--resourceProfileId": "spark_resource_profile_id",
        "--podName": "spark_executor_pod_name",
    }


def test_another_command_runs_as_it_is(spoken: Any) -> None:
    assert spoken("java", "-version") == ["java", "-version"]


# --- a submission


@pytest.fixture
def submitted(tmp_path: Path) -> list[str]:
    """The words of spark-submit, and the exit code that kubectl tells of the pod."""
    words = tmp_path / "words"
    (tmp_path / "spark-submit").write_text(f'#!/usr/bin/env bash\nprintf "%s\\n" "$@" > {words}\n')
    (tmp_path / "kubectl").write_text("#!/usr/bin/env bash\necho 3\n")
    for name in ("spark-submit", "kubectl"):
        (tmp_path / name).chmod(0o755)
    env = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "MASTER": "k8s://https://host:6443",
        "IMAGE": "tclose_spark:0.1.0",
        "TCLOSE_SECRET": "a long text that only its owner has",
    }
    done = subprocess.run(
        [HERE / "submit.sh", "--overwrite"],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    return words.read_text().splitlines()


def test_a_submission_says_settings_that_spark_has(submitted: list[str]) -> None:
    settings = dict(
        word.split("=", 1) for before, word in pairwise(submitted) if before == "--conf"
    )
    with zipfile.ZipFile(next(JARS.glob("spark-kubernetes_*.jar"))) as jar:
        known = b"".join(jar.read(name) for name in jar.namelist() if name.endswith(".class"))
    with zipfile.ZipFile(next(JARS.glob("spark-core_*.jar"))) as jar:
        known += b"".join(jar.read(name) for name in jar.namelist() if "internal/config" in name)
    assert len(settings) == 17
    unknown = {re.sub(r"(?<=secretKeyRef\.).*", "", key) for key in settings}
    unknown = {key for key in unknown if key.encode() not in known}
    assert unknown == {
        "spark.kubernetes.authenticate.driver.serviceAccountName",
    }  # put together from constants
    assert b"serviceAccountName" in known
    assert Path(settings["spark.kubernetes.driver.podTemplateFile"]).resolve() == HERE / "pod.yaml"


def test_a_submission_names_the_secret_and_does_not_hold_it(submitted: list[str]) -> None:
    assert "spark.kubernetes.driver.secretKeyRef.TCLOSE_SECRET=tclose:secret" in submitted
    assert not any("only its owner" in word for word in submitted)


def test_a_submission_runs_a_job_of_the_image_on_the_run_file_of_the_pod(
    submitted: list[str],
) -> None:
    job = submitted[submitted.index("--config") - 1]
    assert job == "local:///opt/tclose/jobs/release.py"
    assert (ROOT / "jobs" / Path(job).name).is_file()
    run_file = Path(submitted[submitted.index("--config") + 1])
    (container,) = yaml.safe_load((HERE / "pod.yaml").read_text())["spec"]["containers"]
    assert str(run_file.parent) in {mount["mountPath"] for mount in container["volumeMounts"]}
    assert submitted[-1] == "--overwrite"
