"""What conf/airflow and conf/databricks say is what is here: stages, files, settings; and no secret
in arguments. (Under the platforms themselves: tests/platforms.)
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tclose_spark import cli
from tclose_spark.cli import process
from tclose_spark.io.run_state import ORDER
from tclose_spark.runfile.loading import load_spec

ROOT = Path(__file__).resolve().parents[2]
DAG = ROOT / "conf/airflow/tclose_release.py"
BUNDLE = ROOT / "conf/databricks"


def test_the_stages_of_the_dag_are_jobs() -> None:
    tree = ast.parse(DAG.read_text())
    (retries,) = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "RETRIES"
    ]
    assert tuple(retries) == ORDER
    assert all((ROOT / f"jobs/{stage}.py").is_file() for stage in retries)
    assert retries["verify"] == 0


def test_the_dag_hands_no_secret_to_arguments() -> None:
    tree = ast.parse(DAG.read_text())
    functions = {
        node.name: ast.unparse(node).lower()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }
    for name in ("arguments_of", "overrides_of", "stage"):
        body = functions[name].replace("nothing of it is a secret: command lines are logged.", "")
        assert "secret" not in body
        assert "env_vars" not in body


@pytest.fixture
def job() -> Any:
    return yaml.safe_load((BUNDLE / "resources/release.job.yml").read_text())["resources"]["jobs"][
        "tclose_release"
    ]


def test_the_bundle_runs_the_stages_in_order(job: Any) -> None:
    tasks = job["tasks"]
    assert tuple(task["task_key"] for task in tasks) == ORDER
    assert [task.get("depends_on", []) for task in tasks] == [
        [],
        *[[{"task_key": stage}] for stage in ORDER[:-1]],
    ]
    assert {task["task_key"]: task["max_retries"] for task in tasks} == dict.fromkeys(ORDER, 2) | {
        "verify": 0,
    }
    assert job["max_concurrent_runs"] == 1


def test_the_bundles_tasks_are_commands_of_this_package(job: Any, tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    conf = tmp_path / "run.yaml"
    conf.write_text(
        "{name: a, input: {path: raw, format: table}, output: {path: out}, privacy: {k: 5}, "
        "attributes: {quasi_identifiers: {age: {type: numeric}}, sensitive_attributes: {disease: "
        "{t: 0.2}}}}",
    )
    for task in job["tasks"]:
        wheel = task["python_wheel_task"]
        assert wheel["package_name"] == project["name"]
        assert wheel["entry_point"] in project["scripts"]
        stage, _, *options, overwrite = wheel["parameters"]
        assert (stage, overwrite) == (task["task_key"], "--overwrite")
        sets = [re.sub(r"\{\{job\.parameters\.(\w+)\}\}", r"a.b.\1", option) for option in options]
        spec = load_spec(conf, [option.removeprefix("--set=") for option in sets])
        assert (spec.input.path, spec.output.table) == ("a.b.input_table", "a.b.output_table")


def test_a_monthly_run_of_the_bundle_continues_its_own_output(job: Any) -> None:
    variables = yaml.safe_load((BUNDLE / "databricks.yml").read_text())["variables"]
    *_, of_input, output, table, _ = job["tasks"][0]["python_wheel_task"]["parameters"]
    sets = [
        re.sub(r"\{\{job\.parameters\.(\w+)\}\}", lambda m: variables[m[1]]["default"], x)
        for x in (of_input, output, table)
    ]
    spec = load_spec(
        BUNDLE / "every_month.yaml",
        [option.removeprefix("--set=") for option in sets],
    )
    assert spec.output.after == spec.output.path
    assert (spec.input.path, spec.output.table) == ("main.raw.patients", "main.released.patients")
    assert spec == load_spec(BUNDLE / "every_month.yaml")


def test_the_bundles_trigger_waits_for_the_input() -> None:
    lines = (BUNDLE / "resources/release.job.yml").read_text().splitlines()
    (trigger,) = [yaml.safe_load(line.strip("# ")) for line in lines if "# trigger:" in line]
    assert trigger["trigger"]["table_update"]["table_names"] == ["${var.input_table}"]


def test_the_bundles_secret_is_a_reference(job: Any) -> None:
    (cluster,) = job["job_clusters"]
    secret = cluster["new_cluster"]["spark_env_vars"]["TCLOSE_SECRET"]
    assert re.fullmatch(r"\{\{secrets/\$\{var\.secret_scope\}/\w+\}\}", secret)
    assert "secret" not in str([task["python_wheel_task"] for task in job["tasks"]]).lower()
    variables = yaml.safe_load((BUNDLE / "databricks.yml").read_text())["variables"]
    assert set(re.findall(r"\$\{var\.(\w+)\}", str(job))) == set(variables)


def test_a_job_begins_with_its_stage(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["tclose-job", "audit", "x"])
    with pytest.raises(SystemExit) as ended:
        cli.job()
    assert ended.value.code == 2
    assert "profile, plan" in capsys.readouterr().err
    ran: list[Any] = []
    monkeypatch.setattr(process, "run_job", lambda name: ran.append((name, sys.argv[1:])))
    monkeypatch.setattr(sys, "argv", ["tclose-job", "plan", "x", "--overwrite"])
    cli.job()
    assert ran == [("plan", ["x", "--overwrite"])]
