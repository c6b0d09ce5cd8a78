"""How much a plan moves: a task is sent little more than it keeps, whatever the deal and however
small the sample.
"""

from dataclasses import replace

import numpy as np
import pytest
from strategies import Problem, count_in, make_problem

from tclose_spark.methods.stack_and_deal.plan import plan_stack_and_deal
from tclose_spark.table.rows import Rows

N, PER_TASK = 60_000, 3_000


def many(repeats: int = 1) -> tuple[Problem, Rows]:
    """A problem of N rows, of which `repeats` at a time are alike; its sample is drawn by the low
    bits of the hashes.
    """
    draw = np.random.default_rng(5)
    records = [
        {"age": int(age), "sex": str(sex), "disease": str(disease)}
        for age, sex, disease in zip(
            draw.integers(0, 90, 400),
            draw.choice(["f", "m"], 400),
            draw.choice(["flu", "gout", "ulcer"], 400, p=[0.8, 0.15, 0.05]),
            strict=True,
        )
    ]
    problem, few = make_problem(
        records,
        {"disease": {}},
        {"age": {"type": "numeric"}, "sex": {}},
        k=5,
    )
    place = np.repeat(draw.integers(0, len(few), N // repeats), repeats)
    hashes = np.repeat(draw.integers(0, 2**64, N // repeats, dtype=np.uint64), repeats)
    rows = Rows(tuple(codes[place] for codes in few.quasi), few.cell[place], hashes)
    profile = problem.profile
    cells = tuple(np.bincount(rows.cell, minlength=len(profile.cells)).tolist())
    profile = replace(
        profile,
        rows=N,
        cell_counts=cells,
        sensitive=(replace(profile.sensitive[0], counts=cells),),
    )
    drawn = np.flatnonzero((hashes & np.uint64(2**31 - 1)) < np.uint64(2**31 * repeats // 40))
    return Problem(problem.spec, profile, {}, rows.take(drawn)), rows


@pytest.mark.parametrize("deal", ["local", "round_robin"])
@pytest.mark.parametrize("repeats", [1, 10])
def test_a_task_is_sent_little_more_than_it_keeps(deal, repeats):
    problem, rows = many(repeats)
    spec = problem.spec.model_copy(
        update={"method": problem.spec.method.model_copy(update={"deal": deal})},
    )
    plan = plan_stack_and_deal(
        Problem(spec, problem.profile, {}, problem.sample).given(count_in(rows)),
        PER_TASK,
    )
    row, task = plan.route(rows)
    assert plan.tasks == N // PER_TASK
    assert len(row) < 1.3 * N
    assert np.bincount(task).max() < 1.5 * PER_TASK
