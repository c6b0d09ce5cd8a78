"""What the choices of the method reveal (`internal/minimality.json`), in words and figures without
values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def mechanism_notes(figure: Mapping[str, Any]) -> list[str]:
    """What the choices of the method reveal (`internal/minimality.json`), without values."""
    if not figure["measured"]:
        return [f"what the method's choices reveal is not measured: {figure['why']}"]
    notes, cuts = list[str](), figure.get("refused_cuts")
    if figure["left_out"]:
        names = ", ".join(figure["left_out"])
        notes.append(
            f"what the method's choices reveal is not measured for {names}, which have too many "
            "values"
        )
    for sensitive in dict.fromkeys(line["sensitive_attribute"] for line in figure["beyond_chance"]):
        lines = [
            line for line in figure["beyond_chance"] if line["sensitive_attribute"] == sensitive
        ]
        names = " or ".join(dict.fromkeys(line["quasi_identifier"] for line in lines))
        who = (
            "are suppressed or in wide classes"
            if any(x["suppressed"] for x in lines)
            else "are left in wide classes"
        )
        notes.append(
            f"{sensitive}: an adversary who knows the method learns more than the classes say "
            f"about rows of some {names} that {who}"
        )
    if cuts is not None and cuts["tell"]:
        names = ", ".join(dict.fromkeys(line["sensitive_attribute"] for line in cuts["values"]))
        notes.append(
            f"{names}: of {cuts['tell']:,} classes an adversary who knows the method learns more "
            "about a part of the rows, because the method did not cut the class further"
        )
    return notes


def extreme_aggregates_notes(figure: Mapping[str, Any], public: bool) -> list[str]:
    """What extreme aggregates reveal (`internal/minimality.json`). public: without the number of
    rows.
    """
    extremes = figure.get("extreme_aggregates", [])
    if extremes is None:
        return [
            "whether an aggregate is possible for few rows only is not measured under Spark Connect"
        ]
    notes = []
    for one in extremes:
        rows, least = one["rows"], f"fewer than k = {one['k']:,} rows"
        possible = least if public else f"{rows:,} row{'s' if rows > 1 else ''} only, {least}"
        code = "top-code" if one["end"] == "highest" else "bottom-code"
        notes.append(
            f"{one['column']}: the {one['end']} published {one['aggregate']} is possible for "
            f"{possible}: at least one of those that reach it is in its class; publish ranges "
            f"(without method.representative), or {code} the column"
        )
    for one in figure.get("few_values", []):
        classes = "some classes" if public else f"{one['classes']:,} classes"
        notes.append(
            f"{one['column']}: in {classes} fewer than k = {one['k']:,} rows have a value, and the "
            f"published {one['aggregate']} is that of these alone, or of one; publish ranges "
            "(without method.representative)"
        )
    return notes


def mechanism_found(figure: Mapping[str, Any]) -> dict[str, Any]:
    """The same in figures for the record of a run, without values."""
    if not figure["measured"]:
        return {"measured": False}
    worst = figure["worst"] and {
        k: x for k, x in figure["worst"].items() if k not in ("value", "sensitive_value")
    }
    cuts = {key: n for key, n in figure.get("refused_cuts", {}).items() if key != "values"}
    return {"measured": True, "worst": worst, **({"refused_cuts": cuts} if cuts else {})}
