"""Certificates for tests of what is made from them."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from tclose_spark.report.certificate.sections import Certificate

NOTHING = {"size": 0, "values": []}
CERTAIN_FOR_NOBODY = {"classes": 0, "rows": 0}
SENSITIVE = {
    "distance": "equal",
    "m": 2,
    "domain": NOTHING,
    "unused": NOTHING,
    "missing": "value",
    "homogeneous": CERTAIN_FOR_NOBODY,
}
MEASURED = {
    "kl_divergence": 0.5,
    "delta_disclosure": {"largest": None, "infinite": CERTAIN_FOR_NOBODY},
}
CLOSENESS = {
    "distance": "equal",
    "required": None,
    "required_exact": None,
    "achieved": 0.5,
    "achieved_exact": "1/2",
}
SUPPRESSED = {"rows": 0, "share": 0.0, "limit": 0.1, "limit_exact": "1/10", "of": "input"}
CERTIFICATE: Mapping[str, Any] = {
    "verdict": "holds",
    "unprotected": {},
    "tool": {"name": "tclose_spark", "version": "0.1.0"},
    "issued": "2026-11-21T01:02:03Z",
    "release": {
        "name": "people",
        "rows": 100,
        "classes": 9,
        "fingerprint": "75d2-9a1f",
        "columns": ["age", "disease"],
    },
    "counts": "Counts are rows.",
    "input": {"rows": 100, "version": None},
    "method": {"name": "closeness_tree"},
    "regions": "overlapping",
    "guarantees": {"k": {"required": 5, "achieved": 7}, "t": {}, "l": {}},
    "attributes": {"sensitive": {}, "quasi_identifiers": {}},
    "information": {"attributes": {}},
    "utility": {
        "ncp": 0.25,
        "ncp_by_quasi_identifier": {},
        "average_class_size": 11.1,
        "smallest_class": 7,
        "largest_class": 20,
        "discernibility": 1111,
    },
    "evidence": {"expectations_evaluated": 12, "labels_checked": 100},
    "allow_unique": [],
    "warnings": [],
}


def certificate_with(found: Mapping[str, Any] = {}, /, **more: Any) -> Certificate:
    """A certificate with these parts. What they lack is that of a small release."""
    made = merged(CERTIFICATE, {**found, **more})
    for name, entry in made["attributes"]["sensitive"].items():
        made["attributes"]["sensitive"][name] = merged(SENSITIVE, entry)
    every = [made["guarantees"]]
    if "suppressed" in made:
        made["suppressed"] = merged(SUPPRESSED, made["suppressed"])
        if "guarantees" in made["suppressed"]:
            every.append(made["suppressed"]["guarantees"])
    for guarantees in every:
        guarantees["t"] = {name: merged(CLOSENESS, t) for name, t in guarantees["t"].items()}
    return Certificate.read(made)


def merged(usual: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """The usual parts, and in place of some the parts that are found."""
    made = deepcopy(dict(usual))
    for key, part in found.items():
        both = isinstance(part, dict) and isinstance(made.get(key), dict)
        made[key] = merged(made[key], part) if both else deepcopy(part)
    return made
