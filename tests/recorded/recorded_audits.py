"""The audits that are recorded: of each option one at least, on small tables that any tool could
have made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from recorded_tables import foreign, grouped, month, population, stays, survey

QUASI = ["age", "sex"]
FINE = ["age", "sex", "city"]
DISEASE: dict[str, Any] = {"disease": {"t": "0.4"}}
SURVEYED = partial(grouped, survey())
OVERLAPPING = partial(grouped, survey(), overlap=7)
STAYS = partial(grouped, stays())
HIERARCHY = {"city": "cities.csv"}


@dataclass(frozen=True)
class RecordedAudit:
    """A call of `tclose_spark.audit`, or of `explain`.

    table: makes the table. options: those of the call. Functions among them make tables.
    """

    table: Callable[[], pa.Table]
    options: Mapping[str, Any]
    explained: bool = False


def audit(
    table: Callable[[], pa.Table],
    quasi: Any,
    sensitive: Any = None,
    **options: Any,
) -> RecordedAudit:
    return RecordedAudit(table, {"quasi_identifiers": quasi, "sensitive": sensitive, **options})


def explanation(
    table: Callable[[], pa.Table],
    quasi: Any,
    sensitive: Any,
    **options: Any,
) -> RecordedAudit:
    return RecordedAudit(
        table,
        {"quasi_identifiers": quasi, "sensitive": sensitive, **options},
        explained=True,
    )


def months(number: int) -> pa.Table:
    return grouped(month(number), 5)


def listed() -> pa.Table:
    """Some of the people of the first month, with their raw quasi-identifiers."""
    return month(0).select(["patient", "age", "sex"]).slice(0, 60)


RUN_FILE: dict[str, Any] = {
    "attributes": {
        "quasi_identifiers": {
            "age": {"type": "numeric"},
            "sex": None,
            "city": {"hierarchy": "cities.csv"},
        },
        "sensitive_attributes": {
            "disease": {"t": "0.4", "l": {"distinct": 2}},
            "town": {"distance": "hierarchical", "hierarchy": "cities.csv", "t": "0.5"},
        },
        "household": {"column": "household", "k": 2},
    },
    "privacy": {"k": 2, "joint": [{"attributes": ["disease", "town"], "t": "0.9"}]},
}

AUDITS: dict[str, RecordedAudit] = {
    "every-requirement": audit(
        SURVEYED,
        QUASI,
        {
            "disease": {
                "t": "0.2",
                "beta": "1.5",
                "l": {
                    "distinct": 3,
                    "entropy": "2.5",
                    "recursive": {"c": "3", "l": 2},
                    "frequency": "2",
                },
            },
            "pay": {"distance": "ordered", "t": "0.1", "domain": {"equal_width": 6}},
            "town": {"distance": "hierarchical", "hierarchy": "cities.csv", "t": "0.2"},
            "ward": {"missing": "uninformative"},
        },
        k=5,
    ),
    "measured": audit(SURVEYED, ["age", "grade"], ["disease", "ward"]),
    "people": audit(STAYS, FINE, DISEASE, k=3, person="patient"),
    "people-beta": audit(
        STAYS,
        FINE,
        {"disease": {"beta": "2", "l": {"distinct": 3}}, "pay": "ordered"},
        person="patient",
        t="0.3",
    ),
    "people-households": audit(
        STAYS,
        FINE,
        DISEASE,
        k=3,
        person="patient",
        household="household:3",
    ),
    "households": audit(SURVEYED, FINE, DISEASE, k=3, household={"column": "household", "k": 4}),
    "earlier-people": audit(
        partial(months, 2),
        QUASI,
        DISEASE,
        k=2,
        person="patient",
        earlier=[partial(months, 0), partial(months, 1)],
    ),
    "earlier-listed": audit(
        partial(months, 1),
        QUASI,
        DISEASE,
        k=2,
        earlier=[partial(months, 0)],
        background=listed,
    ),
    "earlier-labels": audit(
        partial(months, 1),
        QUASI,
        DISEASE,
        k=2,
        earlier=[lambda: grouped(month(0), 20)],
        attacks=False,
    ),
    "background": audit(SURVEYED, QUASI, DISEASE, k=2, background=population),
    "background-people": audit(
        partial(months, 0),
        QUASI,
        DISEASE,
        person="patient",
        background=listed,
    ),
    "population": audit(
        SURVEYED,
        FINE,
        DISEASE,
        k=2,
        population="0.1",
        reidentified="0.1",
        threshold="0.2",
    ),
    "population-weight": audit(SURVEYED, FINE, k=2, population="weight:weight"),
    "population-table": audit(SURVEYED, QUASI, k=2, population=population),
    "population-people": audit(
        STAYS,
        FINE,
        k=2,
        population="0.05",
        person="patient",
        household="household",
    ),
    "raw": audit(OVERLAPPING, QUASI, DISEASE, raw=survey),
    "cells": audit(
        SURVEYED,
        ["age", "sex", "city", "grade"],
        DISEASE,
        cells=3,
        below="3,4,5",
        levels={"age": 1, "city": 2, "sex": 3, "grade": 0},
        special_uniques=3,
    ),
    "config": RecordedAudit(SURVEYED, {"spec": RUN_FILE}),
    "joint": audit(
        SURVEYED,
        QUASI,
        {"disease": {"t": "0.4"}, "region": {}},
        joint="disease,region:0.5",
    ),
    "nt": audit(SURVEYED, QUASI, {"disease": {"t": "0.25"}}, n=60),
    "foreign": audit(
        foreign,
        {"age": {"type": "numeric"}, "zip": {}, "job": {}, "born": {"type": "date"}, "sex": {}},
        {"disease": {"t": "0.9"}, "pay": "ordered"},
        k=2,
        gain="0.5",
    ),
    "missing-any": audit(foreign, ["age", "sex"], DISEASE, k=2, missing="any"),
    "reference": audit(
        SURVEYED,
        QUASI,
        {"disease": {"t": "0.5"}, "pay": "ordered"},
        reference=partial(survey, 300, 6),
    ),
    "explained": explanation(
        SURVEYED,
        QUASI,
        {"pay": "ordered", "disease": {"t": "0.2"}},
        attribute="pay",
    ),
    "explained-class": explanation(
        SURVEYED,
        QUASI,
        {"town": {"distance": "hierarchical", "hierarchy": "cities.csv"}},
        labels={"age": "[20, 39]", "sex": "f"},
    ),
}
