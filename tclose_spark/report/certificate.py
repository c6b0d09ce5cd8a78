"""The certificate: what is required of a release and what is reached, for a disclosure board and for machines."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from tclose_spark.runfile.aggregates import Aggregate
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.runfile.spec import Privacy, ReleaseSpec
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.writing import listing
from tclose_spark.version import __version__

OF_AGGREGATES = (
    "aggregates of classes are published, which do not say how far the values of a class lie apart; what labels that "
    "cover them would lose follows from the raw table alone"
)

COUNTS = "Counts are rows. A person with several rows counts several times."


def build_certificate(
    spec: ReleaseSpec,
    hierarchies: Mapping[str, Hierarchy],
    figures: Mapping[str, Any],
    rows: int,
    version: int | None,
    columns: list[str],
) -> dict[str, Any]:
    """The certificate of a release that was verified.

    figures: the verifier's. rows, version: of the input. All of it follows from the release and the run file with its
    hierarchies, and every figure can be computed again from the release and what stands under `attributes`.
    """
    settings = spec.attributes.sensitive_attributes
    reached = figures["attributes"]
    return {
        "verdict": "holds",
        "unprotected": {name: reached[name]["homogeneous"] for name in settings if not settings[name].limited},
        "tool": {"name": "tclose_spark", "version": __version__},
        "issued": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "release": {
            "name": spec.name,
            "rows": figures["rows"],
            "classes": figures["classes"],
            "fingerprint": figures["fingerprint"],
            "columns": columns,
        },
        "counts": COUNTS,
        "input": {"rows": rows, "version": version},
        "method": spec.method.model_dump(exclude_none=True),
        "regions": figures["regions"],
        "guarantees": {
            **_guarantees(spec, figures["smallest_class"], reached, from_whole=spec.privacy.n is None),
            **({} if spec.privacy.n is None else {"nt": _near(spec, spec.privacy.n, figures["near"])}),
        },
        **({"suppressed": _suppressed(spec, figures["suppressed"], rows)} if spec.privacy.suppression_limit else {}),
        "attributes": {
            "sensitive": {name: _sensitive(settings[name], reached[name], hierarchies.get(name)) for name in settings},
            "quasi_identifiers": {
                name: {
                    **_quasi(quasi, hierarchies.get(name), spec.aggregates.get(name)),
                    **figures["quasi_identifiers"][name],
                }
                for name, quasi in spec.attributes.quasi_identifiers.items()
            },
        },
        "information": _information(figures),
        "utility": {
            "ncp": figures["ncp"],
            **({"ncp_unknown": OF_AGGREGATES} if spec.aggregates else {}),
            "ncp_by_quasi_identifier": figures["ncp_by_quasi_identifier"],
            **_weighted_loss(spec, figures["ncp_by_quasi_identifier"]),
            "average_class_size": figures["rows"] / figures["classes"],
            "smallest_class": figures["smallest_class"],
            "largest_class": figures["largest_class"],
            "discernibility": figures["discernibility"],
        },
        "evidence": {"expectations_evaluated": figures["expectations_evaluated"], "labels_checked": figures["rows"]},
        "allow_unique": list(spec.attributes.allow_unique),
        "warnings": list(figures["warnings"]),
    }


def _weighted_loss(spec: ReleaseSpec, losses: Mapping[str, float]) -> dict[str, float]:
    """The mean loss by the weights of the run file, where they differ."""
    weights = {name: float(quasi.weight) for name, quasi in spec.attributes.quasi_identifiers.items()}
    if len(set(weights.values())) == 1 or None in losses.values():
        return {}
    return {"ncp_weighted": sum(weights[name] * loss for name, loss in losses.items()) / sum(weights.values())}


def _guarantees(
    spec: ReleaseSpec, smallest: int, attributes: Mapping[str, Any], from_whole: bool = True
) -> dict[str, Any]:
    """What is required of classes and what they reach: the smallest one, and by sensitive attribute the worst.

    from_whole: whether each t is required of the distance from the whole table; else that is only told.
    """
    required = spec.attributes.sensitive_attributes
    if not from_whole:
        required = {name: a.model_copy(update={"t": None}) for name, a in required.items()}
    return {
        "k": {"required": spec.privacy.k, "achieved": smallest, **_chosen(spec.privacy)},
        "t": {name: _closeness(required[name], Fraction(attributes[name]["emd"])) for name in required},
        "l": {name: entry for name in required if (entry := _diversity(required[name], attributes[name]))},
    }


def _near(spec: ReleaseSpec, n: int, reached: Mapping[str, Any]) -> dict[str, Any]:
    """(n, t)-closeness by sensitive attribute that has a t: the largest distance of a class from what proves it, and
    how many classes the whole table, the class itself and another natural superset prove, the first that does.
    """
    settings = spec.attributes.sensitive_attributes
    return {
        name: {
            "n": n,
            "distance": settings[name].distance,
            "required": float(t),
            "required_exact": str(t),
            **figures,
        }
        for name, figures in reached.items()
        if (t := settings[name].t) is not None
    }


def _chosen(privacy: Privacy) -> dict[str, Any]:
    """How a k was chosen that the run file does not say."""
    if privacy.alpha is None:
        return {}
    return {"chosen": {"objective": "alpha * t + (1 - alpha) * NCP", "alpha": str(privacy.alpha)}}


def _suppressed(spec: ReleaseSpec, figures: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """What is left out of the release, and what classes were compared with. Where that is the input, the distribution
    of the suppressed rows follows from it, and what they reach as a class is told.
    """
    privacy = spec.privacy
    entry = {
        "rows": figures["rows"],
        "share": figures["rows"] / rows,
        "limit": float(privacy.suppression_limit),
        "limit_exact": str(privacy.suppression_limit),
        "of": privacy.of,
    }
    if "attributes" not in figures:
        return entry
    of_one_value = [name for name, reached in figures["attributes"].items() if reached["homogeneous"]["classes"]]
    return {**entry, "guarantees": _guarantees(spec, figures["rows"], figures["attributes"]), "certain": of_one_value}


def _sensitive(settings: SensitiveAttribute, reached: Mapping[str, Any], hierarchy: Hierarchy | None) -> dict[str, Any]:
    """What is needed to compute an attribute's figures again; and for how many rows it is certain."""
    entry = {
        "distance": settings.distance,
        "m": reached["domain"]["size"],
        "domain": reached["domain"],
        "unused": reached["unused"],
        **({"input": reached["input"]} if "input" in reached else {}),
        "missing": settings.missing if settings.kind.missing else "value",
        "homogeneous": reached["homogeneous"],
    }
    if settings.kind.ordered:
        entry["order"] = settings.order if isinstance(settings.order, str) else "list"
    if settings.text is not None:
        entry["text"] = settings.text.model_dump(mode="json", exclude_defaults=True)
    return entry if hierarchy is None else {**entry, "hierarchy": _tree(hierarchy.without_missing())}


def _quasi(
    settings: QuasiIdentifier, hierarchy: Hierarchy | None, aggregate: Aggregate | None = None
) -> dict[str, Any]:
    """How a quasi-identifier is published: what was set, and the form of its labels, or what it is an aggregate of. The
    leaves of a hierarchy that was built are values of people: how many there are is told.
    """
    entry = {"type": settings.type, **settings.model_dump(mode="json", exclude_defaults=True, exclude={"hierarchy"})}
    if aggregate is not None:
        entry["aggregate"] = aggregate.kind
    if aggregate is not None and aggregate.digits is not None:
        entry["digits"] = aggregate.digits
    if hierarchy is not None:
        built = isinstance(settings.hierarchy, HierarchyBuilder)
        return {**entry, "hierarchy": {"size": len(hierarchy.paths)} if built else _tree(hierarchy)}
    if aggregate is not None:
        return entry
    form = "numeric_output" if settings.is_numeric else "generalization"
    return {**entry, form: getattr(settings, form)}


def _tree(hierarchy: Hierarchy) -> dict[str, Any]:
    """The paths of all leaves, in the order of their texts."""
    return listing(sorted(hierarchy.paths), "paths")


def _information(figures: Mapping[str, Any]) -> dict[str, Any]:
    """What is told and not required: how far the tuples of several sensitive attributes are, by equal distance."""
    if "tuples_emd" not in figures:
        return {}
    reached = Fraction(figures["tuples_emd"])
    return {"tuples": {"distance": "equal", "achieved": float(reached), "achieved_exact": str(reached)}}


def _closeness(settings: SensitiveAttribute, reached: Fraction) -> dict[str, Any]:
    return {
        "distance": settings.distance,
        "required": None if settings.t is None else float(settings.t),
        "required_exact": None if settings.t is None else str(settings.t),
        "achieved": float(reached),
        "achieved_exact": str(reached),
    }


def _diversity(settings: SensitiveAttribute, reached: Mapping[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    if settings.l.distinct is not None:
        entry["distinct"] = {"required": settings.l.distinct, "achieved": reached["distinct"]}
    if settings.l.entropy is not None:
        entry["entropy"] = {
            "required": float(settings.l.entropy),
            "achieved": reached["entropy"],
            "holds": reached["entropy_holds"],
        }
    if settings.l.recursive is not None:
        entry["recursive"] = {
            "required": {"c": str(settings.l.recursive.c), "l": settings.l.recursive.l},
            "holds": reached["recursive_holds"],
        }
    return entry
