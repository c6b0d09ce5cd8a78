"""Methods planned and carried out in memory on real tables, without Spark: loss, classes, largest
distance, seconds.

    PYTHONPATH=.:tests python benchmarks/in_memory.py [CASE ...] [--only METHOD ...] [--nt N]

TCLOSE_DATA is the folder of the real tables. Loss is the information loss (NCP) over the input's
range; distances are exact, from the whole table; --nt asks (n, t)-closeness in place of
t-closeness. Each method runs twice, so that no kernel is compiled while it is timed, and the second
time counts.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as csv
import pyarrow.parquet as pq
from strategies import Problem, count_in, make_problem, settle_all

from tclose_spark.errors import UnreachableError
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.figures import rows_lost
from tclose_spark.methods.method import method_of
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.rows import Rows

DATA = Path(os.environ.get("TCLOSE_DATA") or Path(__file__).parents[2] / "shared" / "data")
ADULT = ("workclass", "education", "native-country", "marital-status", "race", "sex")
CENSUS = ("sex", "race", "education", "marital_stat", "class_of_worker", "country_of_birth_self")
NUMBER: Mapping[str, Any] = {"type": "numeric"}
METHODS: dict[str, dict[str, Any]] = {
    "t_mondrian": {"name": "t_mondrian"},
    "overlap none, fast": {"name": "closeness_tree", "overlap": "none", "effort": "fast"},
    "overlap none, balanced": {"name": "closeness_tree", "overlap": "none"},
    "overlap none, thorough": {"name": "closeness_tree", "overlap": "none", "effort": "thorough"},
    "closeness_tree, fast": {"name": "closeness_tree", "effort": "fast"},
}


def cases() -> dict[str, tuple[str, dict[str, dict[str, Any]], int]]:
    """By name: the table, its sensitive attributes, k."""
    named: dict[str, tuple[str, dict[str, dict[str, Any]], int]] = {}
    for t in ("0.05", "0.1", "0.2", "0.3"):
        named[f"adult occupation {t}"] = ("adult", {"occupation": {"t": t}}, 5)
        named[f"adult age {t}"] = ("adult", {"age": {"distance": "ordered", "t": t}}, 5)
        named[f"heart chol {t}"] = ("heart", {"chol": {"distance": "ordered", "t": t}}, 5)
    named["census_income 0.1"] = ("census_income", {"detailed_occupation_recode": {"t": "0.1"}}, 10)
    return dict(sorted(named.items()))


@cache
def table(name: str) -> list[dict[str, Any]]:
    """The records of a real table."""
    if name == "adult":
        options = csv.ParseOptions(delimiter=";")
        return csv.read_csv(DATA / "adult/adult.csv", parse_options=options).to_pylist()
    if name == "heart":
        return csv.read_csv(DATA / "heart/heart_1025.csv").to_pylist()
    return pq.read_table(DATA / "kdd_census_income/census_income.parquet").to_pylist()


def problem_of(
    name: str,
    sensitive: Mapping[str, Mapping[str, Any]],
    k: int,
) -> tuple[Problem, Rows]:
    """A table with the quasi-identifiers of its run file in conf/, without `round_to` and sets."""
    trees: dict[str, Hierarchy] = {}
    if name == "adult":
        files = {
            column: DATA / f"adult/hierarchies/adult_hierarchy_{column}.csv" for column in ADULT
        }
        trees = {
            column: Hierarchy.parse(file.read_text(), column) for column, file in files.items()
        }
        quasi = {
            "age": NUMBER,
            **{column: {"hierarchy": str(file)} for column, file in files.items()},
        }
    elif name == "heart":
        quasi = {"age": NUMBER, "sex": {}, "cp": {}, "thalach": NUMBER}
    else:
        quasi = {"age": NUMBER, **{column: {} for column in CENSUS}}
    quasi = {column: asked for column, asked in quasi.items() if column not in sensitive}
    text = {column for column, asked in quasi.items() if asked is not NUMBER}
    records = [
        {c: str(r[c]) if c in text and r[c] is not None else r[c] for c in (*quasi, *sensitive)}
        for r in table(name)
    ]
    return make_problem(records, sensitive, quasi, trees, k=k)


def carried_out(
    problem: Problem,
    rows: Rows,
    method: Mapping[str, Any],
    nt: int | None = None,
) -> str:
    """One line: what the method makes of the table."""
    tree = problem.spec.model_dump(exclude={"method"})
    tree["privacy"] = {"k": problem.spec.privacy.k, **({} if nt is None else {"nt": {"n": nt}})}
    problem = replace(problem, spec=ReleaseSpec.model_validate({**tree, "method": method}))
    start = time.process_time()
    try:
        plan = method_of(problem.spec.method).make_plan(problem.given(count_in(rows)))
        stayed, classes = settle_all(plan, rows)
    except UnreachableError as error:
        return f"exit 3: {error}"
    seconds = time.process_time() - start
    classes = np.unique(classes, return_inverse=True)[1]
    block, _ = Dense(problem.attributes, problem.spec.privacy.k).block(stayed)
    worst = []
    for a in problem.attributes.sensitive:
        counts = np.zeros((classes.max() + 1, len(a.domain.values)), dtype=np.int64)
        np.add.at(counts, (classes, problem.attributes.cells[stayed.cell, a.column]), 1)
        numerators = a.distance.numerators(Histograms.dense(counts))
        worst.append(
            float((numerators / (a.distance.scale * len(rows) * counts.sum(axis=1))).max()),
        )
    return (
        f"NCP {rows_lost(block, classes) / len(rows):.4f}  classes {classes.max() + 1:>6,}  "
        f"smallest {np.bincount(classes).min():>5,}  EMD "
        f"{', '.join(f'{emd:.4f}' for emd in worst)}  CPU {seconds:.2f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(cases()), metavar="CASE")
    parser.add_argument(
        "--only",
        nargs="*",
        default=list(METHODS),
        choices=list(METHODS),
        metavar="METHOD",
    )
    parser.add_argument("--nt", type=int, metavar="N")
    asked = parser.parse_args()
    for case in asked.cases:
        problem, rows = problem_of(*cases()[case])
        for method in asked.only:
            carried_out(problem, rows, METHODS[method], asked.nt)
            print(
                f"{case:<22} {method:<24} {carried_out(problem, rows, METHODS[method], asked.nt)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
