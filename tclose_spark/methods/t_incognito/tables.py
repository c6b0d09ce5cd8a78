"""The tables that `tclose plan` prints for t-Incognito."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from rich.table import Table

from tclose_spark.methods.tables import table_of, with_t
from tclose_spark.runfile.attributes import SensitiveAttribute


def node_tables(
    name: str, plan: Mapping[str, Any], sensitive: Mapping[str, SensitiveAttribute]
) -> tuple[list[Table], list[str]]:
    """The nodes that lose least, and the levels of the chosen one."""
    levels = plan["levels"]
    which = "minimal nodes" if plan["minimal"] else "nodes looked at that hold"
    table = table_of(f"{name}: of {plan['holding']:,} {which}, those that lose least", *levels, plan["metric"])
    for node in plan["best"]:
        chosen = "  <- chosen" if node["node"] == list(plan["node"].values()) else ""
        loss = f"{node['loss']:,}" if isinstance(node["loss"], int) else f"{node['loss']:.6f}"
        cells = [f"{level} ({of[level]})" for level, of in zip(node["node"], levels.values(), strict=True)]
        table.add_row(*cells, loss + chosen)
    reached = [
        f"{attribute} {float(Fraction(emd)):.6f}"
        for attribute, emd in zip(with_t(sensitive), plan["emd"].values(), strict=True)
    ]
    losses = plan["losses"]
    return [table], [
        f"Of {plan['nodes']:,} nodes; with those of fewer quasi-identifiers {plan['looked_at']:,} were looked at.",
        f"The chosen one has {plan['classes']:,} classes and {plan['suppressed']:,} rows suppressed; its largest "
        f"distances are {', '.join(reached)}.",
        f"Information loss (NCP) {losses['ncp']:.6f}, entropy {losses['entropy']:.6f} bits, discernibility "
        f"{losses['discernibility']:,}.",
    ]
