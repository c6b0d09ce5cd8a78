"""What many sensitive values cost: python benchmarks/wide.py --rows 20000 --efforts fast,balanced

Releases synthetic hospital stays on the local engine, with sensitive columns of few and of many
values, and prints the CPU seconds of the stage `anonymize` (the least of several runs) and the
information loss.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
from typing import Any

import numpy as np
import pyarrow as pa

import tclose_spark as tc

T = {
    "13 values, equal": "0.2",
    "717 codes, equal": "0.5",
    "717 codes, hierarchical": "0.3",
    "1,000 numbers": "0.1",
}


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def with_columns(stays: pa.Table) -> pa.Table:
    """The stays, with a column of 13 values and one of 1,000 numbers that follow the age of the
    patient.
    """
    random = np.random.default_rng(1)
    age = stays["age"].to_numpy()
    few = np.minimum(random.geometric(0.15 + 0.002 * age), 13)
    cost = np.minimum((random.lognormal(4.5 + 0.01 * age, 0.6)).astype(int), 999)
    return stays.append_column("few", pa.array(few.astype(str))).append_column(
        "cost",
        pa.array(cost),
    )


def anonymize(stays: pa.Table, trees: str, name: str, effort: str) -> tuple[float, float]:
    """(CPU seconds of the stage, information loss)."""
    sensitive: dict[str, dict[str, Any]] = {
        "13 values, equal": {"few": {"distance": "equal"}},
        "717 codes, equal": {"diagnosis": {"distance": "equal"}},
        "717 codes, hierarchical": {
            "diagnosis": {"distance": "hierarchical", "hierarchy": f"{trees}/diagnosis.csv"},
        },
        "1,000 numbers": {"cost": {"distance": "ordered"}},
    }
    (column, settings), ends = next(iter(sensitive[name].items())), []
    attributes = {
        "quasi_identifiers": {
            "age": {"type": "numeric"},
            "sex": {},
            "region": {"hierarchy": f"{trees}/region.csv"},
            "admitted": {"hierarchy": {"dates": ["month", "quarter", "year"]}},
        },
        "sensitive_attributes": {column: {"t": T[name], **settings}},
        "direct_identifiers": ["patient_nbr"],
        "drop_others": True,
    }
    spec = {
        "attributes": attributes,
        "privacy": {"k": 5},
        "method": {"name": "closeness_tree", "effort": effort},
    }

    def note(line: str) -> None:
        if line.split()[0] in ("plan", "anonymize") and line.endswith(" s"):
            ends.append(cpu())

    made = tc.release(stays, spec, output=f"{tempfile.mkdtemp()}/out", log=note, engine="local")
    return ends[1] - ends[0], made.certificate["utility"]["ncp"]


def main() -> None:
    os.environ.setdefault("TCLOSE_SECRET", "the same classes in every run")
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--efforts", default="fast,balanced")
    parser.add_argument("--columns", default=";".join(T), help="separated by ;")
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    trees = tempfile.mkdtemp()
    stays = with_columns(tc.generate(args.rows, trees, encounters=True))
    print("| effort | sensitive column | CPU s | NCP |\n|---|---|---|---|")
    for effort in args.efforts.split(","):
        for name in args.columns.split(";"):
            anonymize(stays.slice(0, 2_000), trees, name, effort)  # loads or compiles the kernels
            runs = [anonymize(stays, trees, name, effort) for _ in range(args.repeat)]
            print(f"| {effort} | {name} | {min(runs)[0]:.2f} | {runs[0][1]:.6f} |", flush=True)


if __name__ == "__main__":
    main()
