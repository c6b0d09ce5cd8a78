"""t-Incognito's section of the run file, its tables for `tclose plan`, and its entry in the
registry of methods.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Method, Plan, PlanningInput, PlanReport
from tclose_spark.methods.tables import empty_table, headings_with_t
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.registry import MethodSettings

if TYPE_CHECKING:
    from rich.table import Table


class TIncognito(MethodSettings):
    """Full-domain recoding (Li, Li and Venkatasubramanian 2007, section 4; Weber 2.3.1 and
    2.1.4).
    """

    makes_l: ClassVar[tuple[str, ...]] = ("distinct", "entropy", "recursive", "frequency")
    makes: ClassVar[tuple[str, ...]] = ("beta", "t: 0")
    counts_people: ClassVar[bool] = True
    suppresses: ClassVar[bool] = True
    name: Literal["t_incognito"] = "t_incognito"
    """The method."""
    metric: Literal["ncp", "discernibility", "entropy"] = "ncp"
    """The measure of loss by which the method chooses a node."""


SAMPLE_ROWS = 1_000  # it plans from counts of the whole table


def node_tables(
    name: str,
    report: PlanReport,
    settings: TIncognito,
    sensitive: Mapping[str, SensitiveAttribute],
) -> tuple[list[Table], list[str]]:
    """The nodes that lose least, and the levels of the chosen one."""
    plan = report.details
    levels = plan["levels"]
    losses = plan["losses"]
    which = "minimal nodes" if plan["minimal"] else "visited nodes that hold"
    table = empty_table(
        f"{name}: of {plan['holding']:,} {which}, those that lose least",
        *levels,
        plan["metric"],
    )
    for node in plan["best"]:
        chosen = "  <- chosen" if node["node"] == list(plan["node"].values()) else ""
        loss = f"{node['loss']:,}" if isinstance(node["loss"], int) else f"{node['loss']:.6f}"
        cells = [
            f"{level} ({of[level]})"
            for level, of in zip(node["node"], levels.values(), strict=True)
        ]
        table.add_row(*cells, loss + chosen)
    emd = zip(headings_with_t(sensitive), plan["emd"].values(), strict=True)
    achieved = ", ".join(f"{heading} {float(Fraction(distance)):.6f}" for heading, distance in emd)
    return [table], [
        f"Of {plan['nodes']:,} nodes; with those of fewer quasi-identifiers, {plan['looked_at']:,} "
        "were visited.",
        f"The chosen one has {plan['classes']:,} classes and {plan['suppressed']:,} suppressed "
        f"rows. Its largest distances are {achieved}.",
        f"Information loss (NCP) {losses['ncp']:.6f}, entropy {losses['entropy']:.6f} bits, "
        f"discernibility {losses['discernibility']:,}.",
    ]


def _make_plan(given: PlanningInput) -> Plan:
    from tclose_spark.methods.t_incognito.planning import plan_t_incognito

    return plan_t_incognito(given)


def _read_plan(
    tree: Mapping[str, object],
    attributes: ResolvedAttributes,
    k: int,
    settings: TIncognito,
) -> Plan:
    from tclose_spark.methods.t_incognito.plan import TIncognitoPlan

    return TIncognitoPlan.from_json(tree)


METHOD = Method(
    name="t_incognito",
    settings=TIncognito,
    sample_rows=lambda settings, rows: SAMPLE_ROWS,
    make_plan=_make_plan,
    read_plan=_read_plan,
    tables=node_tables,
)
