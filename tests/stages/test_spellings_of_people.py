"""Identifiers of people that look the same to a reader: a warning with counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tclose_spark as tc

SPEC: dict[str, Any] = {
    "name": "people",
    "attributes": {
        "person": "id",
        "quasi_identifiers": {"age": {"type": "numeric"}},
        "sensitive_attributes": {"d": {"distance": "equal", "t": "0.5"}},
    },
    "privacy": {"k": 3},
}


def released(ids: list[Any], tmp_path: Path) -> tuple[list[str], Any]:
    """The notes on the identifiers, and the release."""
    n, lines = len(ids), list[str]()
    table = pa.table(
        {
            "id": ids,
            "age": [20 + i % 9 for i in range(n)],
            "d": [("a", "b")[i % 2] for i in range(n)],
        },
    )
    release = tc.release(table, SPEC, tmp_path / "out", engine="local", log=lines.append)
    return [line for line in lines if "attributes.person" in line], release


def test_spellings_of_people_are_counted_on_console_report_and_certificate(tmp_path: Path) -> None:
    odd = ["P1", " p1", "p\u00a02", "p  2", "p3 "]  # beside p1, p 2 and p3
    notes, release = released(
        [*(f"p{i}" for i in range(60) if i != 2), "p 2", *odd, "P1"],
        tmp_path,
    )
    (note,) = notes
    assert note.startswith(
        "note: attributes.person: of 65 identifiers in 'id' that were compared, 5 differ",
    )
    assert note.removeprefix("note: ") in release.certificate["warnings"]
    assert "65 identifiers" in (tmp_path / "out/public/report.html").read_text()


@pytest.mark.parametrize(
    "ids",
    [[f"p{i}" for i in range(60)], [*range(30), *range(30)], [f"p{i % 20}" for i in range(60)]],
)
def test_equal_identifiers_and_numbers_need_no_warning(ids: list[Any], tmp_path: Path) -> None:
    assert not released(ids, tmp_path)[0]
