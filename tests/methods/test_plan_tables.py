"""What `tclose plan` prints, for each method."""

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from rich.table import Table
from strategies import CITIES, Problem, count_in, make_problem

from tclose_spark.measures.distances.ground_distances import ground_distance
from tclose_spark.methods.attributes import ResolvedSensitive
from tclose_spark.methods.fragmentation.tables import in_words
from tclose_spark.methods.method import PlanReport, method_of
from tclose_spark.requirements.planning import needs_of
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.table.domains import SensitiveDomain
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.rows import Rows

SENSITIVE = {"disease": {"t": "0.4"}, "grade": {"distance": "ordered", "t": "0.3"}}
RECORDS = [
    {
        "age": 20 + i % 30,
        "sex": "fm"[i % 2],
        "city": "Pisa",
        "disease": ["flu", "flu", "gout"][i % 3],
        "grade": 1 + i % 5,
    }
    for i in range(60)
]


def report_of(problem: Problem, rows: Rows) -> PlanReport:
    return method_of(problem.spec.method).make_plan(problem.given(count_in(rows))).report()


def tables_of(problem: Problem, rows: Rows) -> tuple[list[Table], list[str]]:
    report, settings = report_of(problem, rows), problem.spec.method
    written = replace(report, details=json.loads(json.dumps(report.details)))
    return method_of(settings).tables(
        problem.spec.name,
        written,
        settings,
        problem.spec.attributes.sensitive_attributes,
    )


def printed(**method: str) -> tuple[list[str], list[str]]:
    """(lines of the table, sentences below it)."""
    problem, rows = make_problem(RECORDS, SENSITIVE, k=4, **method)
    tables, notes = tables_of(problem, rows)
    console = Console(width=250)
    with console.capture() as capture:
        console.print(*tables)
    return capture.get().splitlines(), notes


def test_stack_and_deal_shows_what_sizes_reach_and_what_none_can_beat():
    lines, notes = printed(name="stack_and_deal")
    assert "disease (t = 0.4)" in lines[2]
    assert lines[2].count("bound") == 2
    assert sum("<- chosen" in line for line in lines) == 1
    assert notes[0].startswith("Information loss (NCP) when the sample is dealt: 0.")


def test_sizes_that_the_bound_excludes_are_not_dealt_in_layers():
    problem, rows = make_problem(
        [{**r, "grade": 1 + i % 20} for i, r in enumerate(RECORDS)],
        SENSITIVE | {"grade": {"distance": "ordered", "t": "0.05"}},
        k=2,
        name="stack_and_deal",
        deal="layered",
    )
    sizes = report_of(problem, rows).details["sizes"]
    assert sizes[0]["emd"] == []
    assert not sizes[0]["holds"]
    assert sizes[-1]["holds"]


def test_fragmentation_shows_bounds_sizes_and_what_is_measured_beside():
    lines, notes = printed(name="fragmentation")
    assert "grade (t = 0.3)" in lines[2]
    assert sum("<- chosen" in line for line in lines) == 1
    assert sum("measured distances" in line for line in lines) == 1
    assert notes[0].startswith("The smallest k that this t allows, of these fragmentations: ")
    assert len(notes) == 2
    assert sum("to compare" in line for line in lines) == 1
    assert any("fragments chosen" in line for line in lines)


def resolved(
    values: Sequence[str | None],
    settings: dict[str, str],
    hierarchy: Hierarchy | None = None,
) -> ResolvedSensitive:
    """An attribute with a row of each value."""
    domain, asked = (
        SensitiveDomain("x", tuple(values), (1,) * len(values)),
        SensitiveAttribute(**settings),
    )
    return ResolvedSensitive(
        column=0,
        domain=domain,
        hierarchy=hierarchy,
        distance=ground_distance(asked.distance, domain.table, domain.values, hierarchy),
        t=None,
        needs=needs_of(asked),
        bins=None,
    )


@pytest.mark.parametrize(
    ("distance", "codes", "expected"),
    [
        ("equal", [2], "3"),
        ("equal", [0, 2], "1, 3"),
        ("equal", [0, 1, 2, 3, 4, 5], "1, 2, 3, 4 and 2 more"),
        ("ordered", [0, 1, 4], "1 to 5"),
        ("ordered", [0, 5], "1 to missing"),
    ],
)
def test_fragments_in_words(distance, codes, expected):
    values = ("a", "b", "c", "d", "e", None)
    assert in_words(resolved(values, {"distance": distance}), np.array(codes)) == expected


def test_a_fragment_of_a_hierarchy_is_named_by_its_node():
    city = resolved(CITIES.leaves, {"distance": "hierarchical", "hierarchy": "cities.csv"}, CITIES)
    assert in_words(city, np.array([0, 1])) == "Tuscany (2 values)"
    assert in_words(city, np.array([0, 2])) == "Italy (2 values)"
    assert in_words(city, np.array([0])) == "Pisa"


def test_the_largest_fragments_are_described():
    problem, rows = make_problem(RECORDS, SENSITIVE, k=4, name="fragmentation")
    tree = report_of(problem, rows).details
    shown = [fragment["rows"] for fragment in tree["largest_fragments"]]
    assert shown == sorted(shown, reverse=True)
    assert len(shown) == min(tree["fragments"], 10)


def test_fragmentation_says_where_it_collapses_and_where_it_is_measured():
    problem, rows = make_problem(
        RECORDS[:59],
        {"grade": {"distance": "ordered", "t": "0.1"}},
        name="fragmentation",
        sizing="gcd",
        bounds="paper",
    )
    _, notes = tables_of(problem, rows)
    assert notes[1] == "One class of all rows is dealt; proportional sizing makes smaller classes."
    assert "verification decides" in printed(name="fragmentation", sizing="measured")[1][0]


def test_the_closeness_tree_says_its_note():
    tables, notes = tables_of(*make_problem(RECORDS, SENSITIVE, k=4, name="closeness_tree"))
    assert tables == []
    assert notes[0].startswith("people: blocks: 1 of up to 60 rows")
