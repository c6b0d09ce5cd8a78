"""What audits and explanations measure and show does not change unnoticed. `audits/NAME.txt` has
what is recorded of
each: its JSON, its text, its page and its class table. They are recorded like releases
    (`test_recorded_releases.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from recorded_audits import AUDITS
from records import record_of_audit, require_only, require_same
from strategies import CITIES

import tclose_spark

RECORDED = Path(__file__).with_name("audits")
OF_ONE_ENGINE = {"raw"}
"""Audits that depend on the order of rows: `one_to_one` takes any of several assignments that cost
the same.
"""


def made(value: Any) -> Any:
    """An option with the tables that its functions make."""
    if isinstance(value, list):
        return [made(one) for one in value]
    return value() if callable(value) else value


def audited(name: str, folder: Path, engine: str) -> Mapping[str, list[str]]:
    """The record of an audit that is carried out in a folder."""
    one = AUDITS[name]
    (folder / "cities.csv").write_text("".join(";".join(path) + "\n" for path in CITIES.paths))
    options = {key: made(value) for key, value in one.options.items()}
    if one.explained:
        return record_of_audit(tclose_spark.explain(one.table(), **options, engine=engine), folder)
    found = tclose_spark.audit(
        one.table(),
        **options,
        engine=engine,
        classes_output=folder / "classes",
    )
    return record_of_audit(found, folder)


@pytest.mark.parametrize("name", AUDITS)
def test_an_audit_is_as_recorded(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    require_same(RECORDED / f"{name}.txt", audited(name, tmp_path, "local"))


@pytest.mark.on_spark
@pytest.mark.parametrize("name", [name for name in AUDITS if name not in OF_ONE_ENGINE])
def test_spark_audits_as_recorded(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    require_same(RECORDED / f"{name}.txt", audited(name, tmp_path, "spark"))


def test_every_record_is_of_an_audit() -> None:
    require_only(RECORDED, AUDITS)
