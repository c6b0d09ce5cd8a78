"""`coarsest`: no label of a release is coarser; classes that would have one are left out, or
nothing is published.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from strategies import town

from tclose_spark import pipeline
from tclose_spark.engine.tables import collect, read_delta
from tclose_spark.errors import UnreachableError
from tclose_spark.io.run import Run

LIMIT = 40
AGE = "attributes.quasi_identifiers.age"
TOWN = pa.Table.from_pylist([{**row, "age": 20 + (row["age"] - 20) % 30} for row in town(594)])
OLD = pa.table(
    {
        "age": [60, 61, 110, 111, 112, 113],
        "sex": ["f"] * 6,
        "city": ["Pisa"] * 6,
        "disease": ["flu", "gout", "mumps", "ulcer", "flu", "gout"],
        "grade": [1, 2, 3, 4, 5, 1],
    },
)
ROLES = {
    "quasi": {
        "age": {"type": "numeric", "coarsest": LIMIT},
        "sex": {},
        "city": {"hierarchy": "cities.csv"},
    },
    "sensitive": {"grade": {"distance": "ordered", "t": "0.4"}},
    "drop_others": True,
    "k": 5,
    "method": {"name": "closeness_tree", "effort": "fast"},
}


@pytest.fixture(scope="module")
def conf(write_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over a town in which six people are older than all others."""
    return write_run(tmp_path_factory.mktemp("coarsest"), pa.concat_tables([TOWN, OLD]), **ROLES)


def length(label: str) -> int:
    low, high = json.loads(label) if label.startswith("[") else (int(label), int(label))
    return high - low


def test_classes_that_are_too_wide_are_left_out(
    conf: Path,
    open_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    run = open_run(conf, "privacy.suppression_limit=0.1", f"output.path={tmp_path}")
    certificate = pipeline.release(run)
    ages = collect(read_delta(run.session, run.public.path("release")))["age"].to_pylist()
    assert len(ages) == certificate["release"]["rows"] == 600 - certificate["suppressed"]["rows"]
    assert max(map(length, ages)) <= LIMIT
    assert 5 <= certificate["suppressed"]["rows"] <= 60
    assert certificate["suppressed"]["guarantees"]["t"]["grade"]["achieved"] <= 0.4
    assert certificate["attributes"]["quasi_identifiers"]["age"]["coarsest"] == str(LIMIT)


@pytest.mark.parametrize("limit", ["0", "0.004"])
def test_more_than_may_be_left_out_is_not_published(
    conf: Path,
    open_run: Callable[..., Run],
    tmp_path: Path,
    limit: str,
) -> None:
    run = open_run(conf, f"privacy.suppression_limit={limit}", f"output.path={tmp_path}")
    with pytest.raises(
        UnreachableError,
        match=r"age: \d+ classes \(\d+ rows\) have labels .* than coarsest: 40",
    ) as raised:
        pipeline.release(run)
    assert not run.finished
    reached = re.search(
        r"All labels of method closeness_tree are within coarsest: (\d+);",
        str(raised.value),
    )
    assert reached is not None
    wider = open_run(
        conf,
        f"{AGE}.coarsest={int(reached[1]) - 1}",
        f"output.path={tmp_path}",
        overwrite=True,
    )
    with pytest.raises(UnreachableError):
        pipeline.release(wider)


def test_what_is_never_within_a_limit_is_reported(make_run: Callable[..., Run]) -> None:
    roles = {
        **ROLES,
        "quasi": {"sex": {"coarsest": 0}},
        "method": {"name": "stack_and_deal", "deal": "round_robin"},
    }
    with pytest.raises(
        UnreachableError,
        match=r"sex: .* are within no coarsest, since some are \*; raise",
    ):
        pipeline.release(make_run(TOWN, **roles))


@pytest.mark.parametrize(
    "method",
    [{"name": "closeness_tree"}, {"name": "closeness_tree", "overlap": "none"}],
)
@pytest.mark.parametrize("limited", [{"city": 0}, {"age": 15}, {"sex": 0}])
def test_classes_are_made_within_the_limit(
    make_run: Callable[..., Run],
    method: Any,
    limited: Any,
) -> None:
    """The town's diseases follow from age and city, so the loss alone would make wider labels."""
    quasi = {
        "age": {"type": "numeric"},
        "sex": {},
        "city": {"hierarchy": "cities.csv"},
        "grade": {"type": "numeric"},
    }
    quasi = {
        name: {**of_one, "coarsest": limited[name]} if name in limited else of_one
        for name, of_one in quasi.items()
    }
    town_of_people = pa.Table.from_pylist(town(300))
    roles = {"quasi": quasi, "sensitive": {"disease": {"t": "0.5"}}, "k": 2, "method": method}
    certificate = pipeline.release(make_run(town_of_people, **roles))
    assert certificate["release"]["rows"] == 300
