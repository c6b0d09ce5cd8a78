"""Audits of beta-likeness and of its relatives, on tables with figures that one sees."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tclose_spark.api.audit import audit
from tclose_spark.auditing.views import audit_lines, audit_page
from tclose_spark.report.notebook import printed

# 49 of 50 people of Mansfield have what 1 % of all have, and nobody else has it.
TOWNS = pa.table(
    {
        "town": ["Mansfield"] * 50 + ["Derby"] * 4850,
        "test": ["positive"] * 49 + ["negative"] * 4851,
    },
)


def of_test(
    settings: dict[str, Any],
    table: pa.Table = TOWNS,
    **more: Any,
) -> tuple[Any, dict[str, Any]]:
    """The audit, and its guarantees by measure."""
    result = audit(table, ["town"], {"test": settings}, engine="local", **more)
    return result, {g.measure: g for g in result.guarantees if g.attribute == "test"}


def test_figures_are_reported_without_a_requirement() -> None:
    result, found = of_test({})
    assert found["beta-likeness"].achieved == 97.0
    assert found["beta-likeness"].worst == {"town": "Mansfield"}
    assert found["frequency l-diversity"].achieved == 1.0  # Derby
    assert found["delta-disclosure"].achieved == math.inf
    far = 0.98 * math.log(98) + 0.02 * math.log(0.02 / 0.99)
    assert found["KL divergence"].achieved == pytest.approx(far)
    assert result.verdict == "measured"
    said = {
        g["measure"]: g["achieved"]
        for g in json.loads(json.dumps(result.to_json(), allow_nan=False))["guarantees"]
    }
    assert said["delta-disclosure"] is None
    assert said["beta-likeness"] == 97


@pytest.mark.parametrize(
    ("settings", "broken", "classes", "rows"),
    [
        ({"beta": 97, "l": {"frequency": 1}}, set(), 0, 0),
        ({"beta": "96.999"}, {"beta-likeness"}, 1, 50),
        ({"l": {"frequency": "1.03"}}, {"frequency l-diversity"}, 2, 4900),
    ],
)
def test_requirements_are_judged_exactly(
    settings: dict[str, Any],
    broken: set[str],
    classes: int,
    rows: int,
) -> None:
    result, found = of_test(settings)
    assert {g.measure for g in found.values() if not g.holds} == broken
    assert result.verdict == ("violated" if broken else "holds")
    for measure in broken:
        assert (found[measure].classes, found[measure].rows) == (classes, rows)
    if "beta" in settings:
        assert found["beta-likeness"].achieved == Fraction(97)
    for text in (printed(audit_lines(result, "it")), audit_page(result)):
        assert "beta-likeness" in text
        assert "KL divergence" in text


def test_a_value_that_the_reference_lacks_breaks_any_beta() -> None:
    reference = TOWNS.slice(50)
    result, found = of_test({"beta": 1000}, reference=reference)
    assert found["beta-likeness"].achieved == math.inf
    assert not found["beta-likeness"].holds
    assert found["KL divergence"].achieved == math.inf
    json.dumps(result.to_json(), allow_nan=False)


def test_li_section_8_on_the_command_line(
    tmp_path: Path,
    tclose: Callable[..., tuple[int, str, str]],
) -> None:
    """.01 -> .11 and .4 -> .5 are at one distance; beta tells them apart."""
    rare = ["yes"] * 11 + ["no"] * 89 + ["no"] * 1000
    common = ["yes"] * 5 + ["no"] * 5 + ["yes"] * 15 + ["no"] * 25
    for values, size, beta in ((rare, 100, "10"), (common, 10, "1/4")):
        table = pa.table({"town": ["a"] * size + ["b"] * (len(values) - size), "ill": values})
        pq.write_table(table, tmp_path / "t.parquet")
        for required, expected in ((beta, 0), (str(Fraction(beta) - Fraction(1, 1000)), 1)):
            code, out, _ = tclose(
                *(
                    "audit",
                    tmp_path / "t.parquet",
                    "-q",
                    "town",
                    "-s",
                    f"ill:equal:t=0.1,beta={required}",
                    "--json",
                ),
            )
            found = {g["measure"]: g for g in json.loads(out)["guarantees"]}
            assert code == expected
            assert found["t-closeness"]["achieved_exact"] == "1/10"
            assert found["beta-likeness"]["achieved_exact"] == str(Fraction(beta))


def test_people_weigh_the_same_whatever_their_rows() -> None:
    """Ann has three rows. In a, flu is 2 of 5 rows (2 of 7 in the table), and 2 of 3 people (2 of
    5).
    """
    table = pa.table(
        {
            "town": ["a"] * 5 + ["b"] * 2,
            "who": ["ann", "ann", "ann", "bob", "cyd", "dan", "eve"],
            "test": ["cold", "cold", "cold", "flu", "flu", "cold", "cold"],
        },
    )
    _, found = of_test({"beta": "1/2", "l": {"frequency": 1}}, table, person="who")
    assert found["beta-likeness"].achieved == Fraction(2, 5)
    assert found["beta-likeness"].holds
    assert found["beta-likeness over people"].achieved == Fraction(2, 3)
    assert not found["beta-likeness over people"].holds
    assert found["frequency l-diversity over people"].holds
    assert "KL divergence over people" not in found
