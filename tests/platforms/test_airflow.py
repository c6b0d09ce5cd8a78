"""The DAG under a real Airflow, in an environment of its own: `make test-airflow`.

Releases are made by this project's own environment (TCLOSE_BIN, default .venv/bin), which Airflow's
has no part of.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("airflow.sdk")

ROOT = Path(__file__).resolve().parents[2]
DAG_FILE = ROOT / "conf/airflow/tclose_release.py"
BIN = Path(os.environ.get("TCLOSE_BIN", ROOT / ".venv/bin"))
STAGES = ("profile", "plan", "anonymize", "verify", "report", "publish")
SECRET = "a long text that only its owner has"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("airflow")


@pytest.fixture(scope="module")
def env(home: Path) -> dict[str, str]:
    """Of the processes: a database of Airflow's own, the connections, and Spark of the project's
    environment.
    """
    spark = {"conn_type": "spark", "host": "local[2]", "extra": {"deploy-mode": "client"}}
    made = {
        **os.environ,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(DAG_FILE.parent),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(spark),
        "AIRFLOW_CONN_TCLOSE_SECRET": json.dumps({"conn_type": "generic", "password": SECRET}),
        "TCLOSE_RUN_FILE": str(ROOT / "conf/demo.yaml"),
        "TCLOSE_DEMO": str(home / "demo"),
        "TCLOSE_RETRY_SECONDS": "1",
        "PYSPARK_PYTHON": str(BIN / "python"),
        "PYTHONPATH": str(ROOT),
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    made.pop("TCLOSE_SECRET", None)
    return made


@pytest.fixture(scope="module")
def dag(env: Mapping[str, str]) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        for key, value in env.items():
            patch.setenv(key, value)
        from airflow.dag_processing.dagbag import DagBag

        bag = DagBag(dag_folder=str(DAG_FILE.parent))
        assert bag.import_errors == {}
        assert set(bag.dags) == {"tclose_demo"}
        yield bag.dags["tclose_demo"]


def test_a_table_that_is_released_every_month(
    env: Mapping[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for key, value in {**env, "TCLOSE_RUN_FILE": str(ROOT / "conf/every_month.yaml")}.items():
        monkeypatch.setenv(key, value)
    from airflow.dag_processing.dagbag import DagBag

    (monthly,) = DagBag(dag_folder=str(DAG_FILE.parent)).dags.values()
    assert monthly.dag_id == "tclose_every_month"
    assert monthly.params["overwrite"] is True  # a line replaces its own output
    (asset,) = monthly.get_task("certificate").outlets
    assert asset.uri.endswith("build/every_month/public")


def test_it_has_a_task_a_stage_in_order(dag: Any) -> None:
    order = [task.task_id for task in dag.topological_sort()]
    assert [name for name in order if name in STAGES] == list(STAGES)
    assert dag.get_task("outcome").downstream_task_ids == {"report", "refused", "unreachable"}
    assert dag.get_task("certificate").upstream_task_ids == {"publish"}


def test_one_run_at_a_time_and_no_second_verdict(dag: Any) -> None:
    assert (dag.max_active_runs, dag.catchup) == (1, False)
    assert {name: dag.get_task(name).retries for name in STAGES} == {
        "profile": 2, "plan": 2, "anonymize": 2, "verify": 0, "report": 2, "publish": 2,
    }  # fmt: skip


def test_the_release_is_an_asset(dag: Any) -> None:
    (asset,) = dag.get_task("certificate").outlets
    assert asset.name == "tclose_demo"
    assert asset.uri.endswith("build/demo/release/public")


class TaskInstance:
    """What a task pushes and pulls."""

    def __init__(self, **pushed: Any) -> None:
        self.pushed = pushed

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = value

    def xcom_pull(self, task_ids: str, key: str = "return_value") -> Any:
        return self.pushed.get(task_ids)


PARAMS = {
    "run_file": "/conf/x.yaml",
    "overrides": ["privacy.k=7"],
    "output": "/out",
    "overwrite": True,
}


def submitted(
    dag: Any,
    code: int,
    patch: pytest.MonkeyPatch,
) -> tuple[list[str], dict[str, str], TaskInstance, Any]:
    """(the command, the process's environment, what was pushed, what was raised) of the task
    `plan`, whose job ends with this code.
    """
    from airflow.providers.apache.spark.hooks import spark_submit

    seen: dict[str, Any] = {}

    class Process:
        stdout: tuple[str, ...] = ()

        def __init__(self, command: list[str], **_: Any) -> None:
            seen.update(command=command, environment=dict(os.environ))

        def wait(self) -> int:
            return code

    patch.setattr(spark_submit.subprocess, "Popen", Process)
    task, raised = dag.get_task("plan"), None
    task._hook, ti = None, TaskInstance()
    try:
        task.execute({"params": PARAMS, "ti": ti})
    except Exception as error:
        raised = error
    return seen["command"], seen["environment"], ti, raised


def test_the_secret_is_in_the_environment_and_nowhere_else(
    dag: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command, environment, ti, raised = submitted(dag, 0, monkeypatch)
    task = dag.get_task("plan")
    assert raised is None
    assert ti.pushed == {"exit_code": 0}
    assert command[:3] == ["spark-submit", "--master", "local[2]"]
    assert command[-8:] == [
        str(ROOT / "jobs/plan.py"), "--config", "/conf/x.yaml",
        "--set", "privacy.k=7", "--set", "output.path=/out", "--overwrite",
    ]  # fmt: skip
    assert environment["TCLOSE_SECRET"] == SECRET
    assert "TCLOSE_SECRET" not in os.environ
    assert SECRET not in " ".join(command)
    assert SECRET not in repr([getattr(task, field, None) for field in task.template_fields])


@pytest.mark.parametrize(
    ("code", "final"),
    [(1, True), (2, True), (3, True), (70, False), (137, False)],
)
def test_only_accidents_are_tried_again(
    dag: Any,
    monkeypatch: pytest.MonkeyPatch,
    code: int,
    final: bool,
) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    _, _, ti, raised = submitted(dag, code, monkeypatch)
    assert isinstance(raised, AirflowFailException) == final
    assert ti.pushed == {"exit_code": code}


@pytest.mark.parametrize(
    ("codes", "follows"),
    [
        ({"profile": 0, "plan": 0, "anonymize": 0, "verify": 0}, "report"),
        ({"profile": 0, "plan": 0, "anonymize": 0, "verify": 1}, "refused"),
        ({"profile": 0, "plan": 3}, "unreachable"),
    ],
)
def test_what_follows_an_exit_code(dag: Any, codes: dict[str, int], follows: str) -> None:
    assert dag.get_task("outcome").python_callable(TaskInstance(new_version=4, **codes)) == follows


def test_an_accident_is_no_outcome_and_nothing_new_is_no_failure(dag: Any) -> None:
    from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

    follow = dag.get_task("outcome").python_callable
    with pytest.raises(AirflowFailException):
        follow(TaskInstance(new_version=4))
    with pytest.raises(AirflowSkipException):
        follow(TaskInstance())


def test_a_version_that_is_released_is_waited_past(dag: Any, tmp_path: Path) -> None:
    (tmp_path / "people/_delta_log").mkdir(parents=True)
    (tmp_path / "out/public").mkdir(parents=True)
    run = tmp_path / "run.yaml"
    run.write_text("{name: a, input: {path: people, format: delta}, output: {path: elsewhere}}")
    poke = dag.get_task("new_version").python_callable
    params = {**PARAMS, "run_file": str(run), "overrides": [], "output": str(tmp_path / "out")}
    assert not poke(params).is_done
    for version in (9, 10):
        (tmp_path / f"people/_delta_log/{version:020}.json").touch()
    assert (poke(params).is_done, poke(params).xcom_value) == (True, 10)
    certificate = tmp_path / "out/public/certificate.json"
    certificate.write_text(json.dumps({"input": {"version": 9}}))
    assert poke(params).is_done
    certificate.write_text(json.dumps({"input": {"version": 10}}))
    assert not poke(params).is_done


# --- a whole run


def airflow(env: Mapping[str, str], *arguments: str) -> subprocess.Popen[bytes]:
    log = (Path(env["AIRFLOW_HOME"]) / f"{'-'.join(arguments[:2])}.log").open("ab")
    command = [sys.executable, "-m", "airflow", *arguments]
    return subprocess.Popen(
        command,
        env=dict(env),
        stdout=log,
        stderr=log,
        start_new_session=True,
        cwd=ROOT,
    )


def said(env: Mapping[str, str]) -> str:
    return "".join(
        file.read_text(errors="replace") for file in Path(env["AIRFLOW_HOME"]).glob("*.log")
    )


def release(
    env: Mapping[str, str],
    output: Path,
    name: str = "demo",
    *overrides: str,
) -> subprocess.Popen[bytes]:
    conf = json.dumps({"output": str(output), "overwrite": True, "overrides": overrides})
    return airflow(
        env,
        "dags",
        "test",
        f"tclose_{name}",
        "--dagfile-path",
        str(DAG_FILE),
        "--conf",
        conf,
    )


def wait_for_anonymize(state: Path, process: subprocess.Popen[bytes]) -> None:
    """Until rows are being moved: the plan is done, and the release's folder is there."""
    while not (
        state.exists()
        and "plan" in json.loads(state.read_text())["stages"]
        and (state.parent / "release").exists()
    ):
        assert process.poll() is None
        time.sleep(0.2)


@pytest.fixture(scope="module")
def people(env: dict[str, str], home: Path) -> Path:
    """A table of 2,000 people; Airflow's database is ready."""
    tclose = [str(BIN / "python"), "-m", "tclose_spark"]
    subprocess.run(
        [*tclose, "generate", "--rows", "2000", "--output", str(home / "demo")],
        env=env,
        check=True,
    )
    assert airflow(env, "db", "migrate").wait(300) == 0, said(env)
    return home / "demo/people.parquet"


def write_version(people: Path, table: Path, first: int, last: int) -> None:
    """Appends rows of people to a Delta table."""
    code = (
        "import sys, deltalake, pyarrow.parquet as pq; source, table, first, last = sys.argv[1:]; "
        "rows = pq.read_table(source).slice(int(first), int(last) - int(first)); "
        "deltalake.write_deltalake(table, rows, mode='append')"
    )
    subprocess.run(
        [str(BIN / "python"), "-c", code, str(people), str(table), str(first), str(last)],
        check=True,
    )


def test_two_months_of_a_table(env: dict[str, str], people: Path, tmp_path: Path) -> None:
    """Each new version of the input is released as the one that continues the last."""
    table, output = tmp_path / "town", tmp_path / "out"
    monthly = {**env, "TCLOSE_RUN_FILE": str(ROOT / "conf/every_month.yaml")}
    overrides = [f"input.path={table}", "input.format=delta", f"output.after={output}"]
    for month, (first, last) in enumerate([(0, 1500), (1500, 2000)]):
        write_version(people, table, first, last)
        assert release(monthly, output, "every_month", *overrides).wait(1800) == 0, said(env)[
            -6000:
        ]
        certificate = json.loads((output / "public/certificate.json").read_text())
        assert certificate["input"] == {"rows": last, "version": month}
    assert certificate["earlier"]["number"] == 2
    assert certificate["earlier"]["newcomers"]["people"] + certificate["earlier"]["waiting"] == 500


def test_a_run_that_is_killed_and_run_again(
    env: dict[str, str],
    people: Path,
    tmp_path: Path,
) -> None:
    tclose, output = [str(BIN / "python"), "-m", "tclose_spark"], tmp_path / "out"
    killed = release(env, output)
    wait_for_anonymize(output / "internal/staging/run.json", killed)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert not (output / "public/certificate.json").exists()

    assert release(env, output).wait(1800) == 0, said(env)[-6000:]
    certificate = json.loads((output / "public/certificate.json").read_text())
    assert certificate["verdict"] == "holds"
    assert certificate["release"]["fingerprint"] in said(env)  # of the XCom
    assert SECRET not in said(env)
    plain = {**env, "TCLOSE_SECRET": SECRET}
    sets = ["--set", f"output.path={tmp_path}/plain"]
    subprocess.run([*tclose, "release", str(ROOT / "conf/demo.yaml"), *sets], env=plain, check=True)
    again = json.loads((tmp_path / "plain/public/certificate.json").read_text())
    assert again["release"] == certificate["release"]
