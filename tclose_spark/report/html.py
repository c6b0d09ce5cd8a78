"""The public report: a certificate and figures of all classes as one HTML file that loads nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tclose_spark.report.codebook import codebook_entries
from tclose_spark.report.page import render
from tclose_spark.report.sections import (
    class_sizes,
    closeness_of_all,
    growth_of,
    guessing_of,
    precision_of,
    worst_class,
)
from tclose_spark.report.three_questions import three_questions
from tclose_spark.requirements.size import size_rows
from tclose_spark.requirements.supersets import near_row
from tclose_spark.requirements.wording import rows_of
from tclose_spark.requirements.words import BAR, MARK, GuaranteeRow
from tclose_spark.runfile.population import ADVERSARIES, FIGURES
from tclose_spark.table.writing import number

WHOLE = {"input": "whole input table, suppressed rows included", "released": "whole released table"}
"""What classes are compared with if rows are suppressed, by `privacy.of`."""


def render_report(certificate: Mapping[str, Any], figures: Mapping[str, Any]) -> str:
    """The public page of a release.

    figures: the verifier's: `extremes`, some of the largest and smallest classes; optionally `spreads`, histograms over
    all classes, with `worst`, the farthest class of each sensitive attribute.

    The page shows the release as holding only if the verdict says so and every guarantee's own figures agree. It is
    green only if something limits what the release reveals about each sensitive attribute.
    """
    return render("report.html.j2", **first_page(certificate), **_sections(certificate, figures))


def first_page(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """The template variables of the pages to sign."""
    suppressed, guarantees = certificate.get("suppressed"), certificate["guarantees"]
    release = certificate["release"]
    whole, near, closeness = whole_of(certificate), guarantees.get("nt", {}), guarantees["t"]
    sensitive, unprotected = certificate["attributes"]["sensitive"], certificate["unprotected"]
    places = {name: f"; {_places(entry['places'])}" for name, entry in sensitive.items() if "places" in entry}
    rows = [
        replace(row, meaning=row.meaning + places.get(row.attribute, "")) if row.name == "t-closeness" else row
        for row in _guarantees(guarantees, whole)
    ]
    rows += [near_row(name, nt, whole, release["classes"]) for name, nt in near.items()]
    of_class = (suppressed or {}).get("guarantees")
    risks = [*_risks(certificate.get("risks", {}))]
    of_suppressed = [replace(row, meaning="") for row in _guarantees(of_class, whole)] if of_class else []
    return {
        "certificate": certificate,
        "release": release,
        "utility": certificate["utility"],
        "k": guarantees["k"],
        "people": certificate.get("people"),
        "guarantees": rows,
        "risks": risks,
        "at_risk": certificate.get("risks"),
        "of_suppressed": of_suppressed,
        "suppressed": suppressed,
        "earlier": certificate.get("earlier"),
        "whole": whole,
        "holds": certificate["verdict"] == "holds"
        and all(row.met is not False for row in (*rows, *risks, *of_suppressed)),
        "unprotected": unprotected,
        "homogeneous": {name: entry["homogeneous"] for name, entry in sensitive.items()},
        "measured": certificate["information"].get("attributes", {}),
        "warnings": certificate["warnings"],
        "spellings": [name for name, entry in sensitive.items() if "text" in entry],
        "roles": _roles(certificate),
        "closeness": closeness,
        "joint": guarantees.get("joint", {}),
        "near": near,
        "limited": [name for name, t in closeness.items() if t["required"] is not None and name not in unprotected],
        "allow_unique": certificate.get("allow_unique") or [],
        "profile": certificate.get("profile"),
        "aggregates": dict(_aggregates(certificate)),
        "form": {"name": release.get("form"), **{key: release.get(key) for key in ("group", "tables", "together")}},
        "weights": certificate.get("weights"),
        "MARK": MARK,
        "BAR": BAR,
    }


def _places(places: Mapping[str, Any]) -> str:
    """The places of an ordered attribute, in words."""
    if "step" in places:
        return f"places are {number(places['size'])} steps of {places['step']}"
    return f"places are {number(places['size'])} bins of equal width"


def _risks(risks: Mapping[str, Any]) -> Iterator[GuaranteeRow]:
    """A row for each figure of each adversary."""
    for adversary in ADVERSARIES:
        entry = risks.get(adversary, {})
        for figure in FIGURES if entry else ():
            limit, reached = entry["required"].get(figure), entry[figure]
            yield GuaranteeRow(
                name=f"{adversary}, {figure}{' (estimate)' if entry['estimate'] else ''}",
                attribute="",
                meaning="",
                required="" if limit is None else f"at most {number(limit, reached)}",
                achieved=number(reached, limit),
                met=None if limit is None else reached <= limit,
                bar=None if not limit else min(BAR, MARK * reached / limit),
            )


def _aggregates(certificate: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(column, kind of aggregate) of the quasi-identifiers that are published as aggregates."""
    for name, entry in certificate["attributes"].get("quasi_identifiers", {}).items():
        if "aggregate" in entry:
            digits = entry.get("digits")
            yield name, entry["aggregate"] + ("" if digits is None else f", {digits} digit{'' if digits == 1 else 's'}")


def whole_of(certificate: Mapping[str, Any]) -> str:
    """The table that classes are compared with, in words."""
    suppressed = certificate.get("suppressed")
    return WHOLE[suppressed["of"]] if suppressed and suppressed["rows"] else "whole table"


def _sections(certificate: Mapping[str, Any], figures: Mapping[str, Any]) -> dict[str, Any]:
    """The template variables of the other sections; those of all classes are empty without their figures."""
    weights = figures.get("weights", {"totals": None})
    found: dict[str, Any] = {"extremes": figures["extremes"], "sizes": None, "totals": weights["totals"]}
    found["codebook"] = codebook_entries(certificate, figures)
    found["questions"] = three_questions(certificate)
    spreads, utility = figures.get("spreads"), certificate["utility"]
    if not spreads:
        return found | dict.fromkeys(("distances", "worst", "precision", "guessing", "growth", "alone"), ())
    closeness, sensitive = certificate["guarantees"]["t"], certificate["attributes"]["sensitive"]
    joint, information = certificate["guarantees"].get("joint", {}), certificate["information"]
    growth = information.get("tuples", {}).get("growth")
    return found | {
        "growth": growth_of(growth) if growth else None,
        "alone": information.get("alone", ()),
        "sizes": class_sizes(spreads["sizes"], utility["smallest_class"], utility["largest_class"]),
        "distances": [closeness_of_all(name, spreads["emd"][name], t) for name, t in {**closeness, **joint}.items()],
        "worst": [
            worst_class(name, entry, closeness[name]["required"], whole_of(certificate))
            for name, entry in figures["worst"].items()
        ],
        "precision": [precision_of(name, bins) for name, bins in spreads.get("precision", {}).items()],
        "guessing": [guessing_of(name, spreads, entry["homogeneous"]["rows"]) for name, entry in sensitive.items()],
    }


def _guarantees(guarantees: Mapping[str, Any], whole: str) -> list[GuaranteeRow]:
    """A row for k, and for each requirement of a sensitive attribute. whole: what distances are measured from."""
    return [*size_rows(guarantees["k"]), *rows_of(guarantees, whole)]


def _roles(certificate: Mapping[str, Any]) -> dict[str, list[str]]:
    """The released columns by role. A quasi-identifier that is no column is published as two bounds."""
    release, sensitive = certificate["release"], certificate["guarantees"]["t"]
    columns = [*release["columns"], *(name for of in release.get("tables", {}).values() for name in of)]
    columns, key = [*dict.fromkeys(columns)], release.get("group")
    quasi, pseudonyms = certificate["utility"]["ncp_by_quasi_identifier"], certificate.get("pseudonyms", {})
    generalized = {
        column for name in quasi for column in ([name] if name in columns else [f"{name}_min", f"{name}_max"])
    }
    return {
        "generalized": _in_order(columns, generalized),
        "sensitive": _in_order(columns, sensitive),
        "key": [key] if key else _in_order(columns, generalized),
        "insensitive": _in_order(release["columns"], {*columns} - generalized - {*sensitive, *pseudonyms, key}),
        "pseudonyms": _in_order(columns, pseudonyms),
    }


def _in_order(columns: Iterable[str], chosen: Iterable[str]) -> list[str]:
    wanted = set(chosen)
    return [column for column in columns if column in wanted]
