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
    """The order of the stack: by value, by frequency (the paper's), or the best of a portfolio. By
    default: value for an ordered attribute, frequency for another, best for several.
    """
    deal: Literal["local", "round_robin", "layered"] = "local"
    """local: near people come into the same class. layered: classes are as near to the bound as any
    of their size.
    round_robin: as in the paper.
    """
    class_size: Literal["auto", "k"] = "auto"
    """auto: the smallest size from k rows on that reaches every t. k: k rows, as in the paper."""
