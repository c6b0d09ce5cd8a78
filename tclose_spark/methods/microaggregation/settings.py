"""Microaggregation's section of the run file, and the requirements of each algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.runfile.registry import MethodSettings
from tclose_spark.runfile.release_form import Aggregate, Representative
from tclose_spark.runfile.section import also

DIGITS = 2


class Microaggregation(MethodSettings):
    """Microaggregation (Soria-Comas et al. 2015)."""

    makes_l: ClassVar[tuple[str, ...]] = ("distinct", "frequency")
    makes: ClassVar[tuple[str, ...]] = ("beta",)
    name: Literal["microaggregation"] = "microaggregation"
    """The method."""
    algorithm: Literal[1, 2, 3] = 3
    """1: MDAV, then merging. 2: MDAV, then exchanges of members. 3: a row of each bucket of
    sensitive values.
    """
    class_size: Literal["measured", "proven", "paper"] | None = None
    """The size of classes, for algorithm 3. measured: what loses least on a sample. proven: the
    least that the histogram proves. paper: by the paper's formula.
    """
    cells: Literal["first_component", "clusters"] | None = None
    """For algorithm 3 with a t of several attributes: how their tuples form buckets.
    first_component: in the order of their first principal component. clusters: around tuples far
    from each other.
    """
    representative: Representative | None = Field(
        default=None,
        validation_alias=also("representative", "aggregate"),
    )
    """What a class publishes instead of covering labels: the mean, lower median or most frequent
    value. Categories without a known order always publish the most frequent.
    """
    digits: Annotated[int, Field(ge=0, le=12)] | None = None
    """Digits of a mean after the decimal point; 2 by default."""

    @model_validator(mode="before")
    @classmethod
    def _rounded(cls, value: Any) -> Any:
        """Fills in the digits of a mean, so that the certificate records them."""
        if not isinstance(value, Mapping) or value.get("digits") is not None:
            return value
        means = "mean" in (value.get("representative"), value.get("aggregate"))
        return {**value, "digits": DIGITS} if means else value

    def aggregate_of(self, quasi: QuasiIdentifier) -> Aggregate | None:
        if self.representative is None:
            return None
        return Aggregate.of(quasi, self.representative, self.digits or 0)


def require_algorithm(
    settings: Microaggregation,
    sensitive: Mapping[str, SensitiveAttribute],
) -> None:
    """Raises ValueError for settings and requirements that the algorithm does not support."""
    if settings.digits is not None and settings.representative != "mean":
        raise ValueError(
            "method.digits is for representative: mean, and representative is "
            f"{settings.representative or 'not said'}",
        )
    if settings.algorithm != 3:
        for key in ("class_size", "cells"):
            if getattr(settings, key) is not None:
                raise ValueError(
                    f"method.{key} is for algorithm: 3, and this is algorithm: {settings.algorithm}",
                )
        return
    if settings.cells is not None:
        if settings.class_size in ("proven", "paper"):
            raise ValueError(
                f"method.class_size: {settings.class_size} is for the buckets of one sensitive "
                "attribute; with method.cells expected class_size: measured",
            )
        return
    required = [name for name, attribute in sensitive.items() if attribute.t is not None]
    if len(required) > 1:
        raise ValueError(
            "method.algorithm: 3 works for one required t, and one is required of "
            f"{' and '.join(required)}; expected method.cells, t: measure of all but one, or "
            "algorithm: 1 or 2",
        )
