"""Stack & Deal's section of the run file."""

from __future__ import annotations

from typing import ClassVar, Literal

from tclose_spark.runfile.registry import MethodSettings


class StackAndDeal(MethodSettings):
    """Stack & Deal (Gowda 2023, ch. 3 and 5)."""

    makes_l: ClassVar[tuple[str, ...]] = ("distinct", "entropy", "recursive", "frequency")
    makes: ClassVar[tuple[str, ...]] = ("beta", "t: 0")
    name: Literal["stack_and_deal"] = "stack_and_deal"
    """The method."""
    stack_order: Literal["value", "frequency", "best"] | None = None
    """Of the sensitive values in the stack: by value, by frequency (the paper's), or the best of a portfolio; None:
    value for an ordered attribute, frequency for another, best for several.
    """
    deal: Literal["local", "round_robin", "layered"] = "local"
    """local: near people into the same class; layered: as near to the bound as any classes of their size; round_robin:
    the paper's.
    """
    class_size: Literal["auto", "k"] = "auto"
    """auto: the smallest of at least k rows that reaches every t; k: the paper's."""
