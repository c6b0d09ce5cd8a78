"""What a class reveals of a sensitive attribute, for the report: nothing requires it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from tclose_spark.measures.disclosure import beliefs
from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.requirements.judge import Judge, JudgedAttribute
from tclose_spark.table.arrays import BoolArray


def measure_beliefs(a: JudgedAttribute) -> Judge:
    """`mode_`: records with the most frequent value. `gain_`: the largest rise of the belief in a
    value. `similar_`: whether all values are in one group of similar values, where there are
    several.
    """

    def measured(classes: Histograms) -> list[Any]:
        numerators = beliefs.skewness(a.distance.table, classes, a.uninformative).numerators.astype(
            object,
        )
        table, sizes = beliefs.informative(a.distance.table, classes, a.uninformative)
        gain = numerators / np.maximum(sizes.astype(object) * int(table.sum()), 1)
        return [
            beliefs.most_frequent(classes, a.uninformative).first,
            gain.astype(np.float64),
            _similar(a.distance, classes),
        ]

    columns = {"mode": pa.int64(), "gain": pa.float64(), "similar": pa.bool_()}
    return Judge(a=a, key="beliefs", measure="beliefs", columns=columns, measured=measured)


def _similar(distance: GroundDistance, classes: Histograms) -> BoolArray:
    """`similar_` of each class (Li et al. 2007, section 6)."""
    if not beliefs.has_groups(distance):
        return np.zeros(classes.groups, dtype=np.bool_)
    groups = beliefs.value_groups(distance)
    several = len(np.unique(groups[distance.table > 0])) > 1
    # Values ascend, and so do their groups.
    first = classes.starts
    last = classes.offsets[1:] - 1
    alike: BoolArray = groups[classes.values[first]] == groups[classes.values[last]]
    return alike & several
