"""t-Incognito's section of the run file."""

from __future__ import annotations

from typing import ClassVar, Literal

from tclose_spark.runfile.registry import MethodSettings


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
