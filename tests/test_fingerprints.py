"""What a release says does not change unnoticed: with one secret, the same table and run file give
the same release and certificate.

`fingerprints.json` holds, for each run, the release's fingerprint and a hash of each part of the
certificate. A change that means to alter some of them records them again, in a commit that says so:
`TCLOSE_RECORD=1 pytest tests/test_fingerprints.py`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from strategies import CITIES

from tclose_spark import pipeline
from tclose_spark.io.run import Run

RECORDED = Path(__file__).with_name("fingerprints.json")
NUMBERS = {"age": {"type": "numeric"}, "height": {"type": "numeric", "round_to": "0.5"}}
BOUNDS = {
    "age": {"type": "numeric", "numeric_output": "bounds"},
    "height": {"type": "numeric", "numeric_output": "bounds", "round_to": "0.25"},
}
CATEGORIES = {"sex": {}, "city": {"hierarchy": "cities.csv"}, "site": {"generalization": "set"}}
EVERY = {**NUMBERS, **CATEGORIES, "visits": {"type": "numeric"}}
EQUAL, ORDERED = {"disease": {"t": "0.3"}}, {"pay": {"distance": "ordered", "t": "0.2"}}
NESTED = {
    "home": {"distance": "hierarchical", "hierarchy": "cities.csv", "missing": "leaf", "t": "0.25"},
}
LISTED = {
    "mood": {
        "distance": "ordered",
        "order": ["never", "low", "middle", "high"],
        "missing": "lowest",
        "t": "0.3",
    },
}


def tree(effort: str | int) -> dict[str, Any]:
    return {"name": "closeness_tree", "effort": effort}


def dealt(**settings: Any) -> dict[str, Any]:
    return {"name": "stack_and_deal", **settings}


def fragments(**settings: Any) -> dict[str, Any]:
    return {"name": "fragmentation", **settings}


RUNS: dict[str, dict[str, Any]] = {
    "tree, fast, all kinds of quasi-identifiers": {
        "method": tree("fast"),
        "quasi": EVERY,
        "sensitive": EQUAL,
    },
    "tree, balanced, ordered": {"method": tree("balanced"), "quasi": EVERY, "sensitive": ORDERED},
    "tree, thorough, two attributes": {
        "method": tree("thorough"),
        "quasi": NUMBERS,
        "sensitive": {**EQUAL, **ORDERED},
    },
    "tree, no exchange, bounds": {"method": tree(0), "quasi": BOUNDS, "sensitive": EQUAL},
    "tree, sweeps, hierarchical": {"method": tree(3), "quasi": CATEGORIES, "sensitive": NESTED},
    "tree, distinct l": {
        "method": tree("fast"),
        "quasi": EVERY,
        "sensitive": {"disease": {"t": "0.6", "l": {"distinct": 3}}},
    },
    "tree, four attributes": {
        "method": tree("fast"),
        "quasi": CATEGORIES,
        "sensitive": {**EQUAL, **ORDERED, **NESTED, **LISTED},
    },
    "tree, linked, insensitive": {
        "method": tree("fast"),
        "quasi": {**NUMBERS, "sex": {}},
        "sensitive": {**ORDERED, "disease": {}},
        "insensitive_attributes": ["region"],
        "output": {"keep_linked": True},
    },
    "tree, blocks": {
        "method": tree("fast"),
        "quasi": NUMBERS,
        "sensitive": EQUAL,
        "rows": 200_000,
        "k": 20,
    },
    "dealt by frequency": {"method": dealt(), "quasi": EVERY, "sensitive": EQUAL},
    "dealt by value, k": {
        "method": dealt(class_size="k", stack_order="value"),
        "quasi": NUMBERS,
        "sensitive": {"pay": {"distance": "ordered"}},
    },
    "dealt round robin": {
        "method": dealt(deal="round_robin"),
        "quasi": CATEGORIES,
        "sensitive": LISTED,
    },
    "dealt, best order, two attributes": {
        "method": dealt(stack_order="best"),
        "quasi": EVERY,
        "sensitive": {**EQUAL, **ORDERED},
    },
    "dealt in layers": {
        "method": dealt(deal="layered"),
        "quasi": BOUNDS,
        "sensitive": {**EQUAL, **NESTED},
    },
    "dealt, every l": {
        "method": dealt(),
        "quasi": NUMBERS,
        "sensitive": {
            "disease": {"l": {"distinct": 2, "entropy": "1.5", "recursive": {"c": "4", "l": 2}}},
        },
    },
    "dealt, text options, by frequency": {
        "method": dealt(),
        "quasi": {"age": {"type": "numeric"}, "site": {"text": {"case": "fold", "strip": True}}},
        "sensitive": {
            "ward": {
                "distance": "ordered",
                "order": "frequency",
                "missing": "highest",
                "t": "0.3",
                "text": {"strip": True},
            },
        },
    },
    "fragments, proven": {"method": fragments(), "quasi": EVERY, "sensitive": {**EQUAL, **ORDERED}},
    "fragments, measured": {
        "method": fragments(sizing="measured"),
        "quasi": EVERY,
        "sensitive": {**ORDERED, **NESTED},
    },
    "fragments, as in the papers": {
        "method": fragments(sizing="gcd", bounds="paper"),
        "quasi": NUMBERS,
        "sensitive": {"pay": {"distance": "ordered", "t": "0.5"}, **LISTED},
    },
    "fragments, bins": {
        "method": fragments(),
        "quasi": NUMBERS,
        "sensitive": {
            "pay": {"distance": "ordered", "t": "0.3", "bins": {"equal_mass": 4}},
            **EQUAL,
        },
    },
    "microaggregation, buckets": {
        "method": {"name": "microaggregation"},
        "quasi": EVERY,
        "sensitive": ORDERED,
    },
    "microaggregation, refined, two attributes": {
        "method": {"name": "microaggregation", "algorithm": 2},
        "quasi": BOUNDS,
        "sensitive": {**EQUAL, **ORDERED},
    },
    **{
        f"microaggregation, {cells}, two attributes": {
            "method": {"name": "microaggregation", "cells": cells},
            "quasi": BOUNDS,
            "sensitive": {**NESTED, **ORDERED},
        }
        for cells in ("clusters", "first_component")
    },
    "microaggregation, means": {
        "method": {"name": "microaggregation", "representative": "mean", "digits": 1},
        "quasi": {
            "age": {"type": "numeric"},
            "height": {"type": "numeric"},
            "sex": {},
            "city": {"hierarchy": "cities.csv"},
        },
        "sensitive": ORDERED,
    },
    "sabre": {"method": {"name": "sabre"}, "quasi": CATEGORIES, "sensitive": NESTED},
}
WHOLE = (
    "tree, fast, all kinds of quasi-identifiers",
    "tree, linked, insensitive",
    "tree, four attributes",
    "dealt in layers",
    "dealt, every l",
    "dealt, text options, by frequency",
    "fragments, bins",
    "microaggregation, means",
)
"""Runs that the quick tests carry out on Spark: together they have every form of label and file,
every distance and every requirement. The local engine carries out all; `make test-slow` runs the
others on Spark, too.
"""


def people(rows: int) -> pa.Table:
    """Records with every form of label, every distance, missing values and spellings."""
    draw = np.random.default_rng(23)

    def pick(*values: Any) -> list[Any]:
        return [values[i] for i in draw.integers(len(values), size=rows)]

    return pa.table(
        {
            "age": draw.integers(18, 80, rows),
            "height": np.round(1.5 + draw.random(rows) / 2, 2),
            "visits": pick(None, *range(9)),
            "city": pick(None, *CITIES.leaves),
            "sex": pick("f", "m", None),
            "site": pick("North", "north ", "south", "a, b"),
            "disease": pick("flu", "flu", "gout", "ulcer", "angina", None),
            "pay": draw.integers(900, 940, rows),
            "mood": pick("low", "middle", "high", None),
            "ward": pick("w1", "w2", "w2 ", "w3", None),
            "home": pick("Pisa", "Siena", "Lyon", None),
            "region": pick("east", "west"),
        },
    )


def digest(part: Any) -> str:
    return hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:16]


def prepare(name: str, make_run: Callable[..., Run]) -> Run:
    settings = dict(RUNS[name])
    return make_run(people(settings.pop("rows", 300)), drop_others=True, **{"k": 4, **settings})


def found_in(certificate: Mapping[str, Any]) -> dict[str, Any]:
    parts = {
        key: digest(part) for key, part in certificate.items() if key not in ("issued", "tool")
    }
    return {"release": certificate["release"]["fingerprint"], "certificate": parts}


@pytest.mark.on_spark
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[] if n in WHOLE else pytest.mark.slow) for n in RUNS],
)
def test_spark_gives_what_it_gave(name: str, make_run: Callable[..., Run]) -> None:
    found = found_in(pipeline.release(prepare(name, make_run)))
    if "TCLOSE_RECORD" in os.environ:
        known = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
        RECORDED.write_text(json.dumps({**known, name: found}, indent=1, sort_keys=True) + "\n")
    assert found == json.loads(RECORDED.read_text())[name]


@pytest.mark.parametrize("name", RUNS)
def test_the_local_engine_gives_what_spark_gave(name: str, make_run: Callable[..., Run]) -> None:
    assert (
        found_in(pipeline.release(prepare(name, make_run)))
        == json.loads(RECORDED.read_text())[name]
    )


def test_every_record_is_of_a_run() -> None:
    assert set(json.loads(RECORDED.read_text())) == set(RUNS)
