"""Microaggregation's section of the run file, and what each algorithm does not make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.registry import MethodSettings


class Microaggregation(MethodSettings):
    """Microaggregation (Soria-Comas et al. 2015).

    algorithm: 1: MDAV, then merging; 2: MDAV, refined by exchanging members; 3: a row of each bucket of sensitive
        values.
    class_size: of algorithm 3. measured: what loses least on a sample; proven: the least that the histogram proves;
        paper: by the paper's formula.
    """

    makes_l: ClassVar[tuple[str, ...]] = ("distinct",)
    name: Literal["microaggregation"] = "microaggregation"
    algorithm: Literal[1, 2, 3] = 3
    class_size: Literal["measured", "proven", "paper"] | None = None


def require_algorithm(settings: Microaggregation, sensitive: Mapping[str, SensitiveAttribute]) -> None:
    """Raises ValueError for what the algorithm does not make or does not take."""
    if settings.algorithm != 3:
        if settings.class_size is not None:
            raise ValueError(f"method.class_size is for algorithm: 3, and this is algorithm: {settings.algorithm}")
        return
    required = [name for name, attribute in sensitive.items() if attribute.t is not None]
    if len(required) > 1:
        raise ValueError(
            "method.algorithm: 3 cuts the values of one sensitive attribute into buckets, and a t is required of "
            f"{' and '.join(required)}; expected t: measure of all but one, or algorithm: 1 or 2"
        )
