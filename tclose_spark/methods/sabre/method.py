"""SABRE's section of the run file, its requirements, and its entry in the registry of methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Method, Plan, PlanningInput
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.registry import MethodSettings


class Sabre(MethodSettings):
    """SABRE (Cao et al. 2011)."""

    makes_l: ClassVar[tuple[str, ...]] = ("distinct", "frequency")
    makes: ClassVar[tuple[str, ...]] = ("beta",)
    name: Literal["sabre"] = "sabre"
    """The method."""
    bounds: Literal["measured", "proven"] = "measured"
    """proven: by construction, no class can break t. measured: tries larger buckets and smaller
    classes on a sample, merges classes that do not hold, and takes what loses least.
    """


def require_one_attribute(settings: Sabre, sensitive: Mapping[str, SensitiveAttribute]) -> None:
    """Raises ValueError if a t is required of several sensitive attributes."""
    required = [name for name, attribute in sensitive.items() if attribute.t is not None]
    if len(required) > 1:
        raise ValueError(
            "method: sabre puts the values of one sensitive attribute into buckets, and a t is "
            f"required of {' and '.join(required)}; expected t: measure of all but one, or method: "
            "{name: closeness_tree}",
        )


SAMPLE_ROWS = 40_000  # a block, on which bounds are tried


def _make_plan(given: PlanningInput) -> Plan:
    from tclose_spark.methods.sabre.plan import plan_sabre

    return plan_sabre(given)


def _read_plan(
    tree: Mapping[str, object],
    attributes: ResolvedAttributes,
    k: int,
    settings: Sabre,
) -> Plan:
    from tclose_spark.methods.sabre.plan import SabrePlan

    return SabrePlan.from_json(tree, attributes, k)


METHOD = Method(
    name="sabre",
    settings=Sabre,
    supports=require_one_attribute,
    sample_rows=lambda settings, rows: SAMPLE_ROWS,
    make_plan=_make_plan,
    read_plan=_read_plan,
)
