"""What `tclose plan` prints of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from rich.table import Table

from tclose_spark.spec import ReleaseSpec

MERGED = "Classes that end up with the same labels are published as one."


def plan_tables(spec: ReleaseSpec, plan: Mapping[str, Any]) -> tuple[list[Table], list[str]]:
    """(tables of what was looked at, sentences below them) of a plan as JSON."""
    if "sizes" in plan:
        table, notes = sizes_table(spec, plan)
        return [table], notes
    if "candidates" in plan:
        table, notes = candidates_table(spec, plan)
        return [table, fragments_table(spec, plan)], notes
    return [], [f"{spec.name}: {plan['note']}"]


def _asked(spec: ReleaseSpec) -> dict[str, str]:
    """Each sensitive attribute with its t, in words."""
    asked = spec.attributes.sensitive_attributes
    return {name: f"{name} ({'no t' if a.t is None else f't = {float(a.t):g}'})" for name, a in asked.items()}


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def sizes_table(spec: ReleaseSpec, plan: Mapping[str, Any]) -> tuple[Table, list[str]]:
    """Of Stack & Deal: what each class size reaches, and the bound that no even classes of this size beat."""
    asked = _asked(spec)
    headings = [heading for name in asked.values() for heading in (name, "bound")]
    title = f"{spec.name}: class sizes, the exact largest distance of a class from the table, and what no even classes can beat"
    table = _table(title, "class size", "classes", *headings, "reached", "stack")
    for size in plan["sizes"]:
        emd = [f"{float(Fraction(x)):.6f}" for x in size["emd"]] or ["-"] * len(asked)
        bounds = [f"{float(Fraction(x)):.6f}" for x in size["bounds"]]
        chosen = "  <- chosen" if size["classes"] == plan["classes"] else ""
        pairs = [cell for pair in zip(emd, bounds, strict=True) for cell in pair]
        table.add_row(str(size["size"]), f"{size['classes']:,}", *pairs, ("yes" if size["holds"] else "no") + chosen, size["order"] or "-")
    notes = (
        ["-: not dealt, since no even classes of this size reach the t that is asked."]
        if any(not size["emd"] for size in plan["sizes"])
        else []
    )
    return table, [*notes, f"Information loss (NCP) when the sample is dealt: {plan['loss_on_sample']:.3f}", MERGED]


def candidates_table(spec: ReleaseSpec, plan: Mapping[str, Any]) -> tuple[Table, list[str]]:
    """Of fragmentation: the fragmentations looked at, their aggregate bounds, the class size that follows, and the loss."""
    title = f"{spec.name}: fragmentations, their aggregate bounds, and the classes dealt from them"
    table = _table(title, "fragments", *_asked(spec).values(), "class size", "classes", "rests on", "loss (NCP) on the sample", "")
    chosen = next(c for c in plan["candidates"] if c["chosen"])
    for c in plan["candidates"]:
        rests = "measured distances" if c["measured"] else "bounds"
        cells = [f"{c['fragments']:,}", *(f"{b:.4f}" for b in c["bounds"]), f"{c['class_size']:,}", f"{c['classes']:,}", rests]
        beside = "to compare: sizing: measured" if c["measured"] and not chosen["measured"] else ""
        table.add_row(*cells, f"{c['loss_on_sample']:.3f}", "<- chosen" if c["chosen"] else beside)
    if chosen["measured"]:
        notes = ["The class size was measured on the sample; classes of the table that break a t are joined, and the verification decides."]
        if chosen["fragments"] == 1:
            notes.append("One fragment: classes are made by quasi-identifiers alone, and are large enough to be near the table.")
        return table, [*notes, MERGED]
    smallest = min(c["smallest"] for c in plan["candidates"] if not c["measured"])
    notes = [f"The smallest k that this t allows, of these fragmentations: {smallest:,} (by the bounds)."]
    if chosen["classes"] == 1:
        better = (
            "proportional sizing makes smaller classes"
            if spec.method.model_dump().get("sizing") == "gcd"
            else "a larger t makes smaller classes"
        )
        notes.append(f"One class of all rows is dealt; {better}.")
    return table, [*notes, MERGED]


def fragments_table(spec: ReleaseSpec, plan: Mapping[str, Any]) -> Table:
    """The largest fragments of the chosen fragmentation: rows of one fragment may stand for each other. No raw value is shown."""
    shown, every = plan["largest_fragments"], plan["fragments"]
    title = "The fragments chosen" if len(shown) == every else f"The largest {len(shown)} of the {every:,} fragments chosen"
    table = _table(title, "rows", *[f"{name} (places in its domain)" for name in spec.attributes.sensitive_attributes])
    for fragment in shown:
        table.add_row(f"{fragment['rows']:,}", *fragment["values"])
    return table
