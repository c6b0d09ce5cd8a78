"""What a run leaves in Spark's plans, pages, event log and logs: releases under spark-submit with
planted values.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from strategies import CITIES

ROWS = 240
SECRET = "sesame-93a1f7"
PLANTED = {
    "name": [f"Canary-name-{i}" for i in range(ROWS)],
    "age": [813_040_000 + i * 7 % 61 for i in range(ROWS)],
    "height": [8_130.515 + i * 5 % 43 for i in range(ROWS)],
    "street": [f"Canary-street-{i % 20}" for i in range(ROWS)],
    "city": [CITIES.leaves[i % 5] for i in range(ROWS)],
    "disease": [f"Canary-disease-{i * i % 4}" for i in range(ROWS)],
    "wage": [813_050_000 + i * 11 % 9 for i in range(ROWS)],
    "region": [f"Canary-region-{i % 3}" for i in range(ROWS)],
}
RAW = ("Canary", "813040", "8130.5", "8131.5", "813050")
ROLES: dict[str, Any] = {
    "direct_identifiers": ["name"],
    "quasi": {
        "age": {"type": "numeric"},
        "height": {"type": "numeric"},
        "street": {"generalization": "set"},
    },
    "sensitive": {"disease": {"t": "0.4"}, "wage": {"distance": "ordered", "t": "0.4"}},
    "insensitive_attributes": ["region"],
    "drop_others": True,
}
RUNS: dict[str, dict[str, Any]] = {
    "closeness_tree": {
        "method": {"name": "closeness_tree", "effort": "fast"},
        "direct_identifiers": [],
        "pseudonyms": {"name": {"secret": "SECRET_OF_TABLES"}},
    },
    "stack_and_deal": {"method": {"name": "stack_and_deal"}, "output": {"keep_linked": True}},
}


@dataclass(frozen=True)
class Traces:
    """Everything that is left of some releases under spark-submit, by where it was found."""

    texts: Mapping[str, str]
    events: list[dict[str, Any]]
    outputs: list[Path]


@pytest.fixture(scope="session")
def traces(write_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Traces:
    folder = tmp_path_factory.mktemp("traces")
    events, run_files = (
        folder / "events",
        [
            write_run(folder / name, pa.table(PLANTED), **{**ROLES, **more})
            for name, more in RUNS.items()
        ],
    )
    events.mkdir()
    submit = Path(sys.executable).with_name("spark-submit")
    settings = {
        "eventLog.enabled": "true",
        "eventLog.dir": f"file://{events}",
        "eventLog.compress": "false",
        "ui.port": "0",
    }
    confs = [part for key, value in settings.items() for part in ("--conf", f"spark.{key}={value}")]
    done = subprocess.run(
        [
            submit,
            "--master",
            "local[2]",
            *confs,
            Path(__file__).with_name("release_and_look.py"),
            folder / "pages.json",
            *run_files,
        ],
        env={
            **os.environ,
            "TCLOSE_SECRET": SECRET,
            "SECRET_OF_TABLES": f"{SECRET} of tables",
            "TCLOSE_LOG_LEVEL": "INFO",
            "PYSPARK_PYTHON": sys.executable,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    logs = [file for file in sorted(events.rglob("*")) if file.is_file()]
    told = [
        json.loads(line)
        for file in logs
        if not file.name.startswith(".")
        for line in file.read_text().splitlines()
    ]
    texts = {
        "the log": done.stdout + done.stderr,
        **json.loads((folder / "pages.json").read_text()),
        **{f"event log {file.name}": file.read_text(errors="replace") for file in logs},
    }
    return Traces(texts, told, [run_file.parent / "out" for run_file in run_files])
