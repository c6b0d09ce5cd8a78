"""What an analyst would do with a release: predict a sensitive attribute. A classifier trained on the release is tested
on raw rows that it has not seen, beside one that is trained on the raw rows themselves.

A label enters as what it says of a value: an interval as its middle, a node or a set as equal parts of its values. Raw
values are labels that say one value. A third of the rows, by their hashes, are for testing.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose_spark.compare.carrying import Released
from tclose_spark.compare.measuring import PublishedClasses
from tclose_spark.compare.queries import sensitive_codes, spread_labels
from tclose_spark.compare.sample import ComparedTable
from tclose_spark.measures.utility import RangeSpread, Spread
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedQuasi
from tclose_spark.table.arrays import HashArray, IntArray
from tclose_spark.table.labels import MISSING, decode_numbers
from tclose_spark.table.rows import Rows

MOST_VALUES = 50  # of an attribute that is predicted
MOST_COLUMNS = 500  # that the values of a category become; one of more is left out
MOST_TRAINED = 20_000  # rows that a classifier learns from
PARTS = 3  # of the rows, one of which is for testing
PASSES = 50

Features = NDArray[np.float32]


def is_installed() -> bool:
    """Whether the extra that this needs is there."""
    return find_spec("sklearn") is not None


def predicted(attributes: ResolvedAttributes) -> int | None:
    """The number of the attribute that is predicted: the first that has few values."""
    fitting = [i for i, a in enumerate(attributes.sensitive) if 1 < len(a.domain.values) <= MOST_VALUES]
    return fitting[0] if fitting else None


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """A classifier's test: a `worth.Measure`.

    target: the number of the attribute that is predicted.
    test, answers: features and values of the rows for testing.
    raw, majority: accuracy of what is trained on raw rows, and of always saying the most frequent value.
    """

    target: int
    test: Features
    answers: IntArray
    raw: float
    majority: float

    @staticmethod
    def of(table: ComparedTable, attributes: ResolvedAttributes, target: int) -> Accuracy:
        """The test on these rows."""
        rows = table.rows
        codes, held_out = sensitive_codes(rows, attributes)[target], is_test(rows.hash)
        features = raw_features(attributes.quasi_identifiers, rows)
        test, answers = features[held_out], codes[held_out]
        trained = train(features[~held_out], codes[~held_out], rows.hash[~held_out])
        most = int(np.bincount(codes[~held_out]).argmax())
        return Accuracy(
            target=target,
            test=test,
            answers=answers,
            raw=float(np.mean(trained.predict(test) == answers)),
            majority=float(np.mean(answers == most)),
        )

    def __call__(
        self, released: Released, classes: PublishedClasses, attributes: ResolvedAttributes
    ) -> Mapping[str, float]:
        """Accuracies: trained on the release, on raw rows, and not at all."""
        learned = np.flatnonzero(~is_test(released.rows.hash))
        codes = sensitive_codes(released.rows, attributes)[self.target][learned]
        parts = [
            features_of(quasi, *spread_labels(quasi, classes.labels[quasi.name]))
            for quasi in attributes.quasi_identifiers
        ]
        features = np.concatenate(parts, axis=1)[classes.of_row[learned]]
        trained = train(features, codes, released.rows.hash[learned])
        right = float(np.mean(trained.predict(self.test) == self.answers))
        return {"accuracy": right, "accuracy_raw": self.raw, "accuracy_majority": self.majority}


def is_test(hashes: HashArray) -> NDArray[np.bool_]:
    """Which rows are for testing, shape (rows,)."""
    held_out: NDArray[np.bool_] = (hashes >> np.uint64(33)) % np.uint64(PARTS) == 0
    return held_out


def train(features: Features, codes: IntArray, hashes: HashArray) -> Any:
    """A classifier: multinomial logistic regression on features from 0 to 1, PASSES passes of its solver."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler
    from threadpoolctl import threadpool_limits

    chosen = np.argsort(hashes, kind="stable")[:MOST_TRAINED]
    made = make_pipeline(MinMaxScaler(), LogisticRegression(max_iter=PASSES, tol=1e-3))
    with threadpool_limits(1), warnings.catch_warnings():  # more threads take ten times as long on tables like these
        warnings.simplefilter("ignore", ConvergenceWarning)
        return made.fit(features[chosen], codes[chosen])


def raw_features(quasi: Sequence[ResolvedQuasi], rows: Rows) -> Features:
    """Features of raw rows, shape (rows, features)."""
    parts = []
    for q, codes in zip(quasi, rows.quasi, strict=True):
        different, place = np.unique(codes, return_inverse=True)
        known = different != MISSING
        numbers = decode_numbers(different) if q.domain.kind == "double" else different.astype(np.float64)
        values = np.where(known, numbers, np.nan)
        parts.append(features_of(q, RangeSpread(low=values, high=values, whole=q.domain.kind != "double"), place))
    return np.concatenate(parts, axis=1)


def features_of(quasi: ResolvedQuasi, spread: Spread, label: IntArray) -> Features:
    """What labels of a quasi-identifier say of its value, shape (len(label), features). A missing value is the middle
    of the range, or in none of the values.
    """
    if quasi.domain.kind != "category":
        assert isinstance(spread, RangeSpread)
        middle = (spread.low + spread.high) / 2
        middle = np.where(np.isnan(middle), (quasi.domain.low + quasi.domain.high) / 2, middle)
        return middle.astype(np.float32)[label][:, None]
    values = len(quasi.domain.values)
    if values > MOST_COLUMNS:
        return np.zeros((len(label), 0), dtype=np.float32)
    shares = np.stack([spread.shares(code, code) for code in range(values)], axis=1)
    return shares.astype(np.float32)[label]
