"""Persons and households are found from the data, whatever their columns are called."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose_spark.table.column_names.hints import hint_of
from tclose_spark.table.entities.finding import Subjects, find_subjects
from tclose_spark.table.entities.grouping import SampledValues, placeholder_rows
from tclose_spark.table.entities.whole_values import sample_of

NAMES = [
    *(
        "msisdn",
        "subject",
        "member",
        "participant",
        "customer",
        "caseid",
        "vehicle",
        "Kundennummer",
        "USUBJID",
    ),
    *(
        "respondent",
        "x1",
        "ref",
        "code",
        "who",
        "empl_no",
        "learner",
        "tenant",
        "beneficiary",
        "Versicherter",
    ),
    *("numero_abonne", "worker", "driver", "pupil", "resident"),
]


def subjects(columns: dict[str, object]) -> Subjects:
    """Whom the rows of a table are about."""
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    hints = [hint_of(name) for name in table.column_names]
    return find_subjects(
        sample_of(table.to_batches(max_chunksize=700), len(hints)),
        table.column_names,
        hints,
    )


def persons(
    rng: np.random.Generator,
    name: str,
    people: int = 300,
    each: int = 10,
) -> dict[str, object]:
    """Rows of persons: what is constant within them, and a measurement."""
    of_row = rng.permutation(np.repeat(np.arange(people), each))
    return {
        name: (447_910_000_000 + rng.permutation(90_000)[:people])[of_row],
        "age": rng.integers(18, 90, people)[of_row],
        "gender": rng.choice(["m", "f"], people)[of_row],
        "district": rng.choice([f"D{i}" for i in range(12)], people)[of_row],
        "duration_s": rng.integers(1, 3_600, people * each),
    }


def households(rng: np.random.Generator, homes: int = 900) -> dict[str, object]:
    """The members of households, whose sexes and ages differ."""
    sizes = rng.integers(1, 6, homes)
    home = np.repeat(np.arange(homes), sizes)
    return {
        "hh": home + 5_000,
        "pno": np.concatenate([np.arange(size) for size in sizes]),
        "age": rng.integers(0, 90, len(home)),
        "sex": rng.choice([1, 2], len(home)),
        "region": rng.choice(list("ABCDEFGH"), homes)[home],
        "tenure": rng.choice(["own", "rent"], homes)[home],
        "income": rng.integers(0, 90_000, len(home)),
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_person_is_found_under_any_name(name):
    found = subjects(persons(np.random.default_rng(1), name))
    assert [(one.columns, one.kind, one.values) for one in found.entities] == [
        ((name,), "person", 300),
    ]
    assert found.entities[0].constant == ("age", "gender", "district")


@given(seed=st.integers(0, 1_000), people=st.integers(40, 400), each=st.integers(2, 20))
def test_persons_of_any_number_are_found_and_their_measurements_are_not(seed, people, each):
    found = subjects(persons(np.random.default_rng(seed), "ref", people, each))
    assert [one.columns for one in found.entities] == [("ref",)]


def followed(rng: np.random.Generator, name: str, people: int, years: int) -> dict[str, object]:
    """People of one sex, whose marital status changes from year to year."""
    of_row = np.repeat(np.arange(people), years)
    single = rng.integers(0, years, people)[of_row]
    year = np.tile(np.arange(years), people)
    return {
        name: of_row + 13,
        "year": year + 1980,
        "ethnicity": rng.choice(["a", "b", "c"], people)[of_row],
        "birthplace": rng.choice([f"P{i}" for i in range(20)], people)[of_row],
        "marital_status": np.where(year < single, "single", "married"),
        "wage": rng.integers(1, 9_000, people * years),
    }


@given(
    seed=st.integers(0, 1_000),
    name=st.sampled_from(["nr", "id", "caseid", "msisdn", "x17"]),
    people=st.integers(60, 400),
    years=st.integers(3, 12),
)
def test_persons_who_marry_are_found_over_the_years(seed, name, people, years):
    table = followed(np.random.default_rng(seed), name, people, years)
    assert subjects(table).first("person").columns == (name,)
    rows = people * years
    at_once = {**table, "year": np.full(rows, 1980)}  # the members of households, in one year
    assert not any(one.kind == "person" for one in subjects(at_once).entities)


@given(seed=st.integers(0, 1_000), name=st.sampled_from(["wght", "weight", "pwgtp", "Gewicht"]))
def test_a_weight_that_follows_from_strata_is_no_household(seed, name):
    rng = np.random.default_rng(seed)
    stratum = rng.integers(0, 1_500, 4_000)
    found = subjects(
        {
            "age": rng.integers(18, 90, 4_000),
            "sex": rng.choice(["m", "f"], 4_000),
            "region": rng.choice([f"R{i}" for i in range(9)], 1_500)[stratum],
            "ethnicity": rng.choice(["a", "b", "c"], 1_500)[stratum],
            name: (rng.permutation(900_000)[:1_500] + 40_000)[stratum],
        },
    )
    assert found.of(name) is None


@given(seed=st.integers(0, 1_000), most=st.integers(30, 30_000))
def test_a_measurement_is_no_person(seed, most):
    rng = np.random.default_rng(seed)
    found = subjects(
        {
            "user_id": rng.permutation(3_000),
            "age": rng.integers(18, 90, 3_000),
            "sex": rng.choice(["m", "f"], 3_000),
            "steps": rng.integers(0, most, 3_000),
            "mood": rng.integers(1, 6, 3_000),
        },
    )
    assert (found.entities, found.unnamed) == ((), None)


def test_a_household_is_no_person():
    found = subjects(households(np.random.default_rng(2)))
    assert [(one.columns, one.kind) for one in found.entities] == [(("hh",), "household")]


def test_members_of_households_in_several_years_are_persons():
    years = [households(np.random.default_rng(3)) for _ in range(3)]
    columns = {name: np.concatenate([year[name] for year in years]) for name in years[0]}
    columns["year"] = np.repeat([2001, 2002, 2003], len(years[0]["hh"]))
    columns["income"] = np.random.default_rng(4).integers(0, 90_000, len(columns["year"]))
    found = subjects(columns).first("person")
    assert found is not None
    assert found.columns == ("hh", "pno")


@given(seed=st.integers(0, 1_000))
def test_answers_within_a_measurement_are_no_members(seed):
    rng = np.random.default_rng(seed)
    wing = rng.integers(0, 300, 900)
    fat = rng.integers(0, 5, 900)
    found = subjects(
        {
            "wing": wing,
            "species": rng.choice(["a", "b", "c"], 300)[wing],
            "sex": rng.choice(["m", "f"], (300, 5))[wing, fat],
            "fat": fat,
            "age": rng.integers(1, 9, (300, 5))[wing, fat],
        },
    )
    assert not found.pairs


@pytest.mark.parametrize("name", ["stratum", "pair", "matched_set", "PSU", "pooled.stratum"])
def test_a_stratum_of_like_people_is_no_person(name):
    table = persons(np.random.default_rng(9), name)
    assert all(one.kind != "person" for one in subjects(table).entities)


@pytest.mark.parametrize("name", ["first_name", "Vorname", "given name"])
def test_a_first_name_is_no_person(name):
    rng = np.random.default_rng(10)
    of_row = rng.integers(0, 500, 1_000)
    found = subjects(
        {
            name: [f"N{i}" for i in of_row],
            "sex": rng.choice(["m", "f"], 500)[of_row],
            "age": rng.integers(18, 90, 1_000),
            "minutes": rng.integers(80, 400, 1_000),
        },
    )
    assert not found.entities


def sites(rng: np.random.Generator, site: str, number: str) -> dict[str, object]:
    """Visits of people who are numbered within sites."""
    sizes = rng.integers(20, 60, 9)
    of_person = np.repeat(np.arange(9), sizes)
    numbers = np.concatenate([np.arange(size) + 1 for size in sizes])
    people = len(numbers)
    of_row = np.repeat(np.arange(people), 5)
    return {
        site: of_person[of_row] + 100,
        number: numbers[of_row],
        "sex": rng.choice(["m", "f"], people)[of_row],
        "age": rng.integers(18, 90, people)[of_row],
        "arm": rng.choice(["A", "B", "C"], people)[of_row],
        "pain": rng.integers(0, 10, len(of_row)),
    }


@given(
    seed=st.integers(0, 1_000),
    names=st.sampled_from([("centre", "subj"), ("blk", "sq"), ("clinic", "lfd"), ("x1", "x2")]),
)
def test_people_who_are_numbered_within_sites_are_found(seed, names):
    found = subjects(sites(np.random.default_rng(seed), *names)).first("person")
    assert {*found.columns} == {*names}
    assert {"sex", "age", "arm"} == {*found.constant}


def test_a_site_of_many_persons_is_no_household():
    rng = np.random.default_rng(12)
    site = np.repeat(np.arange(40), 10)
    of_row = np.repeat(np.arange(400), 5)
    found = subjects(
        {
            "clinic": site[of_row],
            "lfd": np.tile(np.arange(10) + 1, 40)[of_row],
            "sex": rng.choice(["m", "f"], 400)[of_row],
            "age": rng.integers(18, 90, 400)[of_row],
            "region": rng.choice(list("ABCDEFGH"), 40)[site][of_row],
            "pain": rng.integers(0, 10, 2_000),
        },
    )
    assert found.first("person").columns == ("clinic", "lfd")
    assert found.first("household") is None


@pytest.mark.parametrize("name", ["family", "fam", "household", "F", "foyer"])
@pytest.mark.parametrize("waves", [1, 3])
def test_a_household_is_found_under_any_name(name, waves):
    years = [households(np.random.default_rng(3)) for _ in range(waves)]
    columns = {key: np.concatenate([year[key] for year in years]) for key in years[0]}
    columns["wave"] = np.repeat(np.arange(waves), len(years[0]["hh"]))
    columns["income"] = np.random.default_rng(4).integers(0, 90_000, len(columns["wave"]))
    found = subjects({name if key == "hh" else key: column for key, column in columns.items()})
    household = found.first("household")
    assert household is not None
    assert household.columns == (name,)
    assert (found.first("person") is not None) == (waves > 1)


@pytest.mark.parametrize("name", ["birth_number", "birth_no", "dob_key", "age_id", "city_key"])
def test_a_number_is_found_whatever_it_is_made_of(name):
    found = subjects(persons(np.random.default_rng(1), name)).first("person")
    assert found is not None
    assert found.columns == (name,)


@given(seed=st.integers(0, 1_000), titles=st.integers(20, 60))
def test_a_title_that_shows_the_sex_is_no_person(seed, titles):
    rng = np.random.default_rng(seed)
    title = rng.integers(0, titles, 30 * titles)
    found = subjects(
        {
            "taetigkeit": title,
            "geschlecht": np.where(title % 2, "m", "w"),
            "alter": rng.integers(18, 66, len(title)),
            "lohn": rng.integers(1_500, 9_000, len(title)),
        },
    )
    assert not found.entities


@given(seed=st.integers(0, 1_000), ages=st.integers(12, 60))
def test_a_premium_by_age_and_sex_is_no_person(seed, ages):
    rng = np.random.default_rng(seed)
    sex, age = rng.integers(0, 2, 40 * ages), rng.integers(0, ages, 40 * ages)
    premium = rng.permutation(9_000)[: 2 * ages]
    found = subjects(
        {
            "sex": sex,
            "age": age + 18,
            "premium": premium[sex * ages + age],
            "claims": rng.integers(0, 5, len(sex)),
        },
    )
    assert not found.entities


@given(seed=st.integers(0, 1_000), waves=st.integers(3, 8))
def test_the_same_births_in_each_wave_show_persons(seed, waves):
    rng = np.random.default_rng(seed)
    born = rng.integers(1930, 2005, 400)
    sex = rng.choice(["m", "f"], 400)
    table = {
        "wave": np.repeat(np.arange(waves), 400),
        "sex": np.tile(sex, waves),
        "birth_year": np.tile(born, waves),
        "mood": rng.integers(0, 10, 400 * waves),
    }
    assert subjects(table).unnamed is not None
    others = {**table, "birth_year": rng.integers(1930, 2005, 400 * waves)}
    others["sex"] = rng.choice(["m", "f"], 400 * waves)
    assert subjects(others).unnamed is None


@pytest.mark.parametrize("name", ["customer", "Kundennr", "card", "Mitglied", "socio", "klant"])
def test_a_word_for_people_shows_persons_without_demographics(name):
    rng = np.random.default_rng(7)
    of_row = np.repeat(np.arange(500), 4)
    columns = {
        "since": rng.integers(2000, 2024, 500)[of_row],
        "branch": rng.choice([f"B{i}" for i in range(12)], 500)[of_row],
        "amount": rng.integers(1, 900, 2_000),
    }
    assert subjects({name: of_row, **columns}).first("person").columns == (name,)
    assert not subjects({"order": of_row, **columns}).entities


def test_a_school_is_neither():
    rng = np.random.default_rng(5)
    school = rng.integers(0, 60, 3_000)
    found = subjects(
        {
            "school": school,
            "sector": rng.choice(["public", "private"], 60)[school],
            "town": rng.choice([f"T{i}" for i in range(20)], 60)[school],
            "sex": rng.choice(["m", "f"], 3_000),
            "age": rng.integers(11, 18, 3_000),
        },
    )
    assert not found.entities


@pytest.mark.parametrize(
    "placeholder",
    ["-", "0", "-1", "unknown", "anonymous", "999999", None, ""],
)
def test_values_that_stand_for_no_person_are_left_out(placeholder):
    rng = np.random.default_rng(6)
    columns = persons(rng, "subject")
    missing = rng.random(3_000) < 0.67
    columns["subject"] = [
        placeholder if gone else str(one)
        for gone, one in zip(missing, columns["subject"], strict=True)
    ]
    columns["gender"] = np.where(missing, rng.choice(["m", "f"], 3_000), columns["gender"])
    columns["age"] = np.where(missing, rng.integers(18, 90, 3_000), columns["age"])
    found = subjects(columns).first("person")
    assert found is not None
    assert found.columns == ("subject",)
    assert found.rows_each < 5


def test_the_rows_of_a_placeholder():
    assert placeholder_rows(np.array([1] * 900)) == 2
    assert placeholder_rows(np.array([3, 5, 4] * 50 + [400])) == 400
    assert placeholder_rows(np.array([3, 5, 4] * 50 + [400, 300])) == 300
    assert placeholder_rows(np.array([3, 9, 27, 80])) == 81


def test_persons_without_an_identifier_who_are_observed_again():
    rng = np.random.default_rng(7)
    columns = persons(rng, "subject", people=600, each=7)
    columns["year"] = np.zeros(4_200, dtype=np.int64)
    for person in np.unique(columns["subject"]):
        columns["year"][columns["subject"] == person] = np.arange(2001, 2008)
    del columns["subject"], columns["age"]
    found = subjects(columns).unnamed
    assert found is not None
    assert found.groups == 600
    assert found.rows_each == 7


def test_persons_without_an_identifier_whose_birth_sex_and_place_recur():
    rng = np.random.default_rng(8)
    columns = persons(rng, "subject")
    columns["birth_date"] = pa.array(
        rng.integers(-20_000, 0, 300)[np.unique(columns["subject"], return_inverse=True)[1]],
    )
    columns["birth_date"] = columns["birth_date"].cast(pa.int32()).cast(pa.date32())
    del columns["subject"], columns["age"]
    found = subjects(columns).unnamed
    assert found is not None
    assert 295 <= found.groups <= 300
    assert found.columns == ("gender", "district", "birth_date")


@given(seed=st.integers(0, 1_000))
def test_single_persons_do_not_look_like_groups(seed):
    rng = np.random.default_rng(seed)
    columns = persons(rng, "subject", people=3_000, each=1)
    columns["year"] = rng.integers(2001, 2008, 3_000)
    found = subjects(columns)
    assert (found.entities, found.unnamed) == ((), None)


def cells(count: str, numbers: list[int], **dimensions: list[object]) -> dict[str, object]:
    """A table of counts: a row for each combination of its dimensions."""
    rows = list(product(*dimensions.values()))
    columns = dict(zip(dimensions, map(list, zip(*rows, strict=True)), strict=True))
    return {**columns, count: [numbers[i % len(numbers)] for i in range(len(rows))]}


@pytest.mark.parametrize("count", ["deaths", "n", "population", "Anzahl", "cases_total"])
def test_the_cells_of_a_table_of_counts_are_found(count):
    columns = cells(
        count,
        [7, 0, 31, 5, 2],
        area=[*"abcdefgh"],
        sex=["m", "f"],
        cause=[*"xyz"],
        year=[2019, 2020, 2021],
    )
    found = subjects(columns).cells
    assert found is not None
    assert (found.count, found.dimensions) == (count, ("area", "sex", "cause", "year"))


@given(seed=st.integers(0, 1_000))
def test_people_with_a_count_are_no_cells(seed):
    rng = np.random.default_rng(seed)
    columns = persons(rng, "subject", people=400, each=1)
    assert subjects({**columns, "visits": rng.integers(0, 9, 400)}).cells is None


@settings(max_examples=20)
@given(seed=st.integers(0, 1_000))
def test_agreement_follows_from_the_rows_and_not_from_their_order(seed):
    """Of values with more rows than pairs are compared of, so that the pairs are drawn."""
    rng = np.random.default_rng(seed)
    columns = persons(rng, "subject", people=60, each=9)
    order = rng.permutation(540)
    first, second = (
        sample_of(
            pa.table({name: np.asarray(columns[name])[of] for name in columns}).to_batches(),
            len(columns),
        )
        for of in (np.arange(540), order)
    )
    assert list(SampledValues.of(first.ordered()).groupings()) == list(
        SampledValues.of(second.ordered()).groupings(),
    )
