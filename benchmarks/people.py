"""What counting people costs: python benchmarks/people.py

Releases synthetic hospital stays on the local engine, with rows counted and with people counted.
Prints the information loss as the tables of docs/people.md. Where rows are counted, it also counts
the classes with fewer than k people.
"""

from __future__ import annotations

import tempfile
from typing import Any

import pyarrow as pa

import tclose_spark as tc

K = 5
TREE = {"name": "closeness_tree", "effort": "fast"}
METHODS: dict[str, dict[str, Any]] = {
    "closeness tree": TREE,
    "closeness tree, `overlap: none`": {**TREE, "overlap": "none"},
    "t-Mondrian": {"name": "t_mondrian"},
    "t-Incognito": {"name": "t_incognito"},
}


def release(
    table: pa.Table,
    quasi: dict[str, Any],
    sensitive: dict[str, Any],
    method: dict[str, Any],
    rows: str | None,
) -> tc.Release:
    """rows: together or apart; None to count rows."""
    person = (
        {"direct_identifiers": ["patient_nbr"]}
        if rows is None
        else {"person": {"column": "patient_nbr", "rows": rows}}
    )
    attributes = {
        "quasi_identifiers": quasi,
        "sensitive_attributes": sensitive,
        "insensitive_attributes": ["encounter_id"],
    }
    spec = {
        "attributes": {
            **attributes,
            **person,
            "allow_unique": ["encounter_id"],
            "drop_others": True,
        },
        "privacy": {"k": K},
        "method": method,
    }
    return tc.release(table, spec, output=f"{tempfile.mkdtemp()}/out", log=None, engine="local")


def few(made: tc.Release, table: pa.Table, quasi: dict[str, Any]) -> str:
    """How many classes have fewer than K people."""
    whose = dict(
        zip(table["encounter_id"].to_pylist(), table["patient_nbr"].to_pylist(), strict=True),
    )
    frame = made.to_pandas().assign(whose=lambda rows: rows["encounter_id"].map(whose))
    people = frame.groupby(list(quasi), dropna=False)["whose"].nunique()
    return f"{int((people < K).sum())} of {len(people)}"


def loss(made: tc.Release) -> str:
    return f"{made.certificate['utility']['ncp']:.3f}"


def main() -> None:
    trees = tempfile.mkdtemp()
    stays = tc.generate(101_766, trees, encounters=True)
    region, diagnosis = (
        {"hierarchy": f"{trees}/region.csv"},
        {"hierarchy": f"{trees}/diagnosis.csv"},
    )
    varying = {
        "age": {"type": "numeric"},
        "sex": {},
        "region": region,
        "admitted": {"hierarchy": {"dates": ["month", "quarter", "year"]}},
    }
    print("| t of the diagnosis | rows counted | `apart` | `together` |\n|---|---|---|---|")
    for t in ("0.2", "0.3", "0.5"):
        sensitive = {"diagnosis": {"distance": "hierarchical", "t": t, **diagnosis}}
        losses = [
            loss(release(stays, varying, sensitive, TREE, rows))
            for rows in (None, "apart", "together")
        ]
        print(f"| {t} | {' | '.join(losses)} |", flush=True)

    few_stays = stays.slice(0, 3_000)
    first = few_stays.group_by("patient_nbr").aggregate([("age", "min")])
    ages = dict(zip(first["patient_nbr"].to_pylist(), first["age_min"].to_pylist(), strict=True))
    born = few_stays.append_column(
        "first_age",
        pa.array([ages[one] for one in few_stays["patient_nbr"].to_pylist()]),
    )
    constant, ward = (
        {"first_age": {"type": "numeric"}, "sex": {}, "region": region},
        {"ward": {"t": "0.4"}},
    )
    print(f"\n{len(ages):,} patients with 3,000 stays")
    print(
        "| method | rows counted | classes with fewer than five people | people, `together` |\n"
        "|---|---|---|---|",
    )
    for name, method in METHODS.items():
        by_rows = release(born, constant, ward, method, None)
        together = release(born, constant, ward, method, "together")
        print(
            f"| {name} | {loss(by_rows)} | {few(by_rows, born, constant)} | {loss(together)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
