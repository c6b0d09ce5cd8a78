"""The figures of a judged release, for the certificate and the reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tclose_spark.checks.classes.figures import ClassFigures
from tclose_spark.checks.classes.worst import worst_classes
from tclose_spark.checks.judged_release import JudgedRelease
from tclose_spark.checks.labels.loss import measured_on
from tclose_spark.checks.warnings import far_number_warnings, warnings_of
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.requirements.registry import judges_of
from tclose_spark.runfile.attributes import EvenPlaces
from tclose_spark.table.columns.spark_types import type_name
from tclose_spark.table.places import places_of
from tclose_spark.table.writing import listing


def figures_of(release: JudgedRelease) -> dict[str, Any]:
    """The figures of a release without those of its options. Under `by_input` are those measured on
    the raw table.
    """
    figures = release.figures
    spec = release.spec
    written = release.written
    by_input = release.losses_by_input
    of_quasi = measured_on(spec, release.named, written.hierarchies, written.profile.quasi)
    return {
        "suppressed": {"rows": release.left.rows},
        "classes": figures.classes,
        "smallest_class": figures.smallest,
        "largest_class": figures.largest,
        "discernibility": figures.discernibility,
        "ncp": figures.ncp if figures.losses else None,
        "ncp_by_quasi_identifier": {q.name: figures.losses.get(q.name) for q in release.quasi},
        "attributes": _attributes(release),
        "quasi_identifiers": {
            **{name: {} for name in spec.attributes.quasi_identifiers},
            **of_quasi,
        },
        "warnings": [*_warnings(release)],
        "columns": {
            name: {"type": type_name(release.fields[name]), "missing": missing}
            for name, missing in release.rows.missing.items()
        },
        "fingerprint": str(release.rows.fingerprint),
        "rows": release.rows.fingerprint.rows,
        "extremes": figures.extremes,
        "spreads": figures.histograms,
        "guessed": dict(figures.guessed),
        "worst": worst_classes(release.tallies, release.labels, figures, release.attributes),
        "by_input": {
            "ncp": sum(by_input) / len(by_input) if by_input else None,
            "ncp_by_quasi_identifier": dict(zip(figures.losses, by_input, strict=True)),
        },
    }


def _warnings(release: JudgedRelease) -> Iterator[str]:
    figures, written = release.figures, release.written
    yield from warnings_of(
        figures,
        release.labelled,
        release.named,
        release.attributes_with(release.counts),
        release.more_attributes,
        release.texts,
        any(judge.apart for judge in release.judges),
    )
    if without := release.losses_without_far:
        yield from far_number_warnings(
            written.profile, release.spec.privacy.k, figures.losses, without
        )


def _attributes(release: JudgedRelease) -> dict[str, dict[str, Any]]:
    """What the classes achieve, and the domain, by attribute."""
    entries = achieved_of(release.figures, release.attributes)
    for a, counts in zip(release.attributes, release.counts, strict=True):
        entries[a.name]["domain"] = listing(a.values)
        entries[a.name]["unused"] = listing([value for value in a.values if not counts.get(value)])
        if a.settings.domain is not None:
            entries[a.name]["places"] = _places(a, a.settings.domain)
    return entries


def _places(a: JudgedAttribute, settings: EvenPlaces) -> dict[str, Any]:
    """The places between which an attribute's distance is measured, and those without rows."""
    places = places_of(a.name, a.values, settings)
    empty = [i for i, n in enumerate(places.counts(a.distance.table).tolist()) if not n]
    return {
        **settings.model_dump(mode="json", exclude_none=True),
        "size": places.size,
        "ends": listing(list(map(str, places.ends)), "ends"),
        "empty": listing(empty, "places"),
    }


def achieved_of(
    figures: ClassFigures, attributes: Sequence[JudgedAttribute]
) -> dict[str, dict[str, Any]]:
    """What the classes achieve, by attribute."""
    counted = {
        "homogeneous": figures.homogeneous,
        "similar": figures.similar,
        "unlike": figures.unlike,
    }
    return {
        a.name: {
            "reached": reached(figures, a),
            **{what: vars(found[a.name]) for what, found in counted.items()},
        }
        for a in attributes
    }


def reached(figures: ClassFigures, a: JudgedAttribute, over: str = "") -> dict[str, Any]:
    """What the classes achieve in one attribute, by the key of each judge. over: the end of the
    measures' names.
    """
    found = ((judge, figures.of(judge.measure + over, a.name)) for judge in judges_of(a))
    return {
        judge.key: judge.reached(guarantee) for judge, guarantee in found if guarantee is not None
    }
