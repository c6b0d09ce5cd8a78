"""The sensitive attributes of a run as methods see them, and what classes reach of what is asked of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tclose_spark.domains import Profile
from tclose_spark.hierarchy import Hierarchy
from tclose_spark.measures import diversity
from tclose_spark.measures.distances import GroundDistance
from tclose_spark.measures.histograms import Histograms
from tclose_spark.spec import ReleaseSpec, SensitiveAttribute


@dataclass(frozen=True)
class Attribute:
    """One sensitive attribute; `column` is its place in the cells' codes."""

    name: str
    column: int
    spec: SensitiveAttribute
    distance: GroundDistance


def attributes_of(spec: ReleaseSpec, profile: Profile, hierarchies: Mapping[str, Hierarchy]) -> list[Attribute]:
    """The sensitive attributes of a run."""
    asked = spec.attributes.sensitive_attributes
    return [
        Attribute(d.name, i, asked[d.name], d.distance(asked[d.name], hierarchies.get(d.name))) for i, d in enumerate(profile.sensitive)
    ]


def worst_load(attributes: Sequence[Attribute], emd: Sequence[Fraction]) -> Fraction:
    """The largest distance over the t that is asked; the largest distance where none is."""
    loads = [reached / a.spec.t for a, reached in zip(attributes, emd, strict=True) if a.spec.t is not None]
    return max(loads or emd)


def reaches(attributes: Sequence[Attribute], emd: Sequence[Fraction]) -> bool:
    """Whether every distance is at most the t that is asked."""
    return all(a.spec.t is None or reached <= a.spec.t for a, reached in zip(attributes, emd, strict=True))


def is_diverse(parts: Iterable[Histograms], attribute: Attribute) -> bool:
    """Whether all classes have the l-diversity that is asked."""
    asked = attribute.spec.l
    for part in parts:
        if asked.distinct is not None and diversity.distinct(part).min() < asked.distinct:
            return False
        if asked.entropy is not None and diversity.entropy_margins(part, asked.entropy).min() < 0:
            return False
        if asked.recursive is not None and min(diversity.recursive_margins(part, asked.recursive.c, asked.recursive.l)) <= 0:
            return False
    return True
