"""The certificate: what was asked of a release and what is reached, for a disclosure board and for machines."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from tclose_spark import __version__
from tclose_spark.spec import ReleaseSpec, SensitiveAttribute


def build_certificate(spec: ReleaseSpec, figures: Mapping[str, Any], rows: int, version: int | None, columns: list[str]) -> dict[str, Any]:
    """The certificate of a release that was verified.

    figures: the verifier's. rows, version: of the input. Says nothing that does not follow from the release.
    """
    asked = spec.attributes.sensitive_attributes
    found = figures["attributes"]
    return {
        "verdict": "holds",
        "tool": {"name": "tclose_spark", "version": __version__},
        "issued": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "release": {
            "name": spec.name,
            "rows": figures["rows"],
            "classes": figures["classes"],
            "fingerprint": figures["fingerprint"],
            "columns": columns,
        },
        "input": {"rows": rows, "version": version},
        "method": spec.method.model_dump(exclude_none=True),
        "guarantees": {
            "k": {"required": spec.privacy.k, "achieved": figures["smallest_class"]},
            "t": {name: _closeness(asked[name], Fraction(found[name]["emd"])) for name in asked},
            "l": {name: entry for name in asked if (entry := _diversity(asked[name], found[name]))},
        },
        "information": _information(figures),
        "utility": {
            "ncp": figures["ncp"],
            "ncp_by_quasi_identifier": figures["ncp_by_quasi_identifier"],
            "average_class_size": figures["rows"] / figures["classes"],
            "smallest_class": figures["smallest_class"],
            "largest_class": figures["largest_class"],
            "discernibility": figures["discernibility"],
        },
        "evidence": {"expectations_evaluated": figures["expectations_evaluated"], "labels_checked": figures["rows"]},
        "allow_unique": list(spec.attributes.allow_unique),
    }


def _information(figures: Mapping[str, Any]) -> dict[str, Any]:
    """What is told and not required: how far the tuples of several sensitive attributes are, by equal distance."""
    if "tuples_emd" not in figures:
        return {}
    reached = Fraction(figures["tuples_emd"])
    return {"tuples": {"distance": "equal", "achieved": float(reached), "achieved_exact": str(reached)}}


def _closeness(asked: SensitiveAttribute, reached: Fraction) -> dict[str, Any]:
    return {
        "distance": asked.distance,
        "required": None if asked.t is None else float(asked.t),
        "required_exact": None if asked.t is None else str(asked.t),
        "achieved": float(reached),
        "achieved_exact": str(reached),
    }


def _diversity(asked: SensitiveAttribute, found: Mapping[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    if asked.l.distinct is not None:
        entry["distinct"] = {"required": asked.l.distinct, "achieved": found["distinct"]}
    if asked.l.entropy is not None:
        entry["entropy"] = {"required": float(asked.l.entropy), "achieved": found["entropy"]}
    if asked.l.recursive is not None:
        entry["recursive"] = {"required": {"c": str(asked.l.recursive.c), "l": asked.l.recursive.l}, "holds": found["recursive_holds"]}
    return entry
