"""Another tool beside the methods here: anjana (PyPI), on the same rows, hierarchies, k and t.

    python benchmarks/others.py [CONF] [--k 5,10] [--t 0.1,0.2] [--sample ROWS] [--rows FILE]
        [--timeout SECONDS]

--rows keeps the rows that were drawn in a file (they are raw), or takes those that it has, and
Spark is not needed.

It is installed into an environment of its own, build/others, and runs in a process of its own. Its
release is measured as ours are: NCP, query error, and whether k and t hold, exactly. Where it gives
no release, or none in time, that is said. It takes hierarchies only, so a numeric quasi-identifier
needs one (by default conf/adult.yaml is taken, age with its hierarchy, for all), and one sensitive
attribute of equal distance. Rows may be left out only as far as the run file allows.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tclose_spark.cli.options import parse_list, parse_numbers
from tclose_spark.comparing.request import (
    Combination,
    combinations,
    requested_ks,
    requested_methods,
    requested_ts,
)
from tclose_spark.comparing.trial import draw_rows, run_trial
from tclose_spark.in_memory.release import PublishedClasses, Released, measure
from tclose_spark.in_memory.sample import ComparedTable
from tclose_spark.io.run import Run
from tclose_spark.io.spark.session import get_session
from tclose_spark.io.storage.folders import LocalFolder
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.runfile.loading import read_tree, spec_of
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.rows import Codec
from tclose_spark.usefulness.queries import QueryError
from tclose_spark.usefulness.utility_measures import UtilityMeasures

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = ROOT / "build/others"
AGE = (
    "attributes.quasi_identifiers.age={type: categorical, hierarchy: "
    '"${TCLOSE_DATA:-../../shared/data}/adult/hierarchies/adult_hierarchy_age.csv"}'
)


def environment() -> Path:
    """The Python of the environment that anjana is in, made if need be."""
    python = ENVIRONMENT / "bin/python"
    if not (ENVIRONMENT / ".ready").exists():
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "anjana==1.2.3"], check=True)
        (ENVIRONMENT / ".ready").touch()
    return python


def accepted(asked: Sequence[Combination], same: Combination) -> Combination | None:
    """The first of the same k and t that is not refused, whatever its method: anjana is given its
    k, t and columns.
    """
    fitting = (one for one in asked if (one.k, one.t) == (same.k, same.t) and one.spec is not None)
    return next(fitting, None)


def given_to_anjana(asked: Combination, table: ComparedTable, hierarchies: Any) -> dict[str, Any]:
    """Rows, hierarchies, k, t and what may be left out, as JSON."""
    spec, codec = asked.spec, Codec.of(table.profile)
    (sensitive,) = spec.attributes.sensitive_attributes
    names = [domain.name for domain in table.profile.quasi]
    columns = dict(zip(names, codec.decode(table.rows), strict=True))
    columns[sensitive] = codec.sensitive_texts(table.rows)[0]
    levels = {name: list(zip(*hierarchies[name].paths, strict=True)) for name in names}
    return {
        "columns": {
            name: column.dictionary_decode().to_pylist() for name, column in columns.items()
        },
        "quasi": names,
        "sensitive": sensitive,
        "hierarchies": levels,
        "k": asked.k,
        "t": float(spec.attributes.sensitive_attributes[sensitive].t),
        "suppressed": 100 * float(spec.privacy.suppression_limit),
    }


def of_anjana(
    asked: Combination,
    table: ComparedTable,
    hierarchies: Any,
    error: QueryError,
    timeout: float,
) -> dict:
    """What its release loses, or why there is none."""
    named = {"method": "anjana", "k": asked.k, "t": asked.t}
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "given.json"), Path(folder, "made.json")
        given.write_text(json.dumps(given_to_anjana(asked, table, hierarchies)))
        command = [environment(), Path(__file__).with_name("others_anjana.py"), given, made]
        try:
            done = subprocess.run(
                command,
                timeout=timeout,
                capture_output=True,
                text=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {**named, "state": f"no release in {timeout:g} s"}
        if done.returncode:
            return {
                **named,
                "state": f"ends with an error: {done.stderr.strip().splitlines()[-1][:200]}",
            }
        release = json.loads(made.read_text())
    if not release["rows"]:
        return {**named, "state": "no release", "seconds": release["seconds"]}
    here = np.array(release["rows"], dtype=np.int64)
    left = np.setdiff1d(np.arange(len(table.rows)), here)
    labels = [pa.array(column, pa.string()) for column in release["labels"]]
    released = Released(rows=table.rows.take(here), labels=labels, suppressed=table.rows.take(left))
    attributes = ResolvedAttributes.of(asked.spec.attributes, table.profile, hierarchies)
    classes = PublishedClasses.of(released, asked.spec)
    figures = measure(released, classes, attributes, asked.spec, hierarchies)
    worth = error(released, classes, attributes)
    state = (
        "released"
        if figures.holds
        else f"does not hold: smallest {figures.smallest}, EMD {figures.emd}"
    )
    if figures.coarse:
        state = f"labels of {', '.join(figures.coarse)} are coarser than coarsest"
    return {
        **named,
        "state": state,
        "ncp": figures.ncp,
        "query_error": worth["query_error"],
        "classes": figures.classes,
        "suppressed": figures.suppressed,
        "seconds": release["seconds"],
    }


def of_ours(asked: Combination, table: ComparedTable, hierarchies: Any, error: QueryError) -> dict:
    outcome = run_trial(asked, table, hierarchies, UtilityMeasures([error]), plan_only=False)
    kept = ("ncp", "query_error", "classes", "suppressed")
    figures = {name: outcome.figures[name] for name in kept if name in outcome.figures}
    named = {"method": asked.method, "k": asked.k, "t": asked.t, "state": outcome.state}
    return {**named, **figures, "seconds": outcome.seconds}


def show(one: dict) -> None:
    figures = "".join(
        f"{one[name]:>{width}{form}}" if name in one else " " * (width - 1) + "-"
        for name, width, form in (
            ("ncp", 9, ".4f"),
            ("query_error", 9, ".3f"),
            ("classes", 9, ","),
            ("seconds", 9, ".1f"),
        )
    )
    print(f"{one['k']:>4} {one['t']:>6}  {one['method']:<28}{figures}  {one['state']}", flush=True)


def rows_of(spec: ReleaseSpec, sample: int, kept: Path | None) -> tuple[ComparedTable, Any]:
    """The rows, from the file or the input, and the hierarchies."""
    if kept and kept.exists():
        table = ComparedTable.from_json(kept.read_text())
        return table, {**Run(spec, None, print).hierarchies, **table.built}
    spark = get_session("others")
    run = Run(spec, spark, lambda line: None)
    with tempfile.TemporaryDirectory() as folder:
        run.internal.create(private=True)
        table = draw_rows(run, LocalFolder(folder), sample)
        hierarchies = {**run.hierarchies, **table.built}
    spark.stop()
    if kept:
        kept.write_text(table.to_json())
    return table, hierarchies


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("config", nargs="?", type=Path)
    parser.add_argument("--k", default="5,10")
    parser.add_argument("--t", default="0.1,0.2,0.3,0.5")
    parser.add_argument("--methods", default="all")
    parser.add_argument("--sample", type=int, default=50_000)
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--timeout", type=float, default=300.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    environment()
    with tempfile.TemporaryDirectory() as folder:
        sets = [] if options.config else [AGE]
        tree = read_tree(
            options.config or ROOT / "conf/adult.yaml",
            [*sets, f"output.path={folder}/out"],
        )
        spec = spec_of(tree)
        table, hierarchies = rows_of(spec, options.sample, options.rows)
    error = QueryError.of(table, ResolvedAttributes.of(spec.attributes, table.profile, hierarchies))
    print(
        f"{len(table.rows):,} rows\n"
        "   k      t  method                            NCP    query  classes  seconds",
    )
    results = []
    ks = requested_ks(parse_numbers(options.k, "--k"), spec)
    methods = requested_methods(parse_list(options.methods, "--methods") or [], None)
    asked = combinations(tree, ks, requested_ts(parse_list(options.t, "--t"), tree), methods)
    for place, combination in enumerate(asked):
        results.append(of_ours(combination, table, hierarchies, error))
        show(results[-1])
        last = place + 1 == len(asked) or (asked[place + 1].k, asked[place + 1].t) != (
            combination.k,
            combination.t,
        )
        judged_by = accepted(asked, combination) if last else None
        if judged_by is not None:
            results.append(of_anjana(judged_by, table, hierarchies, error, options.timeout))
            show(results[-1])
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
