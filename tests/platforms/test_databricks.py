"""The bundle against Databricks' own models, in an environment of its own: `make test-databricks`.

`databricks bundle schema > schema.json` needs neither network nor workspace; where
DATABRICKS_SCHEMA names that file, the whole bundle is held to it, too.
"""

from __future__ import annotations

import copy
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

BUNDLE = Path(__file__).resolve().parents[2] / "conf/databricks"


@pytest.fixture
def bundle() -> Any:
    """The bundle with the files that it includes."""
    merged = yaml.safe_load((BUNDLE / "databricks.yml").read_text())
    for file in BUNDLE.glob("resources/*.yml"):
        for kind, resources in yaml.safe_load(file.read_text())["resources"].items():
            merged.setdefault("resources", {}).setdefault(kind, {}).update(resources)
    return merged


def test_the_job_is_one_to_databricks_models(bundle: Any) -> None:
    jobs = pytest.importorskip("databricks.bundles.jobs")
    (made,) = [jobs.Job.from_dict(job) for job in bundle["resources"]["jobs"].values()]
    assert len(made.tasks) == 6
    (line,) = [
        line
        for line in (BUNDLE / "resources/release.job.yml").read_text().splitlines()
        if "# trigger:" in line
    ]
    job = {
        name: value
        for name, value in bundle["resources"]["jobs"]["tclose_release"].items()
        if name != "schedule"
    }
    triggered = jobs.Job.from_dict({**job, **yaml.safe_load(line.strip("# "))})
    assert [table.path for table in triggered.trigger.table_update.table_names] == [
        "var.input_table",
    ]
    wrong = copy.deepcopy(bundle["resources"]["jobs"]["tclose_release"])
    wrong["tasks"][0]["python_wheel_task"]["entrypoint"] = "x"
    with pytest.raises(Exception, match="entrypoint"):
        jobs.Job.from_dict(wrong)


@pytest.mark.skipif(
    "DATABRICKS_SCHEMA" not in os.environ,
    reason="DATABRICKS_SCHEMA names no schema of bundles",
)
def test_the_bundle_follows_the_schema(bundle: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    text = Path(os.environ["DATABRICKS_SCHEMA"]).read_text()
    schema = json.loads(
        re.sub(r"\\\\p\{[LN]\}", "A-Za-z0-9", text).replace("[A-Za-z0-9A-Za-z0-9]", "[A-Za-z0-9]"),
    )
    problems = jsonschema.validators.validator_for(schema)(schema).iter_errors(bundle)
    assert [problem.message for problem in problems] == []
