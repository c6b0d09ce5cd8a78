"""The report page: a certificate and the extreme classes as one HTML file that needs nothing else, for people to
read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tclose_spark.measures.diversity import readable_entropy
from tclose_spark.report.page import number, render
from tclose_spark.report.sections import class_sizes, closeness_of_all, guessing_of, precision_of, worst_class
from tclose_spark.runfile.distances import DISTANCES

MARK = 100  # where a guarantee's bar has the mark of what is required, of BAR units
BAR = 150

WHOLE = {"input": "whole input table, suppressed rows included", "released": "whole released table"}
"""What distances are measured from, where rows are suppressed."""


@dataclass(frozen=True, kw_only=True)
class GuaranteeRow:
    """One line of what is required and what is reached.

    exact_required, exact_reached: fractions, "" where the figures are exact as they are.
    bar: filled units of BAR, None where there is nothing to compare.
    met: None where nothing is required.
    """

    name: str
    attribute: str
    meaning: str
    required: str
    reached: str
    met: bool | None
    bar: float | None = None
    exact_required: str = ""
    exact_reached: str = ""


def render_report(certificate: Mapping[str, Any], figures: Mapping[str, Any]) -> str:
    """The public page of a release: its certificate, and what follows from the released table beside it.

    figures: the verifier's: `extremes`, some of the largest and of the smallest classes; and where they are there
    `spreads`, how figures of all classes are spread, with `worst`, the farthest class of each sensitive attribute.

    A release is shown as holding only if the verdict says so and no guarantee's own figures speak against it, and in
    green only if something limits what it tells of each sensitive attribute.
    """
    return render("report.html.j2", **first_page(certificate), **_sections(certificate, figures))


def first_page(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """What the pages to sign show."""
    suppressed = certificate.get("suppressed")
    whole = whole_of(certificate)
    guarantees = list(_guarantees(certificate["guarantees"], whole))
    near = certificate["guarantees"].get("nt", {})
    guarantees += [_near(name, nt, whole, certificate["release"]["classes"]) for name, nt in near.items()]
    apart = (suppressed or {}).get("guarantees")
    of_suppressed = [replace(line, meaning="") for line in _guarantees(apart, whole)] if apart else []
    return {
        "certificate": certificate,
        "release": certificate["release"],
        "utility": certificate["utility"],
        "k": certificate["guarantees"]["k"],
        "guarantees": guarantees,
        "of_suppressed": of_suppressed,
        "suppressed": suppressed,
        "whole": whole,
        "holds": certificate["verdict"] == "holds"
        and all(guarantee.met is not False for guarantee in (*guarantees, *of_suppressed)),
        "unprotected": certificate["unprotected"],
        "homogeneous": {name: entry["homogeneous"] for name, entry in certificate["attributes"]["sensitive"].items()},
        "warnings": certificate["warnings"],
        "spellings": [name for name, entry in certificate["attributes"]["sensitive"].items() if "text" in entry],
        "roles": _roles(certificate),
        "closeness": certificate["guarantees"]["t"],
        "near": near,
        "limited": [
            name
            for name, t in certificate["guarantees"]["t"].items()
            if t["required"] is not None and name not in certificate["unprotected"]
        ],
        "allow_unique": certificate.get("allow_unique") or [],
        "aggregates": dict(_aggregates(certificate)),
        "MARK": MARK,
        "BAR": BAR,
    }


def _aggregates(certificate: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The quasi-identifiers that are published as aggregates of their classes: (column, as which)."""
    for name, entry in certificate["attributes"].get("quasi_identifiers", {}).items():
        if "aggregate" in entry:
            digits = entry.get("digits")
            yield name, entry["aggregate"] + ("" if digits is None else f", {digits} digit{'' if digits == 1 else 's'}")


def whole_of(certificate: Mapping[str, Any]) -> str:
    """What classes are compared with."""
    suppressed = certificate.get("suppressed")
    return WHOLE[suppressed["of"]] if suppressed and suppressed["rows"] else "whole table"


def _sections(certificate: Mapping[str, Any], figures: Mapping[str, Any]) -> dict[str, Any]:
    """What the sections after the first pages show; those of all classes are empty where their figures are not
    there.
    """
    spreads, sensitive = figures.get("spreads"), certificate["attributes"]["sensitive"]
    if not spreads:
        return {
            "extremes": figures["extremes"],
            "sizes": None,
            "distances": [],
            "worst": [],
            "precision": [],
            "guessing": [],
        }
    utility = certificate["utility"]
    return {
        "extremes": figures["extremes"],
        "sizes": class_sizes(spreads["sizes"], utility["smallest_class"], utility["largest_class"]),
        "distances": [
            closeness_of_all(name, spreads["emd"][name], t) for name, t in certificate["guarantees"]["t"].items()
        ],
        "worst": [worst_class(name, entry, whole_of(certificate)) for name, entry in figures["worst"].items()],
        "precision": [precision_of(name, found) for name, found in spreads.get("precision", {}).items()],
        "guessing": [guessing_of(name, spreads, entry["homogeneous"]["rows"]) for name, entry in sensitive.items()],
    }


def _filled(achieved: float, required: float) -> float:
    """Units of a bar that are filled, where `required` is at the mark."""
    return round(min(BAR, MARK * achieved / required), 2) if required > 0 else BAR


def _guarantees(guarantees: Mapping[str, Any], whole: str) -> Iterator[GuaranteeRow]:
    """All lines: k, each t, each l. whole: what distances are measured from."""
    k = guarantees["k"]
    yield _at_least("k-anonymity", "", "rows in the smallest class", k, met=k["achieved"] >= k["required"])
    for attribute, t in guarantees["t"].items():
        yield _closeness(attribute, t, whole)
    for attribute, kinds in (guarantees.get("l") or {}).items():
        yield from _diversity(attribute, kinds)


def _at_least(name: str, attribute: str, meaning: str, figure: Mapping[str, Any], met: bool) -> GuaranteeRow:
    """The line of a figure that has to reach what is required."""
    achieved, required = figure["achieved"], figure["required"]
    return GuaranteeRow(
        name=name,
        attribute=attribute,
        meaning=meaning,
        required=f"at least {number(required)}",
        reached=number(achieved),
        met=met,
        bar=_filled(achieved, required),
    )


def _closeness(attribute: str, t: Mapping[str, Any], whole: str) -> GuaranteeRow:
    """The line of a t, which may be measured without being required; compared as exact fractions."""
    meaning = f"largest distance of a class from the {whole}; {DISTANCES[t['distance']].meaning}"
    reached, exact = number(t["achieved"]), t["achieved_exact"]
    if t["required"] is None:
        return GuaranteeRow(
            name="t-closeness",
            attribute=attribute,
            meaning=meaning,
            required="nothing",
            reached=reached,
            met=None,
            exact_reached=exact,
        )
    met = Fraction(exact) <= Fraction(t["required_exact"])
    required, bar = f"at most {number(t['required'])}", _filled(t["achieved"], t["required"])
    return GuaranteeRow(
        name="t-closeness",
        attribute=attribute,
        meaning=meaning,
        required=required,
        reached=reached,
        met=met,
        bar=bar,
        exact_required=t["required_exact"],
        exact_reached=exact,
    )


def _near(attribute: str, nt: Mapping[str, Any], whole: str, classes: int) -> GuaranteeRow:
    """The line of (n, t)-closeness. Each class was proven by exact fractions; the largest distance is to be read."""
    by = nt["classes"]
    meaning = (
        f"largest distance of a class from a natural superset of {number(nt['n'])} rows or more: "
        f"{number(by['whole_table'])} classes are near to the {whole}, {number(by['itself'])} have as many rows "
        f"themselves, {number(by['superset'])} are near to another; {DISTANCES[nt['distance']].meaning}"
    )
    return GuaranteeRow(
        name="(n, t)-closeness",
        attribute=attribute,
        meaning=meaning,
        required=f"at most {number(nt['required'])}",
        reached=number(nt["achieved"]),
        met=sum(by.values()) == classes and nt["achieved"] <= nt["required"],
        bar=_filled(nt["achieved"], nt["required"]),
        exact_required=nt["required_exact"],
    )


def _diversity(attribute: str, kinds: Mapping[str, Any]) -> Iterator[GuaranteeRow]:
    """The lines of the kinds of l-diversity that are required of an attribute."""
    if figure := kinds.get("distinct"):
        met = figure["achieved"] >= figure["required"]
        yield _at_least("Distinct l-diversity", attribute, "fewest different values in a class", figure, met)
    if figure := kinds.get("entropy"):
        met = figure["holds"] and figure["achieved"] >= readable_entropy(
            figure["required"]
        )  # the figure is no exact number
        meaning = "lowest effective number of values in a class (exp of the entropy)"
        yield _at_least("Entropy l-diversity", attribute, meaning, figure, met)
    if figure := kinds.get("recursive"):
        c, level = figure["required"]["c"], figure["required"]["l"]
        meaning = (
            f"the most frequent value of a class has fewer than {c} times the rows of all values of rank {level} and "
            "below"
        )
        reached = "in every class" if figure["holds"] else "not in every class"
        yield GuaranteeRow(
            name="Recursive l-diversity",
            attribute=attribute,
            meaning=meaning,
            required=f"c = {c}, l = {level}",
            reached=reached,
            met=figure["holds"],
        )


def _roles(certificate: Mapping[str, Any]) -> dict[str, list[str]]:
    """The released columns by role. A quasi-identifier that is no column is published as its two bounds."""
    columns = certificate["release"]["columns"]
    quasi = certificate["utility"]["ncp_by_quasi_identifier"]
    generalized = {
        column for name in quasi for column in ([name] if name in columns else [f"{name}_min", f"{name}_max"])
    }
    sensitive = certificate["guarantees"]["t"]
    return {
        "generalized": _among(columns, generalized),
        "sensitive": _among(columns, sensitive),
        "insensitive": [column for column in columns if column not in generalized and column not in sensitive],
    }


def _among(columns: Iterable[str], chosen: Iterable[str]) -> list[str]:
    """The chosen ones, in the order of the columns."""
    wanted = set(chosen)
    return [column for column in columns if column in wanted]
