"""The requirements of classes, in the order in which they are judged and reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from tclose_spark.errors import ConfigurationError
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.requirements.beliefs import measure_beliefs
from tclose_spark.requirements.closeness import judge_closeness
from tclose_spark.requirements.criterion import Criterion
from tclose_spark.requirements.diversity import (
    judge_distinct,
    judge_entropy,
    judge_frequency,
    judge_recursive,
)
from tclose_spark.requirements.expectation import Expectation
from tclose_spark.requirements.judge import Judge, JudgedAttribute
from tclose_spark.requirements.likeness import judge_likeness, measure_delta, measure_divergence
from tclose_spark.requirements.size import SizeJudge
from tclose_spark.runfile.brought import find_requirement

JUDGES: tuple[Callable[[JudgedAttribute], Judge | None], ...] = (
    judge_closeness,
    judge_distinct,
    judge_entropy,
    judge_recursive,
    judge_frequency,
    judge_likeness,
    measure_delta,
    measure_divergence,
    measure_beliefs,
)


def judges_of(a: JudgedAttribute) -> list[Judge]:
    """All that is measured of a sensitive attribute in every class. What is not required is
    reported. Of a tuple of attributes it is the distance alone.
    """
    if a.tuples is not None:
        return [judge_closeness(a)]
    judges = [judge for made in JUDGES if (judge := made(a)) is not None]
    for one in a.settings.brought:
        judge = find_requirement(one.key).judge(one, a)
        _require_new(one.key, judge, judges)
        judges.append(judge)
    return judges


def _require_new(key: str, judge: Judge, others: Sequence[Judge]) -> None:
    """Raises ConfigurationError unless a requirement of another package is reported by its key
    alone, in columns of its own.
    """
    if judge.key != key:
        raise ConfigurationError(f"{key}: its judge has the key {judge.key!r}; expected {key!r}")
    named = {name for other in others for name in (other.key, other.measure, *other.columns)}
    if taken := {judge.key, judge.measure, *judge.columns} & named:
        raise ConfigurationError(
            f"{key}: another requirement of {judge.a.name} measures {min(taken)!r}, too; rename it",
        )


def fields_of(attributes: Sequence[JudgedAttribute]) -> list[tuple[str, pa.DataType]]:
    """Names and types of the class table's columns of sensitive attributes."""
    return [field for a in attributes for judge in judges_of(a) for field in judge.fields]


def columns_of(
    attributes: Sequence[JudgedAttribute],
    classes: Mapping[str, Histograms],
) -> list[pa.Array]:
    """The columns of `fields_of`, one row for each class. classes: by attribute, the histograms of
    its values.
    """
    return [
        column
        for a in attributes
        for judge in judges_of(a)
        for column in judge.arrays(classes[a.name])
    ]


def criteria_of(attributes: Sequence[JudgedAttribute]) -> list[Criterion]:
    """The criteria of sensitive attributes."""
    return [
        judge.criterion for a in attributes for judge in judges_of(a) if judge.criterion is not None
    ]


def expectations_of(k: int | None, attributes: Sequence[JudgedAttribute]) -> list[Expectation]:
    """The suite over the class table: every requirement, class by class."""
    of_attributes = [
        one for a in attributes for judge in judges_of(a) for one in judge.expectations
    ]
    return [*SizeJudge(k).expectations(), *of_attributes]
