"""Stack & Deal's section of the run file."""

from __future__ import annotations

from typing import ClassVar, Literal

from tclose_spark.runfile.registry import MethodSettings


class StackAndDeal(MethodSettings):
    """Stack & Deal (Gowda 2023, ch. 3 and 5)."""

    makes_l: ClassVar[tuple[str, ...]] = ("distinct", "entropy", "recursive")
    name: Literal["stack_and_deal"] = "stack_and_deal"
    stack_order: Literal["value", "frequency", "best"] | None = None
    deal: Literal["local", "round_robin", "layered"] = "local"
    class_size: Literal["auto", "k"] = "auto"
