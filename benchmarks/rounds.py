"""What rounds of annealing gain in the closeness tree: CPU microseconds a row, and the loss.

    PYTHONPATH=.:tests:benchmarks python benchmarks/rounds.py [CASE ...] [--rows ROWS ...]
        [--rounds N ...]

Blocks are drawn from the cases of `in_memory.py` and from the synthetic census (`census`). Each line
is the exchange of one tree: without annealing (0 rounds), or with so many rounds of both kinds of
`Annealing`. CPU seconds are those of this thread, after a first exchange that compiles.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from in_memory import cases, problem_of
from strategies import Problem, make_problem

from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.figures import rows_lost
from tclose_spark.methods.closeness_tree.carve.tree import grow
from tclose_spark.methods.closeness_tree.classes import SEED
from tclose_spark.methods.closeness_tree.effort import EFFORTS
from tclose_spark.methods.closeness_tree.exchange.rounds import FULL, THIN, exchange
from tclose_spark.synthetic.census import generate_people
from tclose_spark.table.rows import Rows

KINDS = {"full": FULL, "thin": THIN}
NUMBERS = ("age", "hours")
LABELS = ("sex", "education", "marital_status", "region", "occupation")


def census(rows: int) -> tuple[Problem, Rows]:
    """The synthetic census with the columns of conf/demo.yaml, without hierarchies."""
    quasi = {**{name: {"type": "numeric"} for name in NUMBERS}, **{name: {} for name in LABELS}}
    records = []
    for batch in generate_people(rows):
        records += batch.select([*quasi, "disease"]).to_pylist()
    return make_problem(records, {"disease": {"t": "0.1"}}, quasi, {}, k=10)


def drawn(problem: Problem, rows: Rows, size: int) -> Block:
    """A block of `size` rows, or of all if there are fewer."""
    shuffled = np.random.default_rng(0).permutation(len(rows))
    block, _ = Dense(problem.attributes, problem.spec.privacy.k).block(rows.take(shuffled[:size]))
    return block


def print_curve(name: str, block: Block, rounds: list[int]) -> None:
    """A line for each number of rounds and each kind."""
    size = len(block.cell)
    leaf = grow(block).leaf
    sweeps = EFFORTS["balanced"].in_block(size).sweeps
    for number in rounds:
        for kind in KINDS if number else ["full"]:
            start = time.thread_time()
            classes = exchange(block, leaf, sweeps, number, SEED, KINDS[kind])
            took = (time.thread_time() - start) / size * 1e6
            lost = rows_lost(block, classes) / size
            print(
                f"| {name} | {size:,} | {number} | {kind} | {took:.1f} | {lost:.4f} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "cases",
        nargs="*",
        default=["census", "census_income 0.1", "adult occupation 0.1"],
        metavar="CASE",
    )
    parser.add_argument("--rows", nargs="*", type=int, default=[10_000, 160_000, 1_280_000])
    parser.add_argument("--rounds", nargs="*", type=int, default=[0, 20, 50, 100])
    given = parser.parse_args()
    print("| table | rows | rounds | kind | CPU us a row | NCP |")
    for case in given.cases:
        for size in given.rows:
            problem, rows = census(size) if case == "census" else problem_of(*cases()[case])
            first = drawn(problem, rows, 1_000)
            exchange(first, np.zeros(len(first.cell), np.int64), 4, 1, SEED)
            print_curve(case, drawn(problem, rows, size), given.rounds)
            if case != "census" and len(rows) <= size:
                break


if __name__ == "__main__":
    main()
