"""What is staged is damaged between stages: reported as this, with exit code 2; `--resume` begins
again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tclose_spark as tc
from tclose_spark.errors import DamagedStagingError

STAGES = ("profile", "plan", "anonymize", "verify", "report")
TABLE = pa.table(
    {
        "age": [20 + i % 30 for i in range(120)],
        "d": [("flu", "cold", "gout")[i % 3] for i in range(120)],
    },
)
SPEC: dict[str, Any] = {
    "name": "staged",
    "attributes": {
        "quasi_identifiers": {"age": {"type": "numeric"}},
        "sensitive_attributes": {"d": {"distance": "equal", "t": "0.4"}},
    },
    "privacy": {"k": 3},
}


def flip(file: Path) -> None:
    """One bit in the middle."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def cut(file: Path) -> None:
    """The second half is lost."""
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def other_json(file: Path) -> None:
    """Still JSON, but not what was written."""
    file.write_text(file.read_text().replace("1", "2", 1))


DAMAGES: dict[str, tuple[int, str, Callable[[Path], object]]] = {
    "rows cut": (1, "rows/*.parquet", cut),
    "rows flipped": (1, "rows/*.parquet", flip),
    "rows gone": (1, "rows/*.parquet", Path.unlink),
    "rows cut after the plan": (2, "rows/*.parquet", cut),
    "rows gone after the plan": (2, "rows/*.parquet", Path.unlink),
    "columns": (
        1,
        "columns.json",
        lambda file: file.write_text(file.read_text().replace("true", "false")),
    ),
    "profile": (1, "profile.json", other_json),
    "plan": (2, "plan.json", other_json),
    "report of the plan": (3, "plan_report.json", other_json),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_reported_as_damage_of_what_is_staged_and_a_resumed_run_begins_again(
    damage: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TCLOSE_ENGINE", "local")
    table, output = tmp_path / "people.parquet", tmp_path / "out"
    pq.write_table(TABLE, table)

    def stages(*names: str) -> None:
        for name in names:
            tc.run_stage(name, str(table), SPEC, output, log=None)

    done, pattern, damaged = DAMAGES[damage]

    def begun_and_damaged() -> None:
        stages(*STAGES[:done])
        for file in (output / "internal/staging").glob(pattern):
            damaged(file)

    begun_and_damaged()
    with pytest.raises(DamagedStagingError, match="begin again with `tclose profile`") as raised:
        stages(*STAGES[done:])
    assert raised.value.exit_code == 2
    assert "input.path" not in str(raised.value)

    begun_and_damaged()
    lines: list[str] = []
    release = tc.release(str(table), SPEC, output, resume=True, log=lines.append)
    assert release.certificate["verdict"] == "holds"
    assert [
        line for line in lines if line.startswith("resume") and "begins again with profile" in line
    ]
