"""The section of t-Mondrian in the run file."""

from __future__ import annotations

from typing import ClassVar, Literal

from tclose_spark.runfile.registry import MethodSettings


class TMondrian(MethodSettings):
    """Split at the median of the widest quasi-identifier, as long as all sides meet the
    requirements. It has no settings.
    """

    makes_l: ClassVar[tuple[str, ...]] = ("distinct", "frequency")
    makes: ClassVar[tuple[str, ...]] = ("beta", "t: 0")
    counts_people: ClassVar[bool] = True
    disjoint: ClassVar[bool] = True
    cuts_at_medians: ClassVar[bool] = True
    name: Literal["t_mondrian"] = "t_mondrian"
    """The method."""
