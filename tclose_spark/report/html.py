"""The public report: a certificate and figures of all classes as one HTML file that loads nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tclose_spark.measures.diversity import readable_entropy
from tclose_spark.report.codebook import codebook_entries
from tclose_spark.report.page import number, render
from tclose_spark.report.sections import (
    class_sizes,
    closeness_of_all,
    growth_of,
    guessing_of,
    precision_of,
    worst_class,
)
from tclose_spark.runfile.distances import DISTANCES
from tclose_spark.runfile.population import ADVERSARIES, FIGURES

MARK, BAR = 100, 150  # the width of a guarantee's bar up to the requirement, and in all

OVER_PEOPLE = ", over people"
WHOLE = {"input": "whole input table, suppressed rows included", "released": "whole released table"}
"""What classes are compared with if rows are suppressed, by `privacy.of`."""


@dataclass(frozen=True, kw_only=True)
class GuaranteeRow:
    """A row of the table of guarantees.

    exact_required, exact_achieved: fractions, "" if the figures themselves are exact.
    bar: filled units of BAR, None if there is nothing to compare.
    met: None if nothing is required.
    """

    name: str
    attribute: str
    meaning: str
    required: str
    achieved: str
    met: bool | None
    bar: float | None = None
    exact_required: str = ""
    exact_achieved: str = ""


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
    rows += [_near(name, nt, whole, certificate["release"]["classes"]) for name, nt in near.items()]
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


def _filled(figure: Mapping[str, Any]) -> float:
    """The filled units of a bar that has the requirement at MARK."""
    achieved, required = figure["achieved"], figure["required"]
    if required == 0:
        return BAR if achieved else 0.0
    return round(min(BAR, MARK * float(achieved) / float(required)), 2)


def _guarantees(guarantees: Mapping[str, Any], whole: str) -> Iterator[GuaranteeRow]:
    """A row for k, each t and each l. whole: what distances are measured from."""
    k = guarantees["k"]
    if "over_people" in k:
        people = {**k, **k["over_people"]}
        yield _at_least(
            "k-anonymity", "", "people in the smallest class", people, met=people["achieved"] >= people["required"]
        )
    yield _at_least("k-anonymity", "", "rows in the smallest class", k, met=k["achieved"] >= k["required"])
    for attribute, t in guarantees["t"].items():
        yield _closeness(attribute, t, whole)
        if "over_people" in t:
            yield _closeness_over_people(attribute, t, whole)
    for tuple_, t in guarantees.get("joint", {}).items():
        yield _of_tuple(_closeness(tuple_, t, whole))
        if "over_people" in t:
            yield _of_tuple(_closeness_over_people(tuple_, t, whole))
    for attribute, kinds in (guarantees.get("l") or {}).items():
        yield from _diversity(attribute, kinds)
        if any("over_people" in l_ for l_ in kinds.values()):
            of_people = {kind: {**l_, **l_["over_people"]} for kind, l_ in kinds.items()}
            yield from (replace(row, meaning=f"{row.meaning}{OVER_PEOPLE}") for row in _diversity(attribute, of_people))

    for attribute, beta in guarantees.get("beta", {}).items():
        yield _likeness(attribute, beta)
        if "over_people" in beta:
            row = _likeness(attribute, {**beta, "achieved": beta["over_people"]["achieved"]})
            meaning = f"{row.meaning}{OVER_PEOPLE}"
            yield replace(row, meaning=meaning, exact_achieved="", met=beta["over_people"]["holds"])


def _likeness(attribute: str, beta: Mapping[str, Any]) -> GuaranteeRow:
    """The row of a beta, compared as exact fractions."""
    return GuaranteeRow(
        name="beta-likeness",
        attribute=attribute,
        meaning="by how much a value is more frequent in a class than in the table, at most, as a multiple of its "
        "share of the table",
        required=f"at most {number(beta['required'], beta['achieved'])}",
        achieved=number(beta["achieved"], beta["required"]),
        met=Fraction(beta["achieved_exact"]) <= Fraction(beta["required_exact"]),
        bar=_filled(beta),
        exact_required=beta["required_exact"],
        exact_achieved=beta["achieved_exact"],
    )


def _of_tuple(row: GuaranteeRow) -> GuaranteeRow:
    """The row of a tuple of sensitive attributes."""
    return replace(row, name="Joint t-closeness", meaning=row.meaning.replace("two values", "two tuples"))


def _at_least(name: str, attribute: str, meaning: str, figure: Mapping[str, Any], met: bool) -> GuaranteeRow:
    """The row of a figure that must reach its requirement."""
    return GuaranteeRow(
        name=name,
        attribute=attribute,
        meaning=meaning,
        required=f"at least {number(figure['required'], figure['achieved'])}",
        achieved=number(figure["achieved"], figure["required"]),
        met=met,
        bar=_filled(figure),
    )


def _closeness(attribute: str, t: Mapping[str, Any], whole: str) -> GuaranteeRow:
    """The row of a t, compared as exact fractions."""
    exact = t["achieved_exact"]
    measured = GuaranteeRow(
        name="t-closeness",
        attribute=attribute,
        meaning=f"largest distance of a class from the {whole}; {DISTANCES[t['distance']].meaning}",
        required="nothing",
        achieved=number(t["achieved"], t["required"]),
        met=None,
        exact_achieved=exact,
    )
    if t["required"] is None:
        return measured
    return replace(
        measured,
        required=f"at most {number(t['required'], t['achieved'])}",
        met=Fraction(exact) <= Fraction(t["required_exact"]),
        bar=_filled(t),
        exact_required=t["required_exact"],
    )


def _closeness_over_people(attribute: str, t: Mapping[str, Any], whole: str) -> GuaranteeRow:
    """The row of a t over people. The verifier compared each class."""
    row = _closeness(attribute, {**t, "achieved": t["over_people"]["achieved"]}, whole)
    meaning = f"{row.meaning}{OVER_PEOPLE}: each person weighs 1, spread evenly over the person's rows"
    met = None if t["required"] is None else t["over_people"]["holds"]
    return replace(row, meaning=meaning, exact_achieved="", met=met)


def _near(attribute: str, nt: Mapping[str, Any], whole: str, classes: int) -> GuaranteeRow:
    """The row of (n, t)-closeness. The verifier compared each class as exact fractions."""
    by = nt["classes"]
    return GuaranteeRow(
        name="(n, t)-closeness",
        attribute=attribute,
        meaning=f"largest distance of a class from a natural superset of {number(nt['n'])} rows or more: "
        f"{number(by['whole_table'])} classes are near to the {whole}, {number(by['itself'])} have as many rows "
        f"themselves, {number(by['superset'])} are near to another; {DISTANCES[nt['distance']].meaning}",
        required=f"at most {number(nt['required'], nt['achieved'])}",
        achieved=number(nt["achieved"], nt["required"]),
        met=sum(by.values()) == classes and nt["achieved"] <= nt["required"],
        bar=_filled(nt),
        exact_required=nt["required_exact"],
    )


def _diversity(attribute: str, kinds: Mapping[str, Any]) -> Iterator[GuaranteeRow]:
    """The rows of the kinds of l-diversity that an attribute requires."""
    if figure := kinds.get("distinct"):
        met = figure["achieved"] >= figure["required"]
        yield _at_least("Distinct l-diversity", attribute, "fewest different values in a class", figure, met)
    if figure := kinds.get("entropy"):  # its figure is a rounded number
        met = figure["holds"] and figure["achieved"] >= readable_entropy(figure["required"])
        meaning = "lowest effective number of values in a class (exp of the entropy)"
        yield _at_least("Entropy l-diversity", attribute, meaning, figure, met)
    if figure := kinds.get("frequency"):
        met = figure["holds"] and figure["achieved"] >= figure["required"]
        meaning = "one over the largest share that a value has of a class"
        yield _at_least("Frequency l-diversity", attribute, meaning, figure, met)
    if figure := kinds.get("recursive"):
        c, level = figure["required"]["c"], figure["required"]["l"]
        yield GuaranteeRow(
            name="Recursive l-diversity",
            attribute=attribute,
            meaning=f"the most frequent value of a class has fewer than {c} times the rows of all values of rank "
            f"{level} and below",
            required=f"c = {c}, l = {level}",
            achieved="in every class" if figure["holds"] else "not in every class",
            met=figure["holds"],
        )


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
