"""The closeness tree's section of the run file."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from tclose_spark.runfile.registry import MethodSettings


def _effort(value: Any) -> Any:
    if value in ("fast", "balanced", "thorough") or (
        isinstance(value, int) and not isinstance(value, bool) and value >= 0
    ):
        return value
    raise ValueError(
        "expected fast, balanced, thorough, or a number of sweeps over the rows (0 or more)",
    )


def _overlap(value: Any) -> Any:
    if value in ("allowed", None):
        return None
    if value == "none":
        return value
    raise ValueError("expected allowed or none")


class ClosenessTree(MethodSettings):
    """Carve a tree of valid classes, then exchange rows."""

    makes_l: ClassVar[tuple[str, ...]] = ("distinct", "frequency")
    makes: ClassVar[tuple[str, ...]] = ("beta", "t: 0")
    counts_people: ClassVar[bool] = True
    gathers_people: ClassVar[bool] = True
    name: Literal["closeness_tree"] = "closeness_tree"
    """The method."""
    effort: Annotated[
        Literal["fast", "balanced", "thorough"] | Annotated[int, Field(ge=0)],
        BeforeValidator(_effort),
    ] = "balanced"
    """How much work the method may do, whatever time it takes. A number gives the sweeps over the
    rows, or with
    `overlap: none` the budget for cuts.
    """
    overlap: Annotated[
        Literal["none"] | None,
        BeforeValidator(_overlap),
        WithJsonSchema({"enum": ["allowed", "none", None]}),
    ] = None
    """none: the regions of classes do not overlap; the method carves nothing and exchanges no row.
    allowed, the
    default: they may overlap.
    """

    @property
    def promises_disjoint(self) -> bool:
        return self.overlap == "none"
