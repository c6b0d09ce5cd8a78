"""Fifteen shapes of public tables, of 500 rows from a seed. `<shape>.yaml` has what an expert would
write of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

ROWS = 500
NAMES = ["Ada", "Ben", "Cleo", "Dora", "Emil", "Fritz", "Greta", "Hugo"]


@dataclass(frozen=True)
class Draw:
    """Draws columns of ROWS values."""

    random: np.random.Generator

    def one_of(self, values: Sequence[Any], shares: Sequence[float] | None = None) -> list[Any]:
        places = self.random.choice(len(values), ROWS, p=shares)
        return [values[place] for place in places]

    def whole(self, low: int, high: int) -> list[int]:
        return self.random.integers(low, high + 1, ROWS).tolist()

    def money(self, middle: float, digits: int = 0) -> list[Any]:
        values = np.round(self.random.lognormal(np.log(middle), 0.6, ROWS), digits)
        return values.tolist() if digits else values.astype(int).tolist()

    def few(self, values: Sequence[Any], code: Any, share: float) -> list[Any]:
        """The values, with a code in a share of the rows."""
        rows = set(self.random.permutation(ROWS)[: round(share * ROWS)].tolist())
        return [code if row in rows else value for row, value in enumerate(values)]

    def days(self, first: date, days: int, form: str = "%Y-%m-%d") -> list[str]:
        return [(first + timedelta(days=day)).strftime(form) for day in self.whole(0, days - 1)]

    def ids(self, form: str = "{}", rows_each: int = 1) -> list[str]:
        return [form.format(100_000 + 7 * (place // rows_each)) for place in range(ROWS)]

    def weights(self) -> list[float]:
        return np.round(self.random.lognormal(6, 0.4, ROWS), 3).tolist()


Columns = dict[str, list[Any]]


def hospital_discharges(draw: Draw) -> Columns:
    icd = [
        f"{letter}{number}.{digit}"
        for letter in "CEIJK"
        for number in (10, 25, 44)
        for digit in (0, 1, 9)
    ]
    return {
        "encounter_id": draw.ids("E{}"),
        "age": draw.few(draw.whole(0, 95), 999, 0.04),
        "sex": draw.few(draw.one_of(["M", "F"]), "U", 0.03),
        "race": draw.one_of(["White", "Black", "Asian", "Unknown"], [0.6, 0.2, 0.1, 0.1]),
        "zip3": draw.one_of([f"{n:03d}" for n in range(100, 140)]),
        "admission_date": draw.days(date(2022, 1, 1), 365),
        "length_of_stay": draw.few(draw.whole(1, 14), -1, 0.04),
        "diag_1": draw.one_of(icd),
        "total_charges": draw.money(20_000),
        "discharge_status": draw.one_of(["home", "transfer", "died"]),
    }


def covid_cases(draw: Draw) -> Columns:
    yes_no = ["Yes", "No", "Unknown", "Missing"]
    return {
        "age_group": draw.one_of(["0-17", "18-49", "50-64", "65+"]),
        "sex": draw.one_of(["Female", "Male", "Unknown"], [0.5, 0.46, 0.04]),
        "county_fips": draw.one_of([f"{n:05d}" for n in range(1001, 1040, 2)]),
        "cdc_report_dt": draw.days(date(2021, 3, 1), 120),
        "hosp_yn": draw.one_of(yes_no, [0.1, 0.6, 0.2, 0.1]),
        "death_yn": draw.one_of(yes_no, [0.04, 0.7, 0.2, 0.06]),
    }


def labour_force(draw: Draw) -> Columns:
    return {
        "Alter": draw.few(draw.whole(15, 90), 999, 0.04),
        "Geschlecht": draw.one_of([1, 2]),
        "region": draw.whole(1, 16),
        "edu": draw.one_of([1, 2, 3, 4, 5, 98, 99], [0.2, 0.2, 0.2, 0.2, 0.1, 0.05, 0.05]),
        "Staatsangehörigkeit": draw.whole(1, 24),
        "Branche": draw.whole(1, 21),
        "hours_worked": draw.few(draw.whole(1, 60), -8, 0.1),
        "Einkommen": draw.few(draw.money(2_500), -9, 0.1),
        "pw": draw.weights(),
    }


def census_microdata(draw: Draw) -> Columns:
    return {
        "SERIALNO": draw.ids("2022HU{}"),
        "PWGTP": draw.whole(1, 300),
        "PUMA": draw.one_of([f"{n:05d}" for n in range(100, 2000, 100)]),
        "AGEP": draw.whole(0, 94),
        "SEX": draw.one_of([1, 2]),
        "RAC1P": draw.whole(1, 9),
        "MAR": draw.whole(1, 5),
        "POBP": draw.whole(1, 56),
        "DIS": draw.one_of([1, 2], [0.12, 0.88]),
        "PINCP": draw.few(draw.money(38_000), -99999, 0.06),
    }


def household_budget(draw: Draw) -> Columns:
    return {
        "hhid": draw.ids(),
        "hh_weight": draw.weights(),
        "household_size": draw.one_of([1, 2, 3, 4, 5, 99], [0.3, 0.3, 0.15, 0.15, 0.05, 0.05]),
        "urban": draw.one_of([0, 1]),
        "district": draw.whole(1, 30),
        "age_of_head": draw.few(draw.whole(18, 84), 99, 0.05),
        "religion": draw.few(draw.whole(1, 5), 9, 0.06),
        "food_expenditure": draw.money(600, 2),
        "rent": draw.few(draw.money(700), 9999, 0.05),
    }


def students(draw: Draw) -> Columns:
    return {
        "age": draw.whole(17, 30),
        "gender": draw.one_of(["f", "m", "prefer not to say"], [0.5, 0.45, 0.05]),
        "gpa": [round(value / 10, 1) for value in draw.whole(10, 40)],
        **{f"q{place}": draw.one_of([0, 1]) for place in range(60)},
    }


def school_grades(draw: Draw) -> Columns:
    return {
        "student_id": draw.ids("S{}"),
        "geburtsdatum": draw.days(date(2005, 1, 1), 1500, "%d.%m.%Y"),
        "geschlecht": draw.one_of(["m", "w"]),
        "muttersprache": draw.few(
            draw.one_of(["deutsch", "türkisch", "arabisch"]),
            "unbekannt",
            0.06,
        ),
        "schule": draw.whole(1, 14),
        "note_mathe": draw.one_of([1, 2, 3, 4, 5, 6, 99], [0.1, 0.2, 0.3, 0.2, 0.1, 0.05, 0.05]),
        "schuljahr": draw.one_of(["2021/22", "2022/23"]),
    }


def police_stops(draw: Draw) -> Columns:
    ages = draw.few([str(age) for age in draw.whole(18, 64)], "unknown", 0.04)
    return {
        "stop_id": draw.ids(),
        "stop_date": draw.days(date(2019, 1, 1), 365, "%m/%d/%Y"),
        "age": draw.few(draw.few(ages, "10-17", 0.03), "65+", 0.03),
        "subject_race": draw.few(draw.one_of(["white", "black", "hispanic"]), "N/A", 0.04),
        "subject_sex": draw.one_of(["male", "female"]),
        "precinct": draw.whole(1, 22),
        "violation": draw.one_of(["speeding", "lights", "registration", "seat belt"]),
        "search_conducted": draw.one_of([True, False], [0.1, 0.9]),
    }


def court_cases(draw: Draw) -> Columns:
    return {
        "case_number": draw.ids("22-CR-{}"),
        "defendant_age": draw.whole(18, 70),
        "defendant_sex": draw.one_of(["M", "F"], [0.8, 0.2]),
        "nationality": draw.few(draw.one_of(["FR", "DE", "NA", "IT"]), "unknown", 0.05),
        "filing_date": draw.days(date(2020, 1, 1), 700),
        "charge": draw.one_of(["theft", "assault", "fraud", "drug possession"]),
        "verdict": draw.one_of(["guilty", "acquitted", "dismissed"]),
        "sentence_months": draw.few(draw.whole(0, 48), 999, 0.05),
    }


def tax_returns(draw: Draw) -> Columns:
    return {
        "tin": draw.ids("{}55"),
        "tax_year": draw.one_of([2021, 2022]),
        "filing_status": draw.one_of(["single", "joint", "head"]),
        "dependents": draw.one_of([0, 1, 2, 3]),
        "postcode": draw.one_of([f"{n}" for n in range(4000, 4040)]),
        "birth_year": draw.few(draw.whole(1940, 2002), 9999, 0.04),
        "taxable_income": draw.money(45_000),
        "tax_paid": draw.few(draw.money(9_000), -1, 0.05),
    }


def payroll(draw: Draw) -> Columns:
    euros = [f"{value:.2f}".replace(".", ",") for value in draw.money(2_600, 2)]
    return {
        "matricule": draw.ids("M{}"),
        "nom": draw.one_of(NAMES),
        "sexe": draw.one_of(["H", "F"]),
        "date_naissance": draw.days(date(1960, 1, 1), 14_000, "%d/%m/%Y"),
        "date_embauche": draw.few(draw.days(date(2005, 1, 1), 5_000), "1900-01-01", 0.04),
        "poste": draw.one_of(["vente", "achat", "compta", "cadre"]),
        "commune": draw.few(draw.one_of(["Lyon", "Lille", "Nice"]), "inconnu", 0.05),
        "salaire": euros,
    }


def insurance_claims(draw: Draw) -> Columns:
    return {
        "policy_number": draw.ids("P{}", rows_each=2),
        "claim_date": draw.days(date(2023, 1, 1), 365),
        "insured_age": draw.few(draw.whole(18, 85), -99, 0.04),
        "insured_sex": draw.one_of(["male", "female"]),
        "region": draw.one_of(["north", "south", "east", "west"]),
        "smoker": draw.few(draw.one_of(["yes", "no"]), "not stated", 0.06),
        "bmi": draw.few([round(18 + value / 10, 1) for value in draw.whole(0, 200)], 999.9, 0.05),
        "diagnosis": draw.one_of(["fracture", "diabetes", "cancer", "back pain"]),
        "claim_amount": draw.money(3_000, 2),
    }


def mobility_trips(draw: Draw) -> Columns:
    return {
        "user_id": draw.ids("u{}", rows_each=4),
        "birth_year": draw.whole(1950, 2006),
        "gender": draw.one_of([0, 1, 2, 9], [0.1, 0.5, 0.35, 0.05]),
        "start_station": draw.whole(1, 40),
        "end_station": draw.whole(1, 40),
        "started_at": [
            f"{day} {hour:02d}:15:00"
            for day, hour in zip(draw.days(date(2023, 5, 1), 90), draw.whole(0, 23), strict=True)
        ],
        "trip_purpose": draw.few(draw.one_of(["work", "shopping", "doctor"]), "n/a", 0.06),
    }


def pharmacy_sales(draw: Draw) -> Columns:
    return {
        "patient_id": draw.ids("{}", rows_each=2),
        "fecha": draw.days(date(2023, 1, 1), 200, "%d-%m-%Y"),
        "edad": draw.few(draw.whole(0, 94), 999, 0.04),
        "sexo": draw.few(draw.one_of(["mujer", "hombre"]), "desconocido", 0.05),
        "municipio": draw.whole(1, 25),
        "atc_code": draw.one_of(["A10BA02", "C09AA05", "N05BA12", "N06AB04", "J01CA04", "R03AC02"]),
        "importe": draw.money(12, 2),
    }


def app_users(draw: Draw) -> Columns:
    return {
        "uuid": [f"{place:08x}-0000-4000-8000-{7 * place:012x}" for place in range(ROWS)],
        "email": [f"u{place}@example.org" for place in range(ROWS)],
        "country": draw.one_of(["DE", "FR", "IT", "US"]),
        "age": draw.few(draw.whole(13, 80), -1, 0.1),
        "gender": draw.few(draw.one_of(["f", "m"]), "null", 0.1),
        "signup_date": draw.days(date(2022, 1, 1), 500),
        "os": draw.one_of(["android", "ios"]),
        "sexual_orientation": draw.few(
            draw.one_of(["hetero", "gay", "bi"]),
            "prefer not to say",
            0.1,
        ),
        "purchases": draw.money(20, 2),
    }


SHAPES: dict[str, Callable[[Draw], Columns]] = {
    made.__name__: made
    for made in (
        *(
            hospital_discharges,
            covid_cases,
            labour_force,
            census_microdata,
            household_budget,
            students,
            school_grades,
        ),
        *(
            police_stops,
            court_cases,
            tax_returns,
            payroll,
            insurance_claims,
            mobility_trips,
            pharmacy_sales,
            app_users,
        ),
    )
}


def table_of(shape: str) -> pa.Table:
    """The table of a shape."""
    return pa.table(SHAPES[shape](Draw(np.random.default_rng(7))))
