"""What the closeness tree would gain if it could leave rows out: Adult, occupation, k = 5, effort
fast, without Spark.

    PYTHONPATH=.:tests python benchmarks/suppressed.py

The tree is grown without the rows that are left out, of each occupation the same share, so that
what stays has the table's distribution. They count as lost altogether.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from in_memory import METHODS, cases, problem_of
from strategies import Problem, count_in, settle_all

from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.figures import by_class, rows_lost
from tclose_spark.methods.method import method_of
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.arrays import FloatArray, IntArray
from tclose_spark.table.rows import Rows


def classes_of(problem: Problem, rows: Rows) -> tuple[Rows, IntArray, Block]:
    """(the rows as they stay, the class of each, the rows as a block)."""
    plan = method_of(problem.spec.method).make_plan(problem.given(count_in(rows)))
    stayed, classes = settle_all(plan, rows)
    block, _ = Dense(problem.attributes, problem.spec.privacy.k).block(stayed)
    return stayed, np.unique(classes, return_inverse=True)[1], block


def without(problem: Problem, stayed: Rows) -> Problem:
    """The problem of these rows of one sensitive attribute, whose cells are its values."""
    counts = np.bincount(stayed.cell, minlength=len(problem.profile.cells)).tolist()
    (domain,) = problem.profile.sensitive
    cells = {cell[0]: n for cell, n in zip(problem.profile.cells, counts, strict=True)}
    domain = replace(domain, counts=tuple(cells.get(code, 0) for code in range(len(domain.values))))
    profile = replace(
        problem.profile,
        rows=len(stayed),
        cell_counts=tuple(counts),
        sensitive=(domain,),
    )
    return replace(problem, profile=profile, sample=stayed.take(stayed.sorted_by_hash()))


def losses(block: Block, classes: IntArray) -> FloatArray:
    """The loss of each row, shape (n,)."""
    order, starts = by_class(classes)
    lost = np.zeros(len(classes))
    for first, end in pairwise(starts.tolist()):
        rows = order[first:end]
        lost[rows] = rows_lost(block.take(rows), np.zeros(len(rows), dtype=np.int64)) / len(rows)
    return lost


def rarity(rows: Rows) -> FloatArray:
    """How rare a row's quasi-identifiers are: the sum of the logarithms, shape (n,)."""
    rare = np.zeros(len(rows))
    for codes in rows.quasi:
        _, place, times = np.unique(codes, return_inverse=True, return_counts=True)
        rare -= np.log(times[place])
    return rare


def main() -> None:
    for t in ("0.1", "0.2", "0.3"):
        problem, rows = problem_of(*cases()[f"adult occupation {t}"])
        tree = problem.spec.model_dump(exclude={"method"})
        asked = ReleaseSpec.model_validate({**tree, "method": METHODS["closeness_tree, fast"]})
        problem = replace(problem, spec=asked)
        stayed, classes, block = classes_of(problem, rows)
        lost = losses(block, classes)
        print(
            f"t = {t}: NCP {lost.mean():.4f}; rows that lose more than .8: "
            f"{np.mean(lost > 0.8):.4f}",
            flush=True,
        )
        ranks = {
            "by lot": np.random.default_rng(1).random(len(rows)),
            "widest": lost,
            "rarest": rarity(stayed),
        }
        for share in (0.02, 0.09):
            for what, rank in ranks.items():
                left = np.zeros(len(rows), dtype=bool)
                for cell in np.unique(stayed.cell):
                    here = np.flatnonzero(stayed.cell == cell)
                    left[here[np.argsort(-rank[here], kind="stable")[: int(share * len(here))]]] = (
                        True
                    )
                kept = stayed.take(np.flatnonzero(~left))
                _, classes, block = classes_of(without(problem, kept), kept)
                total = rows_lost(block, classes)
                every = (total + left.sum()) / len(rows)
                print(
                    f"  {share:.0%} {what}: {total / len(kept):.4f} of those released, {every:.4f} "
                    "of all",
                    flush=True,
                )


if __name__ == "__main__":
    main()
