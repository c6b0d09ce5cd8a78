"""A release as a DAG: one task for each stage, from the run file that TCLOSE_RUN_FILE names. See
docs/airflow.md.

    new_version -> profile -> plan -> anonymize -> verify -> outcome
    outcome -> report -> publish -> certificate
            |-> refused        (exit 1: the guarantee does not hold)
            |-> unreachable    (exit 3: the request cannot be met)

Airflow itself needs neither this project nor Java: `spark-submit` starts the stages as jobs.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from airflow.exceptions import AirflowException, AirflowNotFoundException
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import (
    DAG,
    Asset,
    BaseHook,
    ObjectStoragePath,
    Param,
    PokeReturnValue,
    TriggerRule,
    task,
)
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

HERE = Path(__file__).resolve().parent
RUN_FILE = os.environ.get("TCLOSE_RUN_FILE", str(HERE.parent / "demo.yaml"))
JOBS = os.environ.get(
    "TCLOSE_JOBS",
    str(HERE.parents[1] / "jobs"),
)  # a folder, or a URI that spark-submit reads
SCHEDULE = os.environ.get("TCLOSE_SCHEDULE", "@daily")  # empty: only when triggered
SPARK = "spark_default"  # the connection with the master
SECRET = "tclose_secret"  # noqa: S105 - the connection whose password keys the hashes, in any backend
RETRIES = {"profile": 2, "plan": 2, "anonymize": 2, "verify": 0, "report": 2, "publish": 2}
"""Each stage starts afresh from what the one before wrote, so it can be retried; but a negative
verdict would recur.
"""
REFUSED, WRONG, UNREACHABLE = 1, 2, 3  # exit codes that recur with the same input and run file


def read_run_file(path: str) -> dict[str, Any]:
    """The run file with its variables expanded, not validated: the stages do that."""
    text = ObjectStoragePath(path).read_text()
    return yaml.safe_load(
        re.sub(r"\$\{(\w+)(?::-([^}]*))?\}", lambda m: os.environ.get(m[1], m[2] or ""), text),
    )


def with_overrides(run: dict[str, Any], overrides: list[str]) -> dict[str, Any]:
    """The run file with overrides of the form `key.path=value` applied."""
    for override in overrides:
        path, _, value = override.partition("=")
        *above, last = path.split(".")
        section = run
        for key in above:
            section = section.setdefault(key, {})
        section[last] = yaml.safe_load(value)
    return run


def overrides_of(params: Mapping[str, Any]) -> list[str]:
    """The run file's keys that a run's parameters set."""
    return [
        *params["overrides"],
        *([f"output.path={params['output']}"] if params["output"] else []),
    ]


def arguments_of(params: Mapping[str, Any]) -> list[str]:
    """What a job is started with. Nothing of it is a secret: command lines are logged."""
    sets = [part for override in overrides_of(params) for part in ("--set", override)]
    return [
        "--config",
        params["run_file"],
        *sets,
        *(["--overwrite"] if params["overwrite"] else []),
    ]


def located(path: str, run_file: str) -> ObjectStoragePath:
    """A path in a run file: absolute, a URI, or relative to the run file."""
    if "://" in path or path.startswith("/"):
        return ObjectStoragePath(path)
    folder = run_file.rpartition("/")[0]
    return ObjectStoragePath(
        f"{folder}/{path}" if "://" in folder else os.path.normpath(Path(folder).resolve() / path),
    )


def public_folder(run: Mapping[str, Any], run_file: str) -> ObjectStoragePath:
    """The folder where the release is published."""
    output = run["output"]
    return located(output.get("public") or f"{output['path']}/public", run_file)


def asset_of(run: Mapping[str, Any], run_file: str) -> Asset:
    """The release as an asset that other DAGs can wait for."""
    folder = str(public_folder(run, run_file))
    return Asset(
        name=f"tclose_{run['name']}",
        uri=folder if "://" in folder else f"file://{folder}",
    )


def figures_of(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a certificate that go to the scheduler; all are public."""
    release, guarantees = certificate["release"], certificate["guarantees"]
    return {
        "verdict": certificate["verdict"],
        "rows": release["rows"],
        "classes": release["classes"],
        "fingerprint": release["fingerprint"],
        "input_version": certificate["input"]["version"],
        "k": guarantees["k"],
        "t": {
            name: {"required": t["required"], "achieved": t["achieved"]}
            for name, t in guarantees["t"].items()
        },
        "ncp": certificate["utility"]["ncp"],
    }


@contextmanager
def secret_in_environment() -> Iterator[None]:
    """Sets the secret as a variable of this process and its child, never in an argument or a
    template.

    Without the connection, the run creates a secret and keeps it in internal/secret.
    """
    try:
        secret = BaseHook.get_connection(SECRET).password
    except AirflowNotFoundException:
        secret = None
    before = os.environ.get("TCLOSE_SECRET")
    if secret:
        os.environ["TCLOSE_SECRET"] = secret
    try:
        yield
    finally:
        os.environ.pop("TCLOSE_SECRET", None)
        if before is not None:
            os.environ["TCLOSE_SECRET"] = before


class StageOperator(SparkSubmitOperator):
    """One stage by spark-submit. Its exit code is the XCom `exit_code`. Codes that would recur are
    not retried.
    """

    def execute(self, context: Any) -> None:
        """Runs the job with the arguments from the run's parameters."""
        self.application_args = arguments_of(context["params"])
        code = 0
        try:
            with secret_in_environment():
                super().execute(context)
        except AirflowException as error:
            found = re.search(r"Error code is: (-?\d+)", str(error))
            code = int(found[1]) if found else -1
            if code in (REFUSED, WRONG, UNREACHABLE):
                raise AirflowFailException(
                    f"{self.task_id}: exit code {code}; what the job said is above",
                ) from None
            raise
        finally:
            context["ti"].xcom_push(key="exit_code", value=code)


def stage(name: str) -> StageOperator:
    """The task of a stage."""
    return StageOperator(
        task_id=name,
        name=f"tclose_{name}",
        conn_id=SPARK,
        application=f"{JOBS}/{name}.py",
        retries=RETRIES[name],
        retry_delay=dt.timedelta(seconds=int(os.environ.get("TCLOSE_RETRY_SECONDS", "300"))),
    )


@task.sensor(poke_interval=300, timeout=6 * 3600, mode="reschedule", soft_fail=True)
def new_version(params: Mapping[str, Any]) -> PokeReturnValue:
    """Waits until a Delta input has a version that is not released yet. Other inputs do not
    wait.
    """
    run_file = params["run_file"]
    run = with_overrides(read_run_file(run_file), overrides_of(params))
    if run["input"].get("format") != "delta":
        return PokeReturnValue(is_done=True, xcom_value="unknown")
    log = located(run["input"]["path"], run_file) / "_delta_log"
    versions = [
        int(file.name.partition(".")[0])
        for file in log.iterdir()
        if re.fullmatch(r"\d{20}\.json", file.name)
    ]
    certificate = public_folder(run, run_file) / "certificate.json"
    released = (
        json.loads(certificate.read_text())["input"]["version"] if certificate.exists() else None
    )
    latest = max(versions, default=None)
    return PokeReturnValue(is_done=latest is not None and latest != released, xcom_value=latest)


@task.branch(trigger_rule=TriggerRule.ALL_DONE)
def outcome(ti: Any) -> str:
    """The task to run next: the report, or a notification of failure. Skipped without a new
    version.
    """
    if ti.xcom_pull(task_ids="new_version") is None:
        raise AirflowSkipException("there was no new version of the input")
    codes = [
        ti.xcom_pull(task_ids=name, key="exit_code")
        for name in ("profile", "plan", "anonymize", "verify")
    ]
    if all(code == 0 for code in codes):
        return "report"
    if REFUSED in codes:
        return "refused"
    if UNREACHABLE in codes:
        return "unreachable"
    raise AirflowFailException(
        "a stage failed, or did not run; nothing is public that was not before",
    )


@task
def refused() -> None:
    """The place for a notification: the guarantee does not hold."""
    raise AirflowFailException(
        "the release does not meet its requirements, and nothing is public; internal/staging/verification.json has the "
        "figures",
    )


@task
def unreachable() -> None:
    """The place for a notification: the request cannot be met."""
    raise AirflowFailException(
        "the requirements cannot be met with this table; the plan's log says what can",
    )


with DAG(
    dag_id=f"tclose_{read_run_file(RUN_FILE)['name']}",
    doc_md=__doc__,
    schedule=SCHEDULE or None,
    start_date=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    catchup=False,
    max_active_runs=1,  # an output has one writer
    params={
        "run_file": Param(
            RUN_FILE,
            type="string",
            description="A path that Airflow and the driver see.",
        ),
        "overrides": Param(
            [],
            type="array",
            items={"type": "string"},
            description="key.path=value of the run file.",
        ),
        "output": Param("", type="string", description="output.path, if not the run file's."),
        "overwrite": Param(
            True,
            type="boolean",
            description="Replace the release once the new one is verified.",
        ),
    },
    tags=["privacy"],
) as dag:
    released = asset_of(read_run_file(RUN_FILE), RUN_FILE)

    @task(outlets=[released])
    def certificate(params: Mapping[str, Any], outlet_events: Any) -> dict[str, Any]:
        """The key figures of the published release, also attached to the asset's event."""
        run = with_overrides(read_run_file(params["run_file"]), overrides_of(params))
        figures = figures_of(
            json.loads((public_folder(run, params["run_file"]) / "certificate.json").read_text()),
        )
        outlet_events[released].extra = figures
        return figures

    verdict = outcome()
    (
        new_version()
        >> stage("profile")
        >> stage("plan")
        >> stage("anonymize")
        >> stage("verify")
        >> verdict
    )
    verdict >> stage("report") >> stage("publish") >> certificate()
    verdict >> [refused(), unreachable()]
