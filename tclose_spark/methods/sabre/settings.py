"""SABRE's section of the run file, and its requirements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

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
            "{name: closeness_tree}"
        )
