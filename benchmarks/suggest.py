"""How useful a suggested run file is: python benchmarks/suggest.py

Makes five tables from a seed, and reads three public ones. Each is released twice on the local
engine: with the file of `tclose suggest` without edits, and with a run file that was written by
hand. Prints a table of losses and classes. The hand-written files have the k, t and method of the
suggested ones.

Arguments: names of tables; by default all. TCLOSE_DATA is the folder of the public tables.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

import tclose_spark as tc

SEED = 2026
METHOD = {"name": "closeness_tree", "effort": "fast"}
DATA = Path(os.environ.get("TCLOSE_DATA", "../shared/data"))
T = "0.2"
ORDERED, EQUAL = {"distance": "ordered", "t": T}, {"distance": "equal", "t": T}
NUMBER, DATE, SET = {"type": "numeric"}, {"type": "date"}, {"generalization": "set"}
Draw = np.random.Generator
Attributes = Mapping[str, Any]


def people(draw: Draw, rows: int) -> dict[str, Any]:
    """Age and sex."""
    return {
        "age": np.clip(draw.normal(48, 19, rows), 18, 95).astype(int),
        "sex": draw.choice(["F", "M"], rows),
    }


def skewed(draw: Draw, values: list[str] | np.ndarray, rows: int, by: float = 0.7) -> np.ndarray:
    """Values of which the first are the most frequent."""
    shares = 1 / np.arange(1, len(values) + 1) ** by
    return draw.choice(values, rows, p=shares / shares.sum())


def days(draw: Draw, first: str, last: str, rows: int) -> pd.DatetimeIndex:
    span = (pd.Timestamp(last) - pd.Timestamp(first)).days
    return pd.Timestamp(first) + pd.to_timedelta(draw.integers(0, span + 1, rows), unit="D")


def stays(draw: Draw, rows: int = 20_000) -> pd.DataFrame:
    """Hospital stays, of which a patient has one or several. Diagnoses are ICD-9, read as numbers
    somewhere before.
    """
    patient = np.sort(draw.integers(0, int(rows * 0.8), rows))
    numbers = [f"{n}" for n in draw.choice(np.arange(1, 1000), 350, replace=False)]
    parts = [
        f"{n}.{draw.integers(0, 100):02d}"
        for n in draw.choice(np.arange(140, 1000), 200, replace=False)
    ]
    others = [f"V{n}" for n in range(22, 72, 5)] + [f"E{n}" for n in range(812, 990, 20)]
    codes = draw.permutation([*numbers, *parts, *others])
    admitted = days(draw, "2018-01-01", "2019-12-31", rows) + pd.to_timedelta(
        draw.integers(0, 1440, rows),
        unit="min",
    )
    stay = draw.geometric(0.22, rows).clip(1, 14)
    diagnosis = skewed(draw, codes, rows)
    diagnosis[draw.random(rows) < 0.002] = "?"
    return pd.DataFrame(
        {
            "encounter_id": draw.permutation(rows) + 2_000_000,
            "patient_nbr": patient + 80_000,
            **people(draw, rows),
            "race": skewed(
                draw,
                ["Caucasian", "AfricanAmerican", "Hispanic", "Other", "Asian"],
                rows,
                1.5,
            ),
            "admitted_at": admitted.strftime("%Y-%m-%d %H:%M:%S"),
            "length_of_stay": stay,
            "diag_1": diagnosis,
            "num_lab_procedures": draw.integers(1, 90, rows),
            "readmitted": draw.choice(["NO", "<30", ">30"], rows, p=[0.54, 0.11, 0.35]),
        },
    )


STAYS = {
    "person": {"column": "patient_nbr", "rows": "apart"},
    "direct_identifiers": ["encounter_id"],
    "quasi_identifiers": {
        "age": NUMBER,
        "sex": {},
        "race": SET,
        "admitted_at": {"type": "timestamp"},
        "length_of_stay": NUMBER,
    },
    "sensitive_attributes": {
        "diag_1": {
            "distance": "hierarchical",
            "t": T,
            "hierarchy": {"ranges": "icd9", "other": "no code"},
        },
    },
}


def survey(draw: Draw, rows: int = 30_000) -> pd.DataFrame:
    """Persons of a household survey, with weights. Codes have zeros in front."""
    table = people(draw, rows)
    schooling = np.clip(draw.normal(16, 4, rows), 1, 24).astype(int)
    earned = np.exp(draw.normal(9.4 + 0.06 * schooling, 0.8, rows)).round(-2).astype(int)
    income = np.where(draw.random(rows) < 0.25, 0, earned)
    return pd.DataFrame(
        {
            "serialno": draw.permutation(rows) + 10**6,
            "hid": np.sort(draw.integers(0, rows // 2, rows)),
            **table,
            "hhcivil": draw.integers(1, 6, rows),
            "relat": skewed(draw, np.arange(0, 16), rows, 1.2),
            "schl": schooling,
            "rac1p": skewed(draw, np.arange(1, 10), rows, 2.0),
            "puma": [f"{code:05d}" for code in skewed(draw, np.arange(100, 2700, 100), rows, 0.3)],
            "occp": [f"{code:04d}" for code in skewed(draw, np.arange(10, 9800, 40), rows, 0.5)],
            "income": [f"{amount:07d}" for amount in income],
            "pwgtp": np.exp(draw.normal(4.4, 0.6, rows)).astype(int) + 1,
        },
    )


SURVEY = {
    "direct_identifiers": ["serialno", "hid"],
    "weight": "pwgtp",
    "quasi_identifiers": {
        "age": NUMBER,
        "sex": {},
        "hhcivil": SET,
        "relat": SET,
        "schl": NUMBER,
        "rac1p": SET,
        "puma": {"hierarchy": {"prefix": 1}},
        "occp": {"hierarchy": {"prefix": 1}},
    },
    "sensitive_attributes": {"income": ORDERED},
}


def registry(draw: Draw, rows: int = 20_000) -> pd.DataFrame:
    """A register of tumours: dates, ICD-10, NUTS."""
    born = days(draw, "1925-01-01", "1999-12-31", rows)
    found = days(draw, "2015-01-01", "2022-12-31", rows)
    died = (
        (found + pd.to_timedelta(draw.integers(10, 3000, rows), unit="D"))
        .strftime("%Y-%m-%d")
        .to_numpy(object)
    )
    codes = [
        f"{a}{n:02d}{part}"
        for a, most in (("C", 97), ("D", 48))
        for n in range(most)
        for part in ("", ".1", ".9")
    ]
    return pd.DataFrame(
        {
            "case_id": [f"R{n:06d}" for n in draw.permutation(rows)],
            "sex": draw.choice(["f", "m"], rows),
            "date_of_birth": born.strftime("%Y-%m-%d"),
            "date_of_diagnosis": found.strftime("%Y-%m-%d"),
            "date_of_death": np.where(draw.random(rows) < 0.6, None, died),
            "nuts3": skewed(
                draw,
                [f"{a}{n}" for a in ("DE1", "DE2", "AT1", "AT2") for n in range(1, 10)],
                rows,
                0.4,
            ),
            "icd10": skewed(draw, draw.permutation(codes), rows),
            "stage": draw.choice(["I", "II", "III", "IV"], rows),
            "tumor_size_mm": draw.gamma(2, 14, rows).round(1),
        },
    )


REGISTRY = {
    "direct_identifiers": ["case_id"],
    "quasi_identifiers": {
        "sex": {},
        "date_of_birth": DATE,
        "date_of_diagnosis": DATE,
        "date_of_death": DATE,
        "nuts3": {"hierarchy": {"prefix": 1}},
    },
    "sensitive_attributes": {
        "icd10": {"distance": "hierarchical", "t": T, "hierarchy": {"prefix": [3, 1]}},
    },
}


def transactions(draw: Draw, rows: int = 30_000) -> pd.DataFrame:
    """Payments by card, several of each customer."""
    customers = rows // 6
    customer = draw.integers(0, customers, rows)
    born, zips = (
        draw.integers(1940, 2006, customers),
        skewed(draw, np.arange(10_000, 10_600, 7), customers, 0.4),
    )
    when = days(draw, "2023-01-01", "2023-12-31", rows) + pd.to_timedelta(
        draw.integers(0, 86_400, rows),
        unit="s",
    )
    return pd.DataFrame(
        {
            "transaction_id": [f"{n:016x}" for n in draw.integers(0, 2**62, rows)],
            "customer_id": customer + 500_000,
            "birth_year": born[customer],
            "gender": draw.choice(["f", "m", "d"], customers, p=[0.49, 0.5, 0.01])[customer],
            "zip": zips[customer],
            "timestamp": when.strftime("%Y-%m-%dT%H:%M:%S"),
            "mcc": skewed(draw, np.arange(1500, 9999, 85), rows),
            "amount": np.exp(draw.normal(3.2, 1.1, rows)).round(2),
            "currency": draw.choice(["EUR", "CHF"], rows, p=[0.9, 0.1]),
        },
    )


TRANSACTIONS = {
    "person": {"column": "customer_id", "rows": "apart"},
    "direct_identifiers": ["transaction_id"],
    "quasi_identifiers": {
        "birth_year": NUMBER,
        "gender": SET,
        "zip": {"hierarchy": {"prefix": 1}},
        "timestamp": {"type": "timestamp"},
    },
    "sensitive_attributes": {"amount": ORDERED},
    "insensitive_attributes": ["currency"],
}


def tax(draw: Draw, rows: int = 25_000) -> pd.DataFrame:
    """Tax returns."""
    wage = np.where(draw.random(rows) < 0.15, 0, np.exp(draw.normal(10.4, 0.7, rows))).round(2)
    nace = [f"{a:02d}.{b}{c}" for a in range(1, 97, 3) for b in range(1, 4) for c in range(1, 3)]
    return pd.DataFrame(
        {
            "tax_id": [f"{n:011d}" for n in draw.choice(10**10, rows, replace=False)],
            "birth_date": days(draw, "1935-01-01", "2004-12-31", rows).strftime("%Y-%m-%d"),
            "sex": draw.choice([1, 2], rows),
            "municipality": skewed(draw, [f"{n:05d}" for n in range(1001, 9999, 61)], rows, 0.5),
            "filing_status": draw.choice(
                ["single", "joint", "widowed", "separate"],
                rows,
                p=[0.45, 0.4, 0.1, 0.05],
            ),
            "children": draw.poisson(0.9, rows).clip(0, 7),
            "nace": skewed(draw, nace, rows, 0.4),
            "total_income": wage,
            "tax_paid": (wage * draw.uniform(0.05, 0.4, rows)).round(2),
        },
    )


TAX = {
    "direct_identifiers": ["tax_id"],
    "quasi_identifiers": {
        "birth_date": DATE,
        "sex": {},
        "municipality": {"hierarchy": {"prefix": 1}},
        "filing_status": SET,
        "children": NUMBER,
        "nace": {"hierarchy": {"prefix": [4, 2, 1]}},
    },
    "sensitive_attributes": {"total_income": ORDERED},
}

MADE: Mapping[str, tuple[Callable[[Draw], pd.DataFrame], Attributes]] = {
    "hospital stays": (stays, STAYS),
    "survey with weights": (survey, SURVEY),
    "registry with dates": (registry, REGISTRY),
    "transactions": (transactions, TRANSACTIONS),
    "tax": (tax, TAX),
}
PUBLIC = {
    "adult": "adult/adult.csv",
    "census_income": "kdd_census_income/census_income.parquet",
    "heart": "heart/heart_1025.csv",
}


def table_of(name: str, folder: Path) -> tuple[Path, Attributes]:
    """The file of a table, and its hand-written attributes. Those of the public tables are in
    `conf/`.
    """
    if name in PUBLIC:
        text = (
            Path(f"conf/{name}.yaml")
            .read_text()
            .replace("${TCLOSE_DATA:-../../shared/data}", f"{DATA}")
        )
        written = yaml.safe_load(text)
        attributes: dict[str, Any] = written["attributes"]
        for settings in attributes["sensitive_attributes"].values():
            settings["t"] = T
        return DATA / PUBLIC[name], attributes
    make, attributes = MADE[name]
    file = folder / f"{name.replace(' ', '_')}.csv"
    make(np.random.default_rng(SEED)).to_csv(file, index=False)
    return file, attributes


def loss(file: Path, spec: dict[str, Any], folder: Path) -> tuple[float, int, int]:
    """NCP, classes and quasi-identifiers of a release."""
    tree = {**spec, "method": METHOD, "output": None}
    made = tc.release(None, tree, output=folder, log=None, engine="local", overwrite=True)
    figures = made.certificate
    return (
        figures["utility"]["ncp"],
        figures["release"]["classes"],
        len(spec["attributes"]["quasi_identifiers"]),
    )


def main(names: list[str]) -> None:
    print(
        "| table | rows | by hand: NCP | classes | suggested: NCP | classes | ratio |\n"
        "|---|---|---|---|---|---|---|",
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in names or [*PUBLIC, *MADE]:
            file, attributes = table_of(name, folder)
            suggestion = tc.suggest(str(file), file=folder / "suggested.yaml", engine="local")
            suggested = suggestion.spec
            suggested["input"]["path"] = str(file.resolve())
            written = {**suggested, "attributes": {**attributes, "drop_others": True}}
            (by_hand, classes, _), (own, own_classes, _) = (
                loss(file, spec, folder / "out") for spec in (written, suggested)
            )
            cells = [
                name,
                f"{suggestion.rows:,}",
                f"{by_hand:.4f}",
                f"{classes:,}",
                f"{own:.4f}",
                f"{own_classes:,}",
            ]
            print(f"| {' | '.join(cells)} | {own / by_hand:.2f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
