"""The exact method's section of the run file, and its entry in the registry of methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Method, Plan, PlanningInput
from tclose_spark.runfile.registry import MethodSettings


class Exact(MethodSettings):
    """The classes that lose least, with a proof (Liang and Yuan, Theorems 8 and 9). For small
    tables.
    """

    makes_l: ClassVar[tuple[str, ...]] = ("distinct", "entropy", "recursive", "frequency")
    makes: ClassVar[tuple[str, ...]] = ("beta", "t: 0")
    for_small_tables: ClassVar[bool] = True
    name: Literal["exact"] = "exact"
    """The method."""
    search_seconds: Annotated[int, Field(ge=1)] = 60
    """The time limit for tables of more than 16 rows. After it, the certificate has the gap that is
    left.
    """


SAMPLE_ROWS = 1_000  # it plans from counts of the whole table


def _make_plan(given: PlanningInput) -> Plan:
    from tclose_spark.methods.exact.plan import plan_exact

    return plan_exact(given)


def _read_plan(
    tree: Mapping[str, object],
    attributes: ResolvedAttributes,
    k: int,
    settings: Exact,
) -> Plan:
    from tclose_spark.methods.exact.plan import ExactPlan

    return ExactPlan.from_json(tree)


METHOD = Method(
    name="exact",
    settings=Exact,
    sample_rows=lambda settings, rows: SAMPLE_ROWS,
    make_plan=_make_plan,
    read_plan=_read_plan,
)
