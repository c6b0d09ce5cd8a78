"""All methods on real tables with several sensitive attributes: smallest class, information loss,
seconds.

    python benchmarks/methods.py [CASE ...] [--only METHOD ...]

TCLOSE_DATA is the folder of the real tables. Every release is verified as always; where
TCLOSE_JUDGE names a program that judges the release of a run file, it must agree. Seconds are this
machine's, of the stages plan and anonymize. The secret is fixed unless TCLOSE_SECRET is set: with
another one, another sample decides how near rows are ordered, and a loss differs by up to .08.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from tclose_spark import pipeline
from tclose_spark.errors import TcloseError
from tclose_spark.io.run import Run
from tclose_spark.io.spark.session import get_session
from tclose_spark.runfile.loading import load_spec

os.environ.setdefault("TCLOSE_SECRET", "benchmark")
DATA = Path(os.environ.get("TCLOSE_DATA") or Path(__file__).parents[2] / "shared" / "data")
JUDGE = os.environ.get("TCLOSE_JUDGE")

METHODS = {
    "closeness_tree": {"name": "closeness_tree"},
    "stack_and_deal": {"name": "stack_and_deal"},
    "stack_and_deal, paper": {
        "name": "stack_and_deal",
        "stack_order": "frequency",
        "deal": "round_robin",
    },
    "stack_and_deal, layered": {"name": "stack_and_deal", "deal": "layered"},
    "fragmentation": {"name": "fragmentation"},
    "fragmentation, measured": {"name": "fragmentation", "sizing": "measured"},
    "fragmentation, paper": {"name": "fragmentation", "sizing": "gcd", "bounds": "paper"},
    "microaggregation, merged": {"name": "microaggregation", "algorithm": 1},
    "microaggregation, refined": {"name": "microaggregation", "algorithm": 2},
}


def tree(column: str) -> dict:
    return {"hierarchy": str(DATA / f"adult/hierarchies/adult_hierarchy_{column}.csv")}


def ordered(t: float) -> dict:
    return {"distance": "ordered", "t": t}


def equal(t: float) -> dict:
    return {"distance": "equal", "t": t}


ADULT = {
    column: tree(column)
    for column in ("workclass", "education", "native-country", "marital-status", "race", "sex")
}
CENSUS = {
    "age": {"type": "numeric"},
    **{c: {} for c in ("sex", "race", "education", "marital_stat", "class_of_worker")},
}
CENSUS_FILE = {"path": str(DATA / "kdd_census_income/census_income.parquet")}
CASES = {
    "heart": {
        "input": {
            "path": str(DATA / "heart/heart_1025.csv"),
            "format": "csv",
            "options": {"header": True, "inferSchema": True},
        },
        "quasi": {"age": {"type": "numeric"}, "sex": {}, "cp": {}, "thalach": {"type": "numeric"}},
        "sensitive": {"chol": ordered(0.1), "trestbps": ordered(0.1)},
        "k": 5,
    },
    "adult": {
        "input": {
            "path": str(DATA / "adult/adult.csv"),
            "format": "csv",
            "options": {"header": True, "sep": ";"},
        },
        "quasi": ADULT,
        "sensitive": {"age": ordered(0.15), "occupation": equal(0.15)},
        "k": 5,
    },
    "census, three": {
        "input": CENSUS_FILE,
        "quasi": CENSUS,
        "sensitive": {
            "detailed_occupation_recode": equal(0.2),
            "weeks_worked_in_year": ordered(0.2),
            "num_persons_worked_for_employer": ordered(0.2),
        },
        "k": 10,
    },
    "census, five": {
        "input": CENSUS_FILE,
        "quasi": CENSUS,
        "sensitive": {
            "detailed_occupation_recode": equal(0.3),
            "weeks_worked_in_year": ordered(0.2),
            "num_persons_worked_for_employer": ordered(0.2),
            "wage_per_hour": ordered(0.2),
            "capital_gains": ordered(0.2),
        },
        "k": 10,
    },
}


def run_file(case: str, method: str, folder: Path) -> Path:
    asked = CASES[case]
    run = {
        "name": case.replace(", ", "_"),
        "input": asked["input"],
        "output": {"path": str(folder / "release")},
        "attributes": {
            "quasi_identifiers": asked["quasi"],
            "sensitive_attributes": asked["sensitive"],
            "drop_others": True,
        },
        "privacy": {"k": asked["k"]},
        "method": METHODS[method],
    }
    file = folder / "run.yaml"
    file.write_text(yaml.safe_dump(run, sort_keys=False), encoding="utf-8")
    return file


def release(case: str, method: str, folder: Path) -> str:
    file = run_file(case, method, folder)
    lines: list[str] = []
    start = time.perf_counter()
    try:
        certificate = pipeline.release(Run(load_spec(file), get_session("benchmark"), lines.append))
    except TcloseError as error:
        return f"exit {error.exit_code}: {str(error)[:120]}"
    whole = time.perf_counter() - start
    stages = json.loads((folder / "release/internal/run.json").read_text(encoding="utf-8"))[
        "stages"
    ]
    seconds = " ".join(f"{name} {stages[name]['seconds']:.1f}" for name in ("plan", "anonymize"))
    judged = ""
    if JUDGE:
        verdict = subprocess.run(
            [sys.executable, JUDGE, str(file)],
            capture_output=True,
            text=True,
            check=False,
        )
        judged = f"  judge {verdict.returncode}"
    reached = ", ".join(f"{t['achieved']:.4f}" for t in certificate["guarantees"]["t"].values())
    k, loss = certificate["guarantees"]["k"]["achieved"], certificate["utility"]["ncp"]
    return f"k {k:>6,}  NCP {loss:.4f}  t {reached}  {seconds} whole {whole:.1f} s{judged}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=[], choices=[*CASES, []], metavar="CASE")
    parser.add_argument(
        "--only",
        nargs="*",
        default=list(METHODS),
        choices=list(METHODS),
        metavar="METHOD",
    )
    asked = parser.parse_args()
    for case in asked.cases or CASES:
        for method in asked.only:
            if method == "fragmentation, paper" and any(
                a["distance"] != "ordered" for a in CASES[case]["sensitive"].values()
            ):
                continue
            with tempfile.TemporaryDirectory() as folder:
                print(f"{case:<14} {method:<24} {release(case, method, Path(folder))}", flush=True)


if __name__ == "__main__":
    main()
