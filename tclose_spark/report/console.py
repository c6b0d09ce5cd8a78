"""A certificate in lines, for a terminal or a notebook."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def certificate_lines(certificate: Mapping[str, Any], public: str, internal: str) -> list[str]:
    """A short summary of a release, and where its files are: first the verdict, then what is unprotected, then figures.

    public, internal: the folders.
    """
    figures = [
        *_figures(certificate),
        ("release", f"{public}/release"),
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
    """The same in one line, for machines: the certificate's verdict, rows, guarantees and losses, and the folders."""
    told = {
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
    return json.dumps(told, ensure_ascii=False)


def unprotected_lines(certificate: Mapping[str, Any]) -> list[str]:
    """A line for each sensitive attribute that nothing limits."""
    return [
        f"  but {name} is unprotected: nothing limits what a class tells of it; certain {_certain(homogeneous)}"
        for name, homogeneous in certificate["unprotected"].items()
    ]


def _figures(certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    release, guarantees = certificate["release"], certificate["guarantees"]
    lines = [
        ("rows", f"{release['rows']:,}"),
        *_suppressed(certificate),
        ("classes", f"{release['classes']:,}"),
        ("k", f"asked {guarantees['k']['required']}, reached {guarantees['k']['achieved']}"),
    ]
    for name, t in guarantees["t"].items():
        required = "not asked" if t["required"] is None else f"asked {t['required']:g}"
        lines.append((f"t of {name} ({t['distance']})", f"{required}, reached {t['achieved']:.6f}"))
    for name, nt in guarantees.get("nt", {}).items():
        by = nt["classes"]
        lines += [
            (f"(n, t) of {name}", f"n {nt['n']:,}, asked {nt['required']:g}, reached {nt['achieved']:.6f}"),
            ("  classes near to", f"all {by['whole_table']:,}, itself {by['itself']:,}, else {by['superset']:,}"),
        ]
    for name, attribute in certificate["attributes"]["sensitive"].items():
        lines.append((f"{name} is certain", _certain(attribute["homogeneous"])))
    for name, kinds in guarantees["l"].items():
        lines += [
            (f"l of {name} ({kind})", f"asked {l_['required']}, reached {l_.get('achieved', 'yes')}")
            for kind, l_ in kinds.items()
        ]
    loss = certificate["utility"]["ncp"]
    return [
        *lines,
        ("information loss (NCP)", "unknown: aggregates are published" if loss is None else f"{loss:.4f}"),
        ("fingerprint", release["fingerprint"]),
    ]


def _suppressed(certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is left out, where anything may be; and what it reaches as a class, where that is public."""
    suppressed = certificate.get("suppressed")
    if suppressed is None:
        return []
    lines = [
        (
            "suppressed rows",
            f"{suppressed['rows']:,} of {certificate['input']['rows']:,}, limit {suppressed['limit']:g}",
        )
    ]
    for name, t in suppressed.get("guarantees", {"t": {}})["t"].items():
        lines.append((f"t of {name}, suppressed", f"reached {t['achieved']:.6f}"))
    return lines


def _certain(homogeneous: Mapping[str, int]) -> str:
    """For how many rows a sensitive attribute is certain."""
    classes, rows = homogeneous["classes"], homogeneous["rows"]
    return (
        f"for {rows:,} rows, in {classes:,} classes of one value"
        if classes
        else "for no row: no class has one value only"
    )
