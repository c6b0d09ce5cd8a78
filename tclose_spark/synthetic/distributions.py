"""The probabilities of the synthetic census: `distributions.yaml`, which explains them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final, TypeAlias

import yaml

Weights: TypeAlias = Sequence[int]
ByAge: TypeAlias = Mapping[int, Weights]
# A hierarchy from the top down: a group holds groups or, at the bottom, its leaves.
Tree: TypeAlias = Mapping[str, "Tree | Sequence[str]"]

_TABLES: dict[str, Any] = yaml.safe_load(
    files(__package__).joinpath("distributions.yaml").read_text(encoding="utf-8"),
)

AGE_PYRAMID: Final[Weights] = _TABLES["age_pyramid"]
AGE_GROUP_STARTS: Final[Sequence[int]] = _TABLES["age_group_starts"]

SEXES: Final[Sequence[str]] = _TABLES["sexes"]
SEX_BY_AGE: Final[ByAge] = _TABLES["sex_by_age"]
MARITAL_STATUS_TREE: Final[Tree] = _TABLES["marital_status_tree"]
MARITAL_STATUS_BY_SEX_AND_AGE: Final[Mapping[str, ByAge]] = _TABLES["marital_status_by_sex_and_age"]

EDUCATION_TREE: Final[Tree] = _TABLES["education_tree"]
EDUCATION_BY_AGE: Final[ByAge] = _TABLES["education_by_age"]
NOT_EMPLOYED: Final[Sequence[str]] = _TABLES["not_employed"]
ACTIVITY_BY_SEX_AND_AGE: Final[Mapping[str, ByAge]] = _TABLES["activity_by_sex_and_age"]
JOBS: Final[Mapping[str, tuple[int, int, Weights]]] = _TABLES["jobs"]
OCCUPATION_TREE: Final[Tree] = _TABLES["occupation_tree"]
SHARE_OF_HOURS: Final[Sequence[float]] = _TABLES["share_of_hours"]
SHARE_OF_HOURS_BY_SEX_AND_AGE: Final[Mapping[str, ByAge]] = _TABLES["share_of_hours_by_sex_and_age"]

INCOME_OF_NOT_EMPLOYED: Final[Mapping[str, int]] = _TABLES["income_of_not_employed"]
INCOME_BY_AGE: Final[Mapping[int, float]] = _TABLES["income_by_age"]
INCOME_BY_EDUCATION: Final[Mapping[str, float]] = _TABLES["income_by_education"]
INCOME_BY_SEX: Final[Mapping[str, float]] = _TABLES["income_by_sex"]
INCOME_BY_PROVINCE: Final[Mapping[str, float]] = _TABLES["income_by_province"]
INCOME_SPREAD: Final[float] = _TABLES["income_spread"]
INCOME_STEP: Final[int] = _TABLES["income_step"]

DISEASE_TREE: Final[Tree] = _TABLES["disease_tree"]
DISEASE_BY_AGE: Final[ByAge] = _TABLES["disease_by_age"]
RARE_DISEASE: Final[str] = _TABLES["rare_disease"]
RARE_DISEASE_BY_AGE: Final[Mapping[int, float]] = _TABLES["rare_disease_by_age"]

REGIONS: Final[Mapping[str, Mapping[str, Mapping[str, int]]]] = _TABLES["regions"]
REGION_TREE: Final[Tree] = {
    province: {district: tuple(towns) for district, towns in districts.items()}
    for province, districts in REGIONS.items()
}

HIERARCHIES: Final[Mapping[str, Tree]] = {
    "education": EDUCATION_TREE,
    "marital_status": MARITAL_STATUS_TREE,
    "region": REGION_TREE,
    "occupation": OCCUPATION_TREE,
    "disease": DISEASE_TREE,
}


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A code of the ICD-9. weights: by age."""

    code: str
    block: str
    chapter: str
    ward: str
    weights: Weights


def _diagnoses() -> Iterator[Diagnosis]:
    """The codes of the chapters, evenly spread. The weight of a code falls with its rank, which
    jumps about.
    """
    for chapter, (first, last, many, ward, weights) in _TABLES["chapters"].items():
        for place in range(many):
            number = first + place * (last - first + 1) // many
            block = f"{number // 10 * 10:03d}-{number // 10 * 10 + 9:03d} {chapter}"
            rank = 1 + place * 29 % many
            yield Diagnosis(
                f"{number:03d}",
                block,
                chapter,
                ward,
                [1000 * weight // rank for weight in weights],
            )


STAYS_OF_A_PATIENT: Final[Weights] = _TABLES["stays_of_a_patient"]
DAYS_BETWEEN_STAYS: Final[Sequence[tuple[int, int]]] = _TABLES["days_between_stays"]
DIAGNOSIS_AGE_STARTS: Final[Sequence[int]] = _TABLES["diagnosis_age_starts"]
DIAGNOSES: Final = tuple(_diagnoses())
SAME_DIAGNOSIS: Final[float] = _TABLES["same_diagnosis"]


def paths(tree: Tree, above: tuple[str, ...] = ()) -> tuple[tuple[str, ...], ...]:
    """For each leaf, in the order of the tree: the leaf, its groups from below, and then
    `above`.
    """
    result: list[tuple[str, ...]] = []
    for label, below in tree.items():
        if isinstance(below, Mapping):
            result.extend(paths(below, (label, *above)))
        else:
            result.extend((leaf, label, *above) for leaf in below)
    return tuple(result)


def leaves(tree: Tree) -> tuple[str, ...]:
    """The leaves of a hierarchy, in the order of the tree."""
    return tuple(path[0] for path in paths(tree))
