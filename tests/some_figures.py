"""Figures of a verdict for tests of the pages, which show a few of them."""

from __future__ import annotations

from typing import Any

from tclose_spark.requirements.figures import Figures

NONE: dict[str, Any] = {
    "suppressed": {"rows": 0},
    "classes": 1,
    "smallest_class": 1,
    "largest_class": 1,
    "discernibility": 1,
    "ncp": 0.0,
    "ncp_by_quasi_identifier": {},
    "attributes": {},
    "quasi_identifiers": {},
    "warnings": [],
    "columns": {},
    "fingerprint": "1-1",
    "rows": 1,
    "extremes": {},
    "spreads": {},
    "guessed": {},
    "worst": {},
    "by_input": {"ncp": None, "ncp_by_quasi_identifier": {}},
    "regions": "not looked at",
    "expectations_evaluated": 1,
}


def figures_with(**found: Any) -> Figures:
    """Figures with these, and nothing else to show."""
    return Figures.read({**NONE, **found}, [])
