"""People of a population by codes that are texts: `01` is not `1`."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import tclose_spark as tc


def test_leading_zeros_are_part_of_a_code(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"code": ["1"] * 20 + ["2"] * 20 + ["01"] * 500}),
        tmp_path / "population.parquet",
    )
    table = pa.table({"code": ["1", "2"] * 20, "disease": ["flu", "flu", "gout", "gout"] * 10})
    spec = {
        "name": "codes",
        "attributes": {
            "quasi_identifiers": {"code": {"type": "categorical"}},
            "sensitive_attributes": {"disease": {"distance": "equal", "t": "0.5"}},
        },
        "privacy": {
            "k": 3,
            "population": {"table": str(tmp_path / "population.parquet"), "format": "parquet"},
        },
    }
    risks = tc.release(table, spec, tmp_path / "out", engine="local", log=None).certificate["risks"]
    assert risks["journalist"]["maximum_exact"] == "1/20"
    assert risks["journalist"]["mean"] == 0.05
