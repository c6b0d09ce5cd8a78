"""The largest k that a table has: all its rows in one class. One more cannot be reached, whatever
the method.
"""

import numpy as np
import pytest
from strategies import count_in, make_problem, settle_all

from tclose_spark.errors import UnreachableError
from tclose_spark.methods.method import method_of

RECORDS = [
    {"age": 20 + i, "sex": "f", "city": "Pisa", "disease": "flu", "grade": i % 4} for i in range(8)
]
METHODS = ["closeness_tree", "stack_and_deal", "fragmentation", "t_mondrian"]


@pytest.mark.parametrize("method", METHODS)
def test_k_of_all_rows_makes_one_class(method):
    problem, rows = make_problem(
        RECORDS,
        {"grade": {"distance": "ordered", "t": "0.3"}},
        k=8,
        name=method,
    )
    _, classes = settle_all(
        method_of(problem.spec.method).make_plan(problem.given(count_in(rows))),
        rows,
    )
    assert len(classes) == 8
    assert len(np.unique(classes)) == 1


@pytest.mark.parametrize("method", METHODS)
def test_a_larger_k_cannot_be_reached_and_the_largest_is_reported(method):
    problem, rows = make_problem(
        RECORDS,
        {"grade": {"distance": "ordered", "t": "0.3"}},
        k=9,
        name=method,
    )
    with pytest.raises(
        UnreachableError,
        match=r"privacy.k is 9, but the table has 8 rows; .* and 8, one class of all, is the largest k",
    ):
        method_of(problem.spec.method).make_plan(problem.given(count_in(rows)))
