"""The section of the exact method in the run file."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

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
