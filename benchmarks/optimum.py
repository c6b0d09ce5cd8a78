"""How far from the optimum methods are: on drawn tables of at most 14 rows, and against the lower
bound on Adult.

    PYTHONPATH=.:tests python benchmarks/optimum.py [--tables N] [--thorough] [--adult]

Prints Markdown. A drawn table has 8 to 14 people with an age, a sex and a city (a tree of countries
and regions), k of 2 or 3, and t of .2, .3 or .4 for a disease that depends on age and city. Ratios
are of NCP; tables whose optimum is 0 are drawn anew. A method that reaches no release of a table
loses 1 there, and is counted. With --adult, TCLOSE_DATA is the folder of the real tables.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from strategies import Problem, Record, make_problem, town

from tclose_spark.comparing.request import Combination, table_name
from tclose_spark.comparing.trial import run_trial
from tclose_spark.in_memory.sample import ComparedTable
from tclose_spark.methods.exact.relaxation import lower_bound
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.rows import Rows
from tclose_spark.usefulness.utility_measures import UtilityMeasures

DATA = Path(os.environ.get("TCLOSE_DATA") or Path(__file__).parents[2] / "shared" / "data")
THOROUGH: dict[str, Any] = {"name": "closeness_tree", "effort": "thorough"}
METHODS: list[dict[str, Any]] = [
    {"name": "closeness_tree"},
    {"name": "closeness_tree", "effort": "fast"},
    {"name": "closeness_tree", "overlap": "none"},
    {"name": "microaggregation", "algorithm": 2},
    {"name": "microaggregation", "algorithm": 1},
    {"name": "microaggregation"},
    {"name": "sabre"},
    {"name": "t_mondrian"},
    {"name": "t_incognito"},
    {"name": "fragmentation", "sizing": "measured"},
    {"name": "fragmentation"},
    {"name": "stack_and_deal"},
]
COLUMNS = ("sex", "race", "marital-status", "workclass")


def loss_of(problem: Problem, rows: Rows, method: Mapping[str, Any]) -> float | None:
    """The NCP of a method's release; None without one."""
    spec = type(problem.spec).model_validate(
        {**problem.spec.model_dump(exclude={"method"}), "method": dict(method)},
    )
    one = Combination(method=table_name(method), k=spec.privacy.k, t="as asked", spec=spec)
    table = ComparedTable(profile=problem.profile, rows=rows, whole=len(rows))
    outcome = run_trial(one, table, problem.hierarchies, UtilityMeasures(), plan_only=False)
    if outcome.state not in ("released", "unreachable"):
        raise ValueError(f"{outcome.method}: {outcome.state}: {outcome.why}")
    return outcome.loss


def drawn_tables(tables: int, methods: Sequence[Mapping[str, Any]]) -> None:
    """The table of all methods."""
    draw, ratios, lost = (
        np.random.default_rng(1),
        {table_name(m): list[float]() for m in methods},
        dict[str, int](),
    )
    seed = made = 0
    while made < tables:
        seed += 1
        k, t, n = (
            int(draw.integers(2, 4)),
            draw.choice(["0.2", "0.3", "0.4"]),
            int(draw.integers(8, 15)),
        )
        problem, rows = make_problem(town(n, seed), {"disease": {"t": str(t)}}, k=k)
        least = loss_of(problem, rows, {"name": "exact"})
        if not least:
            continue
        made += 1
        for method in methods:
            name, loss = table_name(method), loss_of(problem, rows, method)
            if loss is None:
                lost[name] = lost.get(name, 0) + 1
            ratios[name].append((1.0 if loss is None else loss) / least)
    print(
        f"{tables} tables\n"
        "\n"
        "| method | mean ratio | worst | optimal in | no release |\n"
        "|---|---|---|---|---|",
    )
    for name, of in sorted(ratios.items(), key=lambda pair: float(np.mean(pair[1]))):
        optimal = sum(ratio < 1 + 1e-6 for ratio in of)
        print(
            f"| `{name}` | {np.mean(of):.3f} | {max(of):.2f} | {optimal} | {lost.get(name, 0)} |",
            flush=True,
        )


def adult(columns: Sequence[str], t: str, records: Sequence[Record]) -> None:
    """A line of the table of Adult."""
    trees = {
        name: Hierarchy.parse(
            (DATA / f"adult/hierarchies/adult_hierarchy_{name}.csv").read_text(),
            name,
        )
        for name in columns
    }
    quasi = {name: {"hierarchy": f"{name}.csv"} for name in columns}
    problem, rows = make_problem(
        records,
        {"occupation": {"t": t}},
        quasi=quasi,
        hierarchies=trees,
        k=5,
    )
    begun = time.monotonic()
    bound = lower_bound(problem.attributes, 5, rows, 600.0)
    seconds = time.monotonic() - begun
    methods = [{"name": "closeness_tree"}, {"name": "t_mondrian"}, {"name": "t_incognito"}]
    losses = [loss_of(problem, rows, method) for method in methods]
    shown = " | ".join("-" if loss is None else f"{loss:.4f}" for loss in losses)
    print(f"| {', '.join(columns)} | {t} | {bound:.4f} | {shown} | {seconds:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument(
        "--thorough",
        action="store_true",
        help="with effort: thorough, 5 CPU seconds a table",
    )
    parser.add_argument("--adult", action="store_true")
    asked = parser.parse_args()
    if not asked.adult:
        drawn_tables(asked.tables, [THOROUGH, *METHODS] if asked.thorough else METHODS)
        return
    with (DATA / "adult/adult.csv").open() as file:
        records = list(csv.DictReader(file, delimiter=";"))
    print(
        "| quasi-identifiers | t | no release below | closeness_tree | t_mondrian | t_incognito | "
        "seconds |",
    )
    print("|---|---|---|---|---|---|---|")
    for many in (2, 3, 4):
        for t in ("0.1", "0.2"):
            adult(COLUMNS[:many], t, records)


if __name__ == "__main__":
    main()
