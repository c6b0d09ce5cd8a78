"""The runs whose releases are recorded: of each option and each method one at least, on small
synthetic tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
from recorded_tables import month, pairs, population, stays, survey

AGE: dict[str, Any] = {"age": {"type": "numeric"}, "sex": {}}
PLACES: dict[str, Any] = {**AGE, "city": {"hierarchy": "cities.csv"}}
KINDS: dict[str, Any] = {
    **PLACES,
    "height": {"type": "numeric", "numeric_output": "bounds", "round_to": "0.25"},
    "grade": {"generalization": "set"},
    "visits": {"type": "numeric"},
}
EQUAL: dict[str, Any] = {"disease": {"t": "0.3"}}
LOOSE: dict[str, Any] = {"disease": {"t": "0.45"}}
ORDERED: dict[str, Any] = {"pay": {"distance": "ordered", "t": "0.25"}}
NESTED: dict[str, Any] = {
    "town": {"distance": "hierarchical", "hierarchy": "cities.csv", "t": "0.35"},
}
EVERY_L = {"distinct": 2, "entropy": "1.5", "recursive": {"c": "4", "l": 2}, "frequency": "1.2"}
TREE: dict[str, Any] = {"name": "closeness_tree", "effort": "fast"}
DISJOINT: dict[str, Any] = {"name": "closeness_tree", "effort": "fast", "overlap": "none"}
MONDRIAN: dict[str, Any] = {"name": "t_mondrian"}
INCOGNITO: dict[str, Any] = {"name": "t_incognito"}
APART = {"column": "patient", "rows": "apart"}
NARROW: dict[str, Any] = {"age": {"type": "numeric", "coarsest": 4}, "sex": {}}
NARROW_PLACES: dict[str, Any] = {
    "age": {"type": "numeric", "coarsest": 30},
    "sex": {},
    "city": {"hierarchy": "cities.csv", "coarsest": 1},
}
OF_INPUT = {"of": "input", "suppression_limit": "0.4"}
OF_RELEASED = {"of": "released", "suppression_limit": "0.3"}
LINE = {"of": "released", "suppression_limit": "0.9"}
POPULATED = {"fraction": "0.1"}
VARYING = partial(stays, varying=True)


@dataclass(frozen=True)
class RecordedRun:
    """A run file and its input.

    settings: those of `write_run_file` in conftest.py. form: the section `release`. table: makes
        the input.
    months: makes the inputs of a line of releases, each of which continues the one before, in its
        place.
    beside: makes further files of the run, by name.
    whole: whether long values are recorded as they are, and not by a hash.
    """

    settings: Mapping[str, Any]
    table: Callable[[], pa.Table] = survey
    months: tuple[Callable[[], pa.Table], ...] = ()
    beside: Mapping[str, Callable[[], pa.Table]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, Any] | None = None
    whole: bool = False


def run(
    method: Mapping[str, Any],
    quasi: Mapping[str, Any],
    sensitive: Mapping[str, Any],
    table: Callable[[], pa.Table] = survey,
    **more: Any,
) -> RecordedRun:
    """more: fields of `RecordedRun`, and settings of the run file."""
    own = {
        key: more.pop(key) for key in ("months", "beside", "texts", "form", "whole") if key in more
    }
    settings = {"k": 4, "drop_others": True, **more}
    return RecordedRun(
        {"method": method, "quasi": quasi, "sensitive": sensitive, **settings},
        table,
        **own,
    )


MONTHS = tuple(partial(month, number) for number in range(3))
LINE_OF_PEOPLE = {"person": "patient", "months": MONTHS, "privacy": LINE}

METHODS = {
    "mondrian": run(MONDRIAN, KINDS, EQUAL),
    "mondrian-l": run(
        MONDRIAN,
        AGE,
        {"disease": {"t": "0.4", "l": {"distinct": 3, "frequency": "1.5"}}, **ORDERED},
    ),
    "incognito": run(INCOGNITO, PLACES, LOOSE),
    "incognito-suppressing": run(
        {**INCOGNITO, "metric": "discernibility"},
        NARROW_PLACES,
        LOOSE,
        privacy=OF_INPUT,
        whole=True,
    ),
    "incognito-every-l": run(
        {**INCOGNITO, "metric": "entropy"},
        AGE,
        {"disease": {"t": "0.5", "l": EVERY_L}},
    ),
    "exact": run({"name": "exact"}, AGE, {"disease": {"t": "0.4"}}, partial(pairs, 14), k=3),
    "exact-searching": run(
        {"name": "exact"},
        AGE,
        {"disease": {"t": "0.5"}},
        partial(pairs, 26),
        k=3,
    ),
    "disjoint": run(DISJOINT, KINDS, EQUAL),
    "sabre-uninformative": run(
        {"name": "sabre"},
        AGE,
        {"ward": {"t": "0.3", "beta": "2", "missing": "uninformative"}},
    ),
    "medians": run(
        {"name": "microaggregation", "representative": "median"},
        {
            **AGE,
            "height": {"type": "numeric"},
            "grade": {"hierarchy": {"order": 2}},
            "born": {"type": "date"},
        },
        ORDERED,
    ),
}
OF_PEOPLE = {
    "person": run(TREE, PLACES, EQUAL, stays, person="patient", whole=True),
    "person-balanced-l": run(
        {**TREE, "effort": "balanced"},
        PLACES,
        {"disease": {"t": "0.3", "l": {"distinct": 3}}, **ORDERED},
        stays,
        person="patient",
    ),
    "person-apart": run(TREE, PLACES, EQUAL, VARYING, person=APART),
    "person-disjoint": run(DISJOINT, PLACES, EQUAL, stays, person="patient"),
    "person-mondrian": run(MONDRIAN, AGE, {**EQUAL, **NESTED}, stays, person="patient"),
    "person-incognito": run(INCOGNITO, PLACES, LOOSE, stays, person="patient", privacy=OF_RELEASED),
    "person-incognito-apart": run(INCOGNITO, PLACES, LOOSE, VARYING, person=APART),
    "person-suppressing": run(
        TREE,
        NARROW_PLACES,
        {"disease": {"t": "0.3"}},
        stays,
        person="patient",
        privacy=OF_RELEASED,
    ),
    "person-household": run(
        TREE,
        PLACES,
        EQUAL,
        stays,
        person="patient",
        household={"column": "household", "k": 3},
    ),
    "person-pseudonyms": run(
        TREE,
        PLACES,
        EQUAL,
        stays,
        person="patient",
        pseudonyms={"patient": {"as": "who"}},
    ),
    "person-population": run(
        TREE,
        PLACES,
        EQUAL,
        stays,
        person="patient",
        privacy={"population": POPULATED, "risk": {"prosecutor": {"maximum": "0.25"}}},
    ),
    "person-joint": run(
        TREE,
        AGE,
        {"disease": {"t": "0.3"}, "region": {"t": "0.3"}},
        stays,
        person="patient",
        privacy={"joint": [{"attributes": ["disease", "region"], "t": "0.4"}]},
    ),
    "person-beta": run(TREE, AGE, {"disease": {"beta": "1.5"}}, stays, person="patient"),
}
OF_HOUSEHOLDS = {
    "household": run(TREE, PLACES, EQUAL, household={"column": "household", "k": 3}),
    "household-mondrian": run(MONDRIAN, PLACES, EQUAL, household={"column": "household", "k": 4}),
    "household-incognito": run(
        INCOGNITO,
        PLACES,
        LOOSE,
        household={"column": "household", "k": 3},
        privacy=OF_RELEASED,
    ),
    "household-measured": run(
        {},
        PLACES,
        EQUAL,
        household="household",
        privacy={"risk": {"household": {"mean": "0.9"}}},
    ),
    "household-weight": run(
        TREE,
        AGE,
        EQUAL,
        household={"column": "household", "k": 2},
        weight={"column": "weight", "publish": True, "round_to": 5},
    ),
}
OF_WEIGHTS = {
    "weight": run(TREE, AGE, EQUAL, weight="weight", whole=True),
    "weight-published": run(
        {},
        PLACES,
        {**EQUAL, **ORDERED},
        weight={"column": "weight", "publish": True, "round_to": "2.5"},
        privacy={"population": {"weight": "weight"}},
    ),
    "weight-suppressing": run(
        INCOGNITO,
        AGE,
        LOOSE,
        weight={"column": "weight", "publish": True, "round_to": 5},
        privacy=OF_RELEASED,
    ),
}
OF_LINES = {
    "line": run(TREE, AGE, LOOSE, **{**LINE_OF_PEOPLE, "months": MONTHS[:2]}),
    "line-versions": run(
        TREE,
        AGE,
        {"disease": {"t": "0.5", "l": {"distinct": 2}}},
        output={"keep_versions": 2, "leavers": "keep"},
        **LINE_OF_PEOPLE,
    ),
}
OF_FORMS = {
    "anatomy": run(
        {},
        {"age": {"type": "numeric"}, "sex": {}},
        EQUAL,
        form={"form": "anatomy"},
        whole=True,
    ),
    "anatomy-blocks": run(
        TREE,
        {"age": {"type": "numeric"}, "sex": {}},
        {"disease": {"t": "0.4"}, **ORDERED},
        form={"form": "anatomy", "together": [["disease"], ["pay"]]},
    ),
    "permutation": run(
        TREE,
        {"age": {"type": "numeric"}, "city": {}},
        EQUAL,
        form={"form": "permutation"},
    ),
    "blocks": run(
        {},
        PLACES,
        {"disease": {"t": "0.4"}, **ORDERED},
        form={"together": [["disease"], ["pay"]]},
        insensitive_attributes=["region"],
    ),
}
OF_REQUIREMENTS = {
    "joint": run(
        TREE,
        AGE,
        {"disease": {"t": "0.4"}, "mood": {"t": "0.4", "missing": "uninformative"}},
        privacy={"joint": [{"attributes": ["disease", "mood"], "t": "0.5"}]},
    ),
    "nt": run(TREE, PLACES, {"disease": {"t": "0.25"}}, privacy={"nt": {"n": 60}}),
    "nt-mondrian": run(MONDRIAN, AGE, {"disease": {"t": "0.25"}}, privacy={"nt": {"n": 80}}),
    "beta": run({}, PLACES, {"disease": {"beta": "1.5", "l": EVERY_L}}),
    "places": run(
        TREE,
        AGE,
        {"pay": {"distance": "ordered", "t": "0.25", "domain": {"equal_width": 6}}},
    ),
}
OF_PRIVACY = {
    "suppressing": run(TREE, NARROW, {"disease": {"t": "0.25"}}, privacy=OF_INPUT),
    "population-table": run(
        {},
        AGE,
        EQUAL,
        privacy={
            "population": {"table": "everyone.parquet"},
            "risk": {"marketer": {"mean": "0.5"}},
        },
        beside={"everyone.parquet": population},
    ),
    "profile": run({}, PLACES, EQUAL, k=12, privacy={"profile": "ema_0070"}),
    "profile-areas": run(
        {},
        {**AGE, "zip": {"hierarchy": {"prefix": [2, 1]}}},
        EQUAL,
        privacy={
            "profile": {
                "name": "hipaa_safe_harbor",
                "populations": {"zip": "areas.csv"},
                "not_identifiers": ["region"],
            },
        },
        insensitive_attributes=["region"],
        texts={
            "areas.csv": "".join(
                f"9{number:02d},{1500 * (number - 20)}\n" for number in range(40, 60)
            ),
        },
    ),
    "profile-mean": run(
        TREE,
        AGE,
        EQUAL,
        k=15,
        privacy={
            "profile": {
                "name": "ipc_ontario",
                "release_model": "non_public",
                "invasion_of_privacy": "medium",
            },
            "population": POPULATED,
            "risk": {
                "threshold": "0.2",
                "journalist": {"maximum": "0.5"},
                "individual": {"mean": "0.9"},
            },
        },
    ),
    "chosen-k": run({}, AGE, LOOSE, k="auto", privacy={"alpha": "0.4"}),
}
OF_COLUMNS = {
    "pseudonyms": run(
        {},
        AGE,
        EQUAL,
        direct_identifiers=["household"],
        pseudonyms={"name": {"as": "code"}},
    ),
    "dates": run(
        TREE,
        {
            "born": {"type": "date", "round_to": 30},
            "seen": {"type": "timestamp", "hierarchy": {"dates": ["day", "month", "year"]}},
            "age": {"type": "numeric", "hierarchy": {"intervals": [5, 20]}, "weight": 2},
        },
        EQUAL,
    ),
    "labels": run(
        {},
        {
            "age": {"type": "numeric", "range": [0, 120], "coarsest": 70, "round_to": 5},
            "visits": {"type": "numeric", "missing": "any"},
            "site": {"text": {"case": "fold", "strip": True}, "missing_values": ["south"]},
            "grade": {
                "hierarchy": {"groups": {"high": ["a", "b"], "low": ["c", "d"]}, "other": "rest"},
            },
        },
        EQUAL,
    ),
    "exports": run(
        {},
        AGE,
        EQUAL,
        insensitive_attributes=["region", "height"],
        missing_values={"region": [9]},
        allow_unique=["height"],
        output={
            "export": ["csv", "parquet"],
            "one_file": True,
            "escape_formulas": True,
            "keep_linked": True,
        },
    ),
}
RUNS: dict[str, RecordedRun] = {
    **METHODS,
    **OF_PEOPLE,
    **OF_HOUSEHOLDS,
    **OF_WEIGHTS,
    **OF_LINES,
    **OF_FORMS,
    **OF_REQUIREMENTS,
    **OF_PRIVACY,
    **OF_COLUMNS,
}
