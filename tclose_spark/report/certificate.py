"""The certificate of a release: what is required and what is achieved, for a disclosure board and
for programs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import Any

from tclose_spark.report.option_words import Certified, Optimum, add_all, words_of
from tclose_spark.requirements.figures import Achieved, AttributeFigures, LossFigures
from tclose_spark.requirements.wording import entries_of
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.runfile.brought import maker_of
from tclose_spark.runfile.distances import DEFAULT
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.runfile.registry import MODULES
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.writing import listing
from tclose_spark.version import __version__

SAME_LOSS = 2e-6
"""Losses that differ by no more are the same: a plan's has six digits."""
COUNTS = "Counts are rows. A person with several rows counts several times."


def build_certificate(made: Certified, hierarchies: Mapping[str, Hierarchy]) -> dict[str, Any]:
    """The certificate of a verified release. Its figures can be recomputed from the release and the
    key `attributes`.

    Raises:
        ConfigurationError: if an option of another package changes a key.
    """
    spec = made.spec
    figures = made.figures
    settings = spec.attributes.sensitive_attributes
    sections: dict[str, Any] = {
        "verdict": "holds",
        "unprotected": {
            name: vars(figures.attributes[name].homogeneous)
            for name, one in settings.items()
            if not one.limited
        },
        "tool": {"name": "tclose_spark", "version": __version__},
        "issued": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "release": {
            "name": spec.name,
            "rows": figures.rows,
            "classes": figures.classes,
            "fingerprint": figures.fingerprint,
            "columns": made.columns,
        },
        "counts": COUNTS,
        **_subjects(made),
        "input": {"rows": made.rows, "version": made.version},
        "method": spec.method.model_dump(exclude_none=True),
        "regions": figures.regions,
        "guarantees": guarantees_of(spec, figures.smallest_class, figures.attributes),
        "attributes": {
            "sensitive": {
                name: _sensitive(one, figures.attributes[name], hierarchies.get(name))
                for name, one in settings.items()
            },
            "quasi_identifiers": {
                name: {**_quasi(one, hierarchies.get(name)), **figures.quasi_identifiers[name]}
                for name, one in spec.attributes.quasi_identifiers.items()
            },
        },
        "information": {
            "attributes": {
                name: _measured(one, figures.attributes[name]) for name, one in settings.items()
            }
        },
        "utility": _utility(made),
        "evidence": {
            "expectations_evaluated": figures.expectations_evaluated,
            "labels_checked": figures.rows,
        },
        "allow_unique": list(spec.attributes.allow_unique),
        "warnings": [*figures.warnings, *made.warnings],
    }
    if brought := brought_by(spec):
        sections["brought"] = brought
    add_all(words_of(spec), sections, lambda words, seen: words.certify(made, seen))
    return _in_order(sections, _schema())


def brought_by(spec: ReleaseSpec) -> list[dict[str, Any]]:
    """The options, requirements and methods of other packages that a run uses, each with its
    package and version.
    """
    attributes = spec.attributes.sensitive_attributes.values()
    used = [("option", one.key) for one in spec.brought]
    used += [("requirement", one.key) for a in attributes for one in a.brought]
    used += [("method", name) for name in [spec.method.name] if name not in MODULES]
    found = []
    for kind, name in dict.fromkeys(used):
        package, version = maker_of(f"tclose_spark.{kind}s", name)
        found.append({"kind": kind, "name": name, "package": package, "version": version})
    return found


def _subjects(made: Certified) -> dict[str, Any]:
    """The notes on whom rows are about, or the statement that each is a person."""
    stated = bool(made.spec.attributes.rows_are_persons)
    notes = list(made.subjects)
    return {"subjects": {"rows_are_persons": stated, "notes": notes}} if stated or notes else {}


@cache
def _schema() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        resources.files(__package__).joinpath("certificate.schema.json").read_text()
    )
    return found


def _in_order(section: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """A section in the order of the schema, those in it too. What the schema does not know comes
    last.
    """
    known = schema.get("properties", {})
    return {
        key: _in_order(section[key], known.get(key, {}))
        if isinstance(section[key], dict)
        else section[key]
        for key in (
            *(key for key in known if key in section),
            *(key for key in section if key not in known),
        )
    }


def _utility(made: Certified) -> dict[str, Any]:
    figures = made.figures
    return {
        "ncp": figures.ncp,
        "ncp_by_quasi_identifier": dict(figures.ncp_by_quasi_identifier),
        **_weighted_loss(made.spec, figures.ncp_by_quasi_identifier),
        "average_class_size": figures.rows / figures.classes,
        "smallest_class": figures.smallest_class,
        "largest_class": figures.largest_class,
        "discernibility": figures.discernibility,
        **({} if made.optimum is None else {"optimum": proven(made.spec, figures, made.optimum)}),
    }


def _weighted_loss(spec: ReleaseSpec, losses: Mapping[str, float | None]) -> dict[str, float]:
    """The weighted mean of the losses if the run file's weights differ."""
    weights = {
        name: float(quasi.weight) for name, quasi in spec.attributes.quasi_identifiers.items()
    }
    known = {name: loss for name, loss in losses.items() if loss is not None}
    if len(set(weights.values())) == 1 or len(known) < len(losses):
        return {}
    return {
        "ncp_weighted": sum(weights[name] * loss for name, loss in known.items())
        / sum(weights.values())
    }


def proven(spec: ReleaseSpec, figures: LossFigures, optimum: Optimum) -> str | dict[str, Any]:
    """What the method has proven (`utility.optimum`) of `ncp_weighted`, or of `ncp` without
    weights.

    No release loses less by these figures than by what the input has, since labels name no more. So
    a proof over the input holds for them if the release loses no more by them. Otherwise the proof
    is stated of the input, without the loss itself: it would reveal the range or the number of the
    input's values.
    """
    measured = _weighted_loss(spec, figures.ncp_by_quasi_identifier).get(
        "ncp_weighted", figures.ncp
    )
    assert measured is not None
    if measured - optimum.loss <= SAME_LOSS:
        return optimum.proven
    return {
        "gap": 0.0,
        **(optimum.proven if isinstance(optimum.proven, dict) else {}),
        "over": "input",
    }


def guarantees_of(
    spec: ReleaseSpec, smallest: int, attributes: Mapping[str, Achieved]
) -> dict[str, Any]:
    """The required and achieved figures of classes: k of the smallest, t and l of the worst.
    attributes: the verifier's figures by name.
    """
    k: dict[str, Any] = {"required": spec.privacy.k, "achieved": smallest}
    if spec.privacy.alpha is not None:
        k["chosen"] = {
            "objective": "alpha * t + (1 - alpha) * NCP",
            "alpha": str(spec.privacy.alpha),
        }
    reached = {name: found.reached for name, found in attributes.items()}
    return {"k": k, **entries_of(spec.attributes.sensitive_attributes, reached)}


def _sensitive(
    settings: SensitiveAttribute, achieved: AttributeFigures, hierarchy: Hierarchy | None
) -> dict[str, Any]:
    """The settings and domain from which an attribute's figures can be recomputed, and the rows
    that it is certain for.
    """
    entry = {
        "distance": settings.distance,
        "m": (achieved.places or achieved.domain)["size"],
        "domain": achieved.domain,
        "unused": achieved.unused,
        **({} if achieved.input is None else {"input": achieved.input}),
        "missing": "value"
        if not settings.kind.missing and settings.missing == "error"
        else settings.missing,
        "homogeneous": vars(achieved.homogeneous),
    }
    if achieved.places is not None:
        entry["places"] = achieved.places
    if settings.kind.ordered:
        entry["order"] = settings.order if isinstance(settings.order, str) else "list"
    if settings.text is not None:
        entry["text"] = settings.text.model_dump(mode="json", exclude_defaults=True)
    return (
        entry if hierarchy is None else {**entry, "hierarchy": _tree(hierarchy.without_missing())}
    )


def _quasi(settings: QuasiIdentifier, hierarchy: Hierarchy | None) -> dict[str, Any]:
    """How a quasi-identifier is published: its settings, and the form of its labels. Leaves of a
    built hierarchy are values of people, so only their number is published.
    """
    entry = {
        "type": settings.type,
        **settings.model_dump(mode="json", exclude_defaults=True, exclude={"hierarchy"}),
    }
    if hierarchy is not None:
        built = isinstance(settings.hierarchy, HierarchyBuilder)
        return {**entry, "hierarchy": {"size": len(hierarchy.paths)} if built else _tree(hierarchy)}
    form = "numeric_output" if settings.is_numeric else "generalization"
    return {**entry, form: getattr(settings, form)}


def _tree(hierarchy: Hierarchy) -> dict[str, Any]:
    """The paths of all leaves, sorted."""
    return listing(sorted(hierarchy.paths), "paths")


def _measured(settings: SensitiveAttribute, achieved: Achieved) -> dict[str, Any]:
    """What is measured of a sensitive attribute and not required."""
    reached = achieved.reached
    return {
        "kl_divergence": reached["divergence"]["achieved"],
        "delta_disclosure": {
            "largest": reached["delta"]["achieved"],
            "infinite": vars(achieved.unlike),
        },
        **({} if settings.distance == DEFAULT else {"similar": vars(achieved.similar)}),
    }
