"""Both engines give one release: the same rows, certificate and verdict, whatever the method, format and options."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_fingerprints import RECORDED, RUNS, digest, people

from tclose_spark import pipeline
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run
from tclose_spark.runfile.loading import load_spec


def on_local(path: Path) -> Run:
    return Run(load_spec(path), LocalSession(), lambda line: None)


@pytest.mark.parametrize("name", RUNS)
def test_the_local_engine_gives_what_spark_gave(name: str, run_file: Callable[..., Path]) -> None:
    """The records in fingerprints.json were made on Spark."""
    settings = dict(RUNS[name])
    table = people(settings.pop("rows", 300))
    certificate = pipeline.release(on_local(run_file(table, drop_others=True, **{"k": 4, **settings})))
    parts = {key: digest(part) for key, part in certificate.items() if key not in ("issued", "tool")}
    found: dict[str, Any] = {"release": certificate["release"]["fingerprint"], "certificate": parts}
    assert found == json.loads(RECORDED.read_text())[name]
