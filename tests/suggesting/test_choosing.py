"""Which columns a first run file takes: copies, unknown columns among known ones, guesses, and
keys.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from columns import gathered

from tclose_spark.suggesting.choosing import choose_roles, judge_unknown, without_copies
from tclose_spark.suggesting.judging import suggest_role
from tclose_spark.suggesting.writing import repeated

ROWS = 400


def judged(**columns: Any) -> dict[str, str]:
    """The role of each column, with copies left out, and unknown columns judged by those next to
    them.
    """
    found = gathered(pa.table(columns))
    known = judge_unknown([suggest_role(facts) for facts in found.facts])
    return {one.name: one.role for one in without_copies(known, found.codes)}


@pytest.fixture
def draw() -> np.random.Generator:
    return np.random.default_rng(7)


def test_a_rescaled_column_is_a_copy(draw: np.random.Generator) -> None:
    wage = draw.integers(100, 250, ROWS)
    roles = judged(wage=wage, wage_monthly=12 * wage, age=draw.integers(18, 90, ROWS))
    assert roles == {"wage": "sensitive", "wage_monthly": "open", "age": "quasi"}


def test_columns_of_different_values_are_no_copies(draw: np.random.Generator) -> None:
    """Each of two columns without a value that recurs follows from the other."""
    roles = judged(
        salary=draw.permutation(ROWS),
        revenue=draw.permutation(ROWS),
        sex=draw.choice(["f", "m"], ROWS),
    )
    assert roles == {"salary": "sensitive", "revenue": "sensitive", "sex": "quasi"}


@pytest.mark.parametrize(
    ("beside", "role"),
    [(("sex", "race", "married"), "quasi"), (("income", "disease"), "open")],
)
def test_an_unknown_column_of_few_values_is_what_the_columns_next_to_it_are(
    draw: np.random.Generator,
    beside: tuple[str, ...],
    role: str,
) -> None:
    near = {name: draw.choice(["a", "b", "c"], ROWS) for name in beside}
    assert judged(**near, xqz=draw.choice(["u", "v", "w"], ROWS))["xqz"] == role


@pytest.mark.parametrize("name", ["CD20NR", "score_no", "number"])
def test_a_number_with_fractions_is_no_person_by_its_name(
    draw: np.random.Generator,
    name: str,
) -> None:
    values = [*draw.random(ROWS - 30), *[0.0] * 30]
    table = pa.table(
        {
            name: values,
            "age": draw.integers(18, 90, ROWS),
            "diagnosis": draw.choice(["a", "b"], ROWS),
        },
    )
    choice = choose_roles([suggest_role(facts) for facts in gathered(table).facts])
    assert repeated(choice, exact=True) == ()


def test_an_age_is_no_guess(draw: np.random.Generator) -> None:
    """Where no column is sensitive, a column with a known kind is not taken for a measurement."""
    found = gathered(
        pa.table(
            {
                "Age65Plus": draw.integers(5, 30, ROWS),
                "sex": draw.choice(["f", "m"], ROWS),
                "zzq": draw.random(ROWS),
            },
        ),
    )
    choice = choose_roles([suggest_role(facts) for facts in found.facts])
    assert [one.name for one in choice.sensitive] == ["zzq"]
