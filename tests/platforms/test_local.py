"""Releases where there is neither Spark nor Java, in an environment of their own: `make
test-local`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if not re.match("JAVA|SPARK|TCLOSE|PYTHON", name)
}
PEOPLE = "".join(
    f"{age},{'fm'[age % 2]},{('flu', 'gout', 'ulcer')[age % 3]}\n" for age in range(20, 80)
)
RELEASE = """
import sys
sys.modules["pyspark"] = sys.modules["py4j"] = None  # an import of either fails
import tclose_spark as tc
people = {"path": "patients.csv", "format": "csv", "options": {"header": "true"}}
made = tc.release(None, {"input": people, **SPEC}, output="out", log=None)
print(made.certificate["verdict"], len(made.to_pandas()), tc.audit(made.path + "/release", ["age", "sex"], k=5).holds)
"""

alone = pytest.mark.skipif(
    find_spec("pyspark") is not None,
    reason="an environment without pyspark: make test-local",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder with the table of people."""
    (tmp_path / "patients.csv").write_text("age,sex,diagnosis\n" + PEOPLE)
    return tmp_path


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A command of the environment, which finds no Java."""
    environment = {**ENVIRONMENT, "PATH": str(BIN)}
    return subprocess.run(
        [BIN / command[0], *command[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def run_file() -> str:
    """The run file of the README."""
    (example,) = re.findall(r"```yaml\n(.*?)```", README, flags=re.DOTALL)
    return str(example)


@alone
def test_the_lines_for_the_shell_run(folder: Path) -> None:
    section = README.split("## From the shell")[1]
    commands = [
        line.partition("#")[0].split()
        for line in re.findall(r"^    (tclose .*)", section, re.MULTILINE)
    ]
    assert [command[1] for command in commands] == [
        "suggest",
        "compare",
        "release",
        "verify",
        "audit",
    ]
    for command in commands:
        ended = run(folder, *command)
        assert (ended.returncode, command) == (0, command), ended.stderr
    assert (folder / "patients_release/public/certificate.json").exists()


@alone
def test_the_run_file_makes_a_release(folder: Path) -> None:
    (folder / "short.yaml").write_text(run_file())
    ended = run(folder, "tclose", "release", "short.yaml")
    assert (ended.returncode, ended.stdout.splitlines()[0]) == (0, "patients: the release holds"), (
        ended.stderr
    )
    assert "engine     local: " in ended.stderr


@alone
@pytest.mark.parametrize(
    "command",
    [
        ["release", "short.yaml", "--engine", "spark"],
        ["release", "short.yaml", "--set", "input.options.quote=x"],
        ["release", "short.yaml", "--set", "input={path: people, format: table}"],
    ],
)
def test_what_needs_spark_ends_with_one_line(folder: Path, command: list[str]) -> None:
    (folder / "short.yaml").write_text(run_file())
    ended = run(folder, "tclose", *command)
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert re.match("error: .*([Ss]park|Java)", line)


def test_a_release_imports_nothing_of_spark_even_where_it_is_installed(folder: Path) -> None:
    example = yaml.safe_load(run_file())
    spec = {key: example[key] for key in ("attributes", "privacy")}
    ended = run(folder, "python", "-c", f"SPEC = {spec!r}{RELEASE}")
    assert (ended.returncode, ended.stdout) == (0, "holds 60 True\n"), ended.stderr
