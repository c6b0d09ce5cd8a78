"""What the kernels of the closeness tree cost by the size of a block: CPU microseconds a row, and
the loss.

    PYTHONPATH=.:tests:benchmarks python benchmarks/kernels.py [ROWS ...] [--repeat N]

Blocks are drawn from census_income (`in_memory.py`). `tree` grows the classes. The other columns
are the exchange of `effort: fast`: its sorted orders, moves, swaps, splits with merges, and the
rest. The least time of N repetitions counts, after one that compiles.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from in_memory import cases, problem_of

from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.figures import rows_lost
from tclose_spark.methods.closeness_tree.carve.tree import grow
from tclose_spark.methods.closeness_tree.classes import SEED
from tclose_spark.methods.closeness_tree.effort import FAST_BLOCK
from tclose_spark.methods.closeness_tree.exchange import rounds

PARTS = {"orders": ("make_orders",), "moves": ("sweep_moves",), "swaps": ("sweep_swaps",)}
PARTS["splits"] = ("split_all", "merge_all")


def timed(call: Callable[..., Any], *given: Any) -> tuple[Any, float]:
    """(what the call returns, its CPU seconds)."""
    start = time.process_time()
    return call(*given), time.process_time() - start


def costs(block: Block) -> tuple[dict[str, float], float]:
    """(CPU seconds by column; the loss after the exchange)."""
    tree, seconds = timed(grow, block)
    found = {"tree": seconds, **dict.fromkeys(PARTS, 0.0)}
    kernels = {name: getattr(rounds, name) for names in PARTS.values() for name in names}

    def watched(part: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            result, took = timed(kernel, *given)
            found[part] += took
            return result

        return call

    for part, names in PARTS.items():
        for name in names:
            setattr(rounds, name, watched(part, kernels[name]))
    try:
        classes, seconds = timed(rounds.exchange, block, tree.leaf, FAST_BLOCK.sweeps, 0, SEED)
    finally:
        for name, kernel in kernels.items():
            setattr(rounds, name, kernel)
    found["rest"] = seconds - sum(found[part] for part in PARTS)
    return found, rows_lost(block, classes) / len(classes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "sizes",
        nargs="*",
        type=int,
        default=[10_000, 20_000, 40_000, 80_000, 160_000],
        metavar="ROWS",
    )
    parser.add_argument("--repeat", type=int, default=3, metavar="N")
    given = parser.parse_args()
    problem, rows = problem_of(*cases()["census_income 0.1"])
    shuffled = np.random.default_rng(0).permutation(len(rows))
    columns = ["tree", *PARTS, "rest"]
    print("| rows | " + " | ".join(columns) + " | all | NCP |")
    for size in given.sizes:
        block, _ = Dense(problem.attributes, problem.spec.privacy.k).block(
            rows.take(shuffled[:size]),
        )
        tries = [costs(block) for _ in range(given.repeat + 1)][1:]
        least = {part: min(found[part] for found, _ in tries) / size * 1e6 for part in columns}
        figures = [f"{least[part]:.2f}" for part in columns] + [
            f"{sum(least.values()):.2f}",
            f"{tries[0][1]:.3f}",
        ]
        print(f"| {size:,} | " + " | ".join(figures) + " |", flush=True)


if __name__ == "__main__":
    main()
