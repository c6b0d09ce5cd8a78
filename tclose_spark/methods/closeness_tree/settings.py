"""The closeness tree's section of the run file."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator

from tclose_spark.runfile.registry import MethodSettings


def _effort(value: Any) -> Any:
    if value in ("fast", "balanced", "thorough") or (
        isinstance(value, int) and not isinstance(value, bool) and value >= 0
    ):
        return value
    raise ValueError("expected fast, balanced, thorough, or a number of sweeps over the rows (0 or more)")


class ClosenessTree(MethodSettings):
    """Carve a tree of valid classes, then exchange rows.

    effort: in work, not in time; a number is sweeps over the rows.
    """

    makes_l: ClassVar[tuple[str, ...]] = ("distinct",)
    name: Literal["closeness_tree"] = "closeness_tree"
    effort: Annotated[Literal["fast", "balanced", "thorough"] | int, BeforeValidator(_effort)] = "balanced"
