"""What `tclose plan` prints of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from rich.table import Table

from tclose_spark.spec import ReleaseSpec


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
    return {name: f"{name} (t = {'measured' if a.t is None else f'{float(a.t):g}'})" for name, a in asked.items()}


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
    return table, [f"Information loss (NCP) when the sample is dealt: {plan['loss_on_sample']:.3f}"]


def candidates_table(spec: ReleaseSpec, plan: Mapping[str, Any]) -> tuple[Table, list[str]]:
    """Of fragmentation: the fragmentations looked at, their aggregate bounds, the class size that follows, and the loss."""
    title = f"{spec.name}: fragmentations, their aggregate bounds, and the classes dealt from them"
    table = _table(title, "fragments", *_asked(spec).values(), "class size", "classes", "rests on", "loss (NCP) on the sample", "")
    for c in plan["candidates"]:
        rests = "measured distances" if c["measured"] else "bounds"
        cells = [f"{c['fragments']:,}", *(f"{b:.4f}" for b in c["bounds"]), f"{c['class_size']:,}", f"{c['classes']:,}", rests]
        table.add_row(*cells, f"{c['loss_on_sample']:.3f}", "<- chosen" if c["chosen"] else "")
    proven = [c for c in plan["candidates"] if not c["measured"]]
    notes = [f"The smallest k that this t allows, of these fragmentations: {min(c['smallest'] for c in proven):,} (by the bounds)."]
    chosen = next(c for c in plan["candidates"] if c["chosen"])
    if chosen["classes"] == 1:
        better = (
            "proportional sizing makes smaller classes"
            if spec.method.model_dump().get("sizing") == "gcd"
            else "a larger t makes smaller classes"
        )
        notes.append(f"One class of all rows is dealt; {better}.")
    if chosen["measured"]:
        notes.append(
            "The class size was measured on the sample; classes of the table that break a t are joined, and the verification decides."
        )
    return table, notes


def fragments_table(spec: ReleaseSpec, plan: Mapping[str, Any]) -> Table:
    """The largest fragments of the chosen fragmentation: rows of one fragment may stand for each other."""
    shown, every = plan["largest_fragments"], plan["fragments"]
    title = "The fragments chosen" if len(shown) == every else f"The largest {len(shown)} of the {every:,} fragments chosen"
    table = _table(title, "rows", *spec.attributes.sensitive_attributes)
    for fragment in shown:
        table.add_row(f"{fragment['rows']:,}", *fragment["values"])
    return table
