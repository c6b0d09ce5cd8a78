"""The usefulness of a release to an analyst, measured on raw rows, so it stays internal: query
error, and the accuracy of a classifier of a sensitive attribute.

The classifier is trained on the release or on raw rows, and tested on other raw rows. A label
enters as the values that it covers: an interval as its midpoint, a node or a set as equal parts of
its values. A third of the rows, by their hashes, is for testing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose_spark.in_memory.release import PublishedClasses, Released
from tclose_spark.in_memory.sample import ComparedTable
from tclose_spark.measures.loss.query_error import CoveredRanges, CoveredValues
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedQuasi
from tclose_spark.table.arrays import HashArray, IntArray
from tclose_spark.table.labels import MISSING, decode_numbers
from tclose_spark.table.rows import Rows
from tclose_spark.usefulness.queries import QueryError, sensitive_codes, spread_labels

Measure = Callable[[Released, PublishedClasses, ResolvedAttributes], Mapping[str, float]]
"""Figures of a release by name."""


@dataclass(frozen=True)
class UtilityMeasures:
    """The measures of a table, prepared once for all its releases."""

    measures: Sequence[Measure] = ()

    @staticmethod
    def of_table(table: ComparedTable, attributes: ResolvedAttributes) -> UtilityMeasures:
        """All measures that these rows allow."""
        target = predicted(attributes) if is_installed() else None
        accuracy = None if target is None else Accuracy.of(table, attributes, target)
        queries = QueryError.of(table, attributes)
        return UtilityMeasures([queries] if accuracy is None else [queries, accuracy])

    def of(
        self,
        released: Released,
        classes: PublishedClasses,
        attributes: ResolvedAttributes,
    ) -> dict[str, float]:
        """The figures of all measures."""
        return {
            name: figure
            for measure in self.measures
            for name, figure in measure(released, classes, attributes).items()
        }


MOST_VALUES = 50  # of the predicted attribute
MOST_COLUMNS = 500  # features of a category; one with more values is left out
MOST_TRAINED = 20_000  # rows
MOST_TESTED = 20_000  # rows
PARTS = 3  # one of them for testing
PASSES = 50

Features = NDArray[np.float32]


def is_installed() -> bool:
    """Whether the extra `analysis` is installed."""
    return find_spec("sklearn") is not None


def predicted(attributes: ResolvedAttributes) -> int | None:
    """The place of the attribute to predict: the first with few values. None if there is none."""
    fitting = [
        i for i, a in enumerate(attributes.sensitive) if 1 < len(a.domain.values) <= MOST_VALUES
    ]
    return fitting[0] if fitting else None


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """The test of a classifier: a `Measure`.

    target: the place of the predicted attribute.
    test, answers: features and values of the rows for testing.
    raw, majority: the accuracy of a model trained on raw rows, and of always predicting the most
        frequent value.
    """

    target: int
    test: Features
    answers: IntArray
    raw: float
    majority: float

    @staticmethod
    def of(table: ComparedTable, attributes: ResolvedAttributes, target: int) -> Accuracy | None:
        """The test on these rows; None if there are none to learn from, or to test on."""
        rows = table.rows
        quasi = attributes.quasi_identifiers
        codes = sensitive_codes(rows, attributes)[target]
        held_out = is_test(rows.hash)
        learned = chosen(~held_out, rows.hash, MOST_TRAINED)
        tested = chosen(held_out, rows.hash, MOST_TESTED)
        test = raw_features(quasi, rows.take(tested))
        answers = codes[tested]
        if not len(learned) or not test.size:
            return None
        said = predictions(raw_features(quasi, rows.take(learned)), codes[learned], test)
        most = int(np.bincount(codes[~held_out]).argmax())
        return Accuracy(
            target=target,
            test=test,
            answers=answers,
            raw=float(np.mean(said == answers)),
            majority=float(np.mean(answers == most)),
        )

    def __call__(
        self,
        released: Released,
        classes: PublishedClasses,
        attributes: ResolvedAttributes,
    ) -> Mapping[str, float]:
        """Accuracies: trained on the release, on raw rows, and not at all. Empty if no released row
        is for training.
        """
        hashes = released.rows.hash
        learned = chosen(~is_test(hashes), hashes, MOST_TRAINED)
        if not len(learned):
            return {}
        codes = sensitive_codes(released.rows, attributes)[self.target][learned]
        parts = [
            released_features(quasi, classes.labels[quasi.name], classes.of_row[learned])
            for quasi in attributes.quasi_identifiers
        ]
        right = float(
            np.mean(predictions(np.concatenate(parts, axis=1), codes, self.test) == self.answers),
        )
        return {"accuracy": right, "accuracy_raw": self.raw, "accuracy_majority": self.majority}


def is_test(hashes: HashArray) -> NDArray[np.bool_]:
    """Which rows are for testing, shape (rows,)."""
    held_out: NDArray[np.bool_] = (hashes >> np.uint64(33)) % np.uint64(PARTS) == 0
    return held_out


def chosen(which: NDArray[np.bool_], hashes: HashArray, most: int) -> IntArray:
    """At most so many of these rows: those with the least hashes, in that order."""
    place = np.flatnonzero(which)
    return place[np.argsort(hashes[place], kind="stable")[:most]]


def predictions(features: Features, codes: IntArray, test: Features) -> IntArray:
    """Predictions for test rows: multinomial logistic regression on features from 0 to 1, in at
    most PASSES passes.

    If all rows have one value, that value.
    """
    if codes.min() == codes.max():
        return np.full(len(test), codes[0])
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler
    from threadpoolctl import threadpool_limits

    made = make_pipeline(MinMaxScaler(), LogisticRegression(max_iter=PASSES, tol=1e-3))
    with (
        threadpool_limits(1),
        warnings.catch_warnings(),
    ):  # more threads take ten times as long here
        warnings.simplefilter("ignore", ConvergenceWarning)
        said: IntArray = made.fit(features, codes).predict(test)
        return said


def raw_features(quasi: Sequence[ResolvedQuasi], rows: Rows) -> Features:
    """Features of raw rows, shape (rows, features)."""
    parts = []
    for q, codes in zip(quasi, rows.quasi, strict=True):
        different, place = np.unique(codes, return_inverse=True)
        known = different != MISSING
        numbers = (
            decode_numbers(different) if q.domain.kind == "double" else different.astype(np.float64)
        )
        values = np.where(known, numbers, np.nan)
        parts.append(
            features_of(
                q,
                CoveredRanges(low=values, high=values, whole=q.domain.kind != "double"),
                place,
            ),
        )
    return np.concatenate(parts, axis=1)


def released_features(
    quasi: ResolvedQuasi,
    columns: Sequence[pa.Array],
    of_row: IntArray,
) -> Features:
    """Features of released rows, shape (rows, features). columns: labels by class. of_row: the
    class of each row.
    """
    if quasi.domain.kind == "category":  # a column for each value, so only for the classes in use
        used, of_row = np.unique(of_row, return_inverse=True)
        columns = [column.take(pa.array(used)) for column in columns]
    spread, label = spread_labels(quasi, columns)
    return features_of(quasi, spread, label[of_row])


def features_of(quasi: ResolvedQuasi, spread: CoveredValues, label: IntArray) -> Features:
    """Features of labels of a quasi-identifier, shape (len(label), features).

    A number is its place in the range, from 0 to 1, which float32 holds for all doubles; a missing
    one is the middle. A category is its share of each value; a missing one has none.
    """
    if quasi.domain.kind != "category":
        assert isinstance(spread, CoveredRanges)
        # Halves, because a sum may overflow.
        start = quasi.domain.low / 2
        end = quasi.domain.high / 2
        middle = (spread.low / 4 + spread.high / 4 - start) / (end - start or 1.0)
        return np.clip(np.where(np.isnan(middle), 0.5, middle), 0, 1).astype(np.float32)[label][
            :,
            None,
        ]
    values = len(quasi.domain.values)
    if not 0 < values <= MOST_COLUMNS:  # 0: the column is missing in all rows
        return np.zeros((len(label), 0), dtype=np.float32)
    shares = np.stack([spread.shares(code, code) for code in range(values)], axis=1)
    return shares.astype(np.float32)[label]
