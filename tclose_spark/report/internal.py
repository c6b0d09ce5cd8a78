"""The report that stays inside: the raw side of a release, and the run that made it."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tclose_spark.report.html import first_page, whole_of
from tclose_spark.report.page import number, render
from tclose_spark.report.plots import lines
from tclose_spark.report.sections import PlotSection, precision_of

PACKAGES = ("tclose-spark", "pyspark", "delta-spark", "great-expectations", "numba", "numpy", "pyarrow", "scikit-learn")
MOST_LINES = 12  # of values of which the mechanism tells


def render_internal(
    certificate: Mapping[str, Any], figures: Mapping[str, Any], raw: Mapping[str, Any] | None, made: Mapping[str, Any]
) -> str:
    """The internal page of a release.

    figures: the verifier's. raw: what was measured on raw rows, None where none could be drawn. made: `state` (what
    the stages wrote down), `plan` (its report), `versions`, and `minimality` (what the mechanism tells).
    """
    state, spreads = made["state"], figures["spreads"]
    return render(
        "internal.html.j2",
        **first_page(certificate),
        raw=raw,
        precision=[precision_of(name, found) for name, found in spreads.get("precision", {}).items()],
        by_input=figures["by_input"],
        attacks=list(_attacks(certificate, figures, raw)),
        minimality=made["minimality"],
        cuts=made["minimality"].get("refused_cuts"),
        told=made["minimality"].get("beyond_chance", [])[:MOST_LINES],
        associations=_associations(raw) if raw and raw["associations"] else None,
        source=state["stages"]["profile"]["input"],
        configuration=state["configuration"],
        plan=made["plan"],
        work=state["stages"]["anonymize"]["method"],
        seconds=[(name, record["seconds"]) for name, record in state["stages"].items()],
        versions=made["versions"],
        against=whole_of(certificate),
    )


def versions() -> dict[str, str]:
    """Of Python, and of the packages that make a release."""
    found = {"Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _attacks(
    certificate: Mapping[str, Any], figures: Mapping[str, Any], raw: Mapping[str, Any] | None
) -> Iterator[tuple[str, float | None, float]]:
    """(what an attacker reaches, its share before, and after). Before: who has the raw table and looks for the rows
    that have a person's quasi-identifiers.
    """
    groups = raw["groups"] if raw else None
    rows, classes = certificate["release"]["rows"], certificate["release"]["classes"]
    yield "rows that are alone with their quasi-identifiers", groups and groups["alone"], 0.0
    k = certificate["guarantees"]["k"]["required"]
    yield f"rows that fewer than {number(k)} rows are like, themselves among them", groups and groups["few"], 0.0
    yield "chance to pick a person's row, on average", groups and groups["chance"], classes / rows
    for name, entry in certificate["attributes"]["sensitive"].items():
        certain = entry["homogeneous"]["rows"] / rows
        yield f"rows for which {name} is certain", groups and groups["certain"][name], certain
        guessed = figures["guessed"][name]
        yield (
            f"rows whose {name} the best guess is right about, on average",
            groups and groups["guess"][name],
            guessed,
        )


def _associations(raw: Mapping[str, Any]) -> PlotSection:
    found: Sequence[Mapping[str, Any]] = raw["associations"]
    several = len({one["sensitive"] for one in found}) > 1
    names = [f"{one['quasi']}, {one['sensitive']}" if several else one["quasi"] for one in found]
    shown = sorted(range(len(found)), key=lambda i: -found[i]["raw"])[:24]
    svg = lines(
        [names[i] for i in shown],
        [("raw", [found[i]["raw"] for i in shown]), ("released", [found[i]["released"] for i in shown])],
        told="Cramér's V of each quasi-identifier with each sensitive attribute, raw and released; the table has it in "
        "numbers",
        across="Cramér's V, 100%: wholly associated",
    )
    return PlotSection(
        title="How strongly columns are associated",
        svg=svg,
        facts="Cramér's V of groups of values: 0 not at all, 1 wholly. What classes even out is lost to who analyses "
        "the release.",
    )
