"""The summary of a release for a terminal, a notebook, or a program."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tclose_spark.requirements.size import size_line
from tclose_spark.requirements.supersets import near_lines
from tclose_spark.requirements.wording import entries_in
from tclose_spark.requirements.words import distances_text

FIRST = ("t", "joint")
"""The sections of guarantees that come before the others."""


def certificate_lines(
    certificate: Mapping[str, Any], public: str, internal: str, codebook: Iterable[Mapping[str, str]] = ()
) -> list[str]:
    """The verdict, unprotected attributes, figures, and the paths of files in the folders `public` and `internal`.

    codebook: the rows of `codebook.csv`, which have the precision of each quasi-identifier.
    """
    figures = [
        *_figures(certificate),
        *_precision(certificate["utility"].get("ncp_by_quasi_identifier", ()), codebook),
        ("fingerprint", certificate["release"]["fingerprint"]),
        ("release", f"{public}/release"),
        *((name, f"{public}/{name}") for name in certificate["release"].get("tables", ())),
        ("certificate", f"{public}/certificate.json"),
        ("report", f"{public}/report.html"),
        ("evidence", internal),
    ]
    width = max(len(what) for what, _ in figures)
    return [
        f"{certificate['release']['name']}: the release {certificate['verdict']}",
        *unprotected_lines(certificate),
        *[f"  {what:<{width}}  {value}" for what, value in figures],
    ]


def certificate_json(certificate: Mapping[str, Any], public: str, internal: str) -> str:
    """The same as one line of JSON."""
    summary = {
        "name": certificate["release"]["name"],
        "verdict": certificate["verdict"],
        "rows": certificate["release"]["rows"],
        "classes": certificate["release"]["classes"],
        "fingerprint": certificate["release"]["fingerprint"],
        "guarantees": certificate["guarantees"],
        "unprotected": sorted(certificate["unprotected"]),
        "utility": certificate["utility"],
        "public": public,
        "internal": internal,
    }
    return json.dumps(summary, ensure_ascii=False)


def unprotected_lines(certificate: Mapping[str, Any]) -> list[str]:
    """A line for each sensitive attribute without a limit."""
    return [
        f"  but {name} is unprotected: nothing limits what a class reveals about it; certain {_certain(homogeneous)}"
        for name, homogeneous in certificate["unprotected"].items()
    ]


def _figures(certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    release, guarantees = certificate["release"], certificate["guarantees"]
    lines = [
        ("rows", f"{release['rows']:,}"),
        *_people(certificate),
        *_suppressed(certificate),
        *_earlier(certificate),
        ("classes", f"{release['classes']:,}"),
        size_line(guarantees["k"]),
    ]
    others: list[tuple[str, str]] = []
    for section, name, entries in entries_in(guarantees):
        found = lines if section in FIRST else others
        found += [words.line(name, entry) for words, entry in entries]
    for name, nt in guarantees.get("nt", {}).items():
        lines += near_lines(name, nt)
    for name, attribute in certificate["attributes"]["sensitive"].items():
        lines.append((f"{name} is certain", _certain(attribute["homogeneous"])))
    lines += others
    loss = certificate["utility"]["ncp"]
    return [
        *lines,
        ("information loss (NCP)", "unknown: aggregates are published" if loss is None else f"{loss:.4f}"),
        *_profile(certificate),
    ]


def _precision(quasi: Iterable[str], codebook: Iterable[Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """The share of the rows at each precision, by quasi-identifier; both columns of bounds have the same."""
    precision = {row["column"]: row["precision"].replace(" of rows", "") for row in codebook}
    for name in quasi:
        if found := precision.get(name) or precision.get(f"{name}_min"):
            yield f"precision of {name}", found


def _people(certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The people of the input, if they are counted."""
    if (people := certificate.get("people")) is None:
        return []
    of_input = " of the input" if certificate.get("suppressed", {"rows": 0})["rows"] else ""
    return [(f"people{of_input}", f"{people['people']:,}, one with {people['most_rows']:,} rows")]


def _profile(certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How many rules of the profile were checked, if the run file names one."""
    if (profile := certificate.get("profile")) is None:
        return []
    states = [rule["state"] for rule in profile["rules"]]
    checked, left = states.count("holds"), states.count("not checked")
    lines = [(f"profile {profile['name']}", f"{checked} rule{'' if checked == 1 else 's'} checked, {left} not checked")]
    unread = [f"{', '.join(rule['unread'])}: {rule['rule']}" for rule in profile["rules"] if "unread" in rule]
    return [*lines, *(("columns not read", line) for line in unread)]


def _suppressed(certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The suppressed rows if any are allowed, and their distances as a class if their distribution is public."""
    suppressed = certificate.get("suppressed")
    if suppressed is None:
        return []
    rows = f"{suppressed['rows']:,} of {certificate['input']['rows']:,}, limit {suppressed['limit']:g}"
    distances = suppressed.get("guarantees", {"t": {}})["t"].items()
    return [
        ("suppressed rows", rows),
        *[(f"t of {name}, suppressed", distances_text(t)) for name, t in distances],
    ]


def _earlier(certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The place of the release in its line, if it continues an earlier one."""
    if (line := certificate.get("earlier")) is None:
        return []
    atoms, kept = line["atoms"], f", {line['kept']:,} people as they were" if line["kept"] else ""
    named = {"withheld": "withheld", "waiting": "newcomers waiting"}
    out = [f"{n:,} {name}" for key, name in named.items() if (n := line.get(key))]  # older certificates have none
    return [
        ("release of its line", f"{line['number']}, {line['newcomers']['people']:,} people for the first time{kept}"),
        ("atoms", f"{atoms['published']:,}, the smallest of {atoms['smallest']:,} people"),
        *([("suppressed people", ", ".join(out))] if out else []),
    ]


def _certain(homogeneous: Mapping[str, int]) -> str:
    classes, rows = homogeneous["classes"], homogeneous["rows"]
    return f"for {rows:,} rows, in {classes:,} classes of one value" if classes else "for no row"
