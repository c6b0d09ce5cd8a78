"""A quasi-identifier of more weight keeps more: methods lose less of it, and more of the others."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from strategies import QUASI, count_in, make_problem, settle_all, town

from requirements import check_classes
from tclose_spark.methods.method import method_of
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.arrays import FloatArray
from tclose_spark.table.labels import range_losses, ranges

METHODS: list[dict[str, Any]] = [
    {"name": "closeness_tree", "effort": "fast"},
    {"name": "stack_and_deal"},
    {"name": "fragmentation"},
    {"name": "t_mondrian"},
    {"name": "t_incognito"},
    {"name": "microaggregation"},
    {"name": "sabre"},
]


def losses(method: dict[str, Any], weights: dict[str, Any]) -> FloatArray:
    """The information loss of each quasi-identifier, unweighted, of a town's release with these
    weights.
    """
    quasi = {name: {**settings, "weight": weights.get(name, 1)} for name, settings in QUASI.items()}
    problem, rows = make_problem(
        town(1500),
        {"grade": {"distance": "ordered", "t": "0.2"}},
        quasi,
        k=5,
    )
    tree = problem.spec.model_dump(exclude={"method"})
    problem = replace(problem, spec=ReleaseSpec.model_validate({**tree, "method": method}))
    given = replace(
        problem.given(count_in(rows)),
        frequencies=lambda tally_of, most: tally_of(rows),
    )
    plan = method_of(problem.spec.method).make_plan(given)
    settled, classes = settle_all(plan, rows)
    check_classes(problem, settled, classes)
    order = np.argsort(classes, kind="stable")
    starts = np.flatnonzero(np.diff(classes[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    return np.array(
        [
            range_losses(*ranges(codes[order], starts), q.domain, q.sets, q.hierarchy)
            @ sizes
            / len(order)
            for q, codes in zip(problem.attributes.quasi_identifiers, settled.quasi, strict=True)
        ],
    )


@pytest.mark.parametrize("method", METHODS, ids=lambda method: str(method["name"]))
def test_what_weighs_more_loses_less(method):
    alike = losses(method, {})
    weighted = np.array([losses(method, {name: 50})[place] for place, name in enumerate(QUASI)])
    assert (weighted <= alike).all()
    assert (weighted < alike).any()


@pytest.mark.parametrize("method", METHODS, ids=lambda method: str(method["name"]))
def test_weights_are_relative(method):
    assert losses(method, dict.fromkeys(QUASI, 7)).tolist() == losses(method, {}).tolist()
