"""The profile: one pass over the input gives its domains, ranges, histogram and fingerprint,
however it is partitioned.
"""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from staged import stage

from tclose_spark import pipeline
from tclose_spark.errors import InputError
from tclose_spark.io.input.reading import read_table
from tclose_spark.io.run import Run
from tclose_spark.stages.staging import tallies as counted
from tclose_spark.stages.warnings import profile_warnings
from tclose_spark.table.domains import Profile, QuasiDomain, Repetition, SensitiveDomain

pytestmark = pytest.mark.on_spark

MakeRun = Callable[..., Run]

PEOPLE = {
    "age": [31, 20, None, 40, 31],
    "city": ["Pisa", "Lyon", "Pisa", None, "Bari"],
    "sex": ["m", "f", "f", "f", None],
    "disease": ["flu", "flu", None, "gout", "flu"],
    "grade": [2, 10, 2, 3, 2],
}
ROLES = {
    "quasi": {"age": {"type": "numeric"}, "city": {"hierarchy": "cities.csv"}, "sex": {}},
    "sensitive": {"disease": {}, "grade": {"distance": "ordered"}},
    "k": 2,
}


def profile_of(run: Run, change: Callable[[DataFrame], DataFrame] = lambda table: table) -> Profile:
    return stage(run, change(read_table(run.spark, run.spec.input))).profile


def test_profile_of_five_people(make_run: MakeRun) -> None:
    profile = profile_of(make_run(PEOPLE, **ROLES))
    assert profile.rows == 5
    assert profile.quasi == (
        QuasiDomain(name="age", kind="integer", missing=1, low=20, high=40),
        QuasiDomain(
            name="city",
            kind="category",
            missing=1,
            values=("Pisa", "Siena", "Bari", "Lyon", "Nice"),
            present=3,
        ),
        QuasiDomain(name="sex", kind="category", missing=1, values=("f", "m"), present=2),
    )
    assert profile.sensitive == (
        SensitiveDomain("disease", ("flu", "gout", None), (3, 1, 1)),
        SensitiveDomain("grade", ("2", "3", "10"), (3, 1, 1)),
    )
    assert dict(zip(profile.cells, profile.cell_counts, strict=True)) == {
        (0, 0): 2,  # flu, 2
        (0, 2): 1,  # flu, 10
        (1, 1): 1,  # gout, 3
        (2, 0): 1,  # missing, 2
    }
    assert Profile.from_json(profile.to_json()) == profile


def test_text_that_is_a_number_and_nan(make_run: MakeRun) -> None:
    people = {
        "age": ["7", "1e2", None],
        "weight": [float("nan"), -0.0, 2.5],
        "disease": ["a", "b", "a"],
    }
    profile = profile_of(
        make_run(people, quasi={"age": {"type": "numeric"}, "weight": {"type": "numeric"}}, k=2),
    )
    assert profile.quasi == (
        QuasiDomain(name="age", kind="double", missing=1, low=7.0, high=100.0),
        QuasiDomain(name="weight", kind="double", missing=1, low=0.0, high=2.5),
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_the_profile_is_what_counting_in_memory_gives(
    make_run: MakeRun,
    drawn_people: Callable[..., pa.Table],
    seed: int,
) -> None:
    people = drawn_people(seed)
    run = make_run(
        people,
        quasi={"city": {}, "age": {"type": "numeric"}},
        sensitive={"disease": {}, "site": {}},
        drop_others=True,
    )
    profile = profile_of(run)
    city, age, disease, site = (
        people[name].to_pylist() for name in ("city", "age", "disease", "site")
    )
    known = [value for value in age if value is not None]
    assert profile.quasi[0].missing == city.count(None)
    assert profile.quasi[0].values == tuple(sorted(set(city) - {None}))
    assert profile.quasi[1] == QuasiDomain(
        name="age",
        kind="integer",
        missing=age.count(None),
        low=min(known),
        high=max(known),
    )
    values = [attribute.values for attribute in profile.sensitive]
    found = {
        (values[0][a], values[1][b]): n
        for (a, b), n in zip(profile.cells, profile.cell_counts, strict=True)
    }
    assert found == Counter(zip(disease, site, strict=True))


CHANGES: dict[str, tuple[dict[str, str], Callable[[DataFrame], DataFrame]]] = {
    "one partition, another order": ({}, lambda table: table.orderBy(F.desc("id")).coalesce(1)),
    "five partitions, small batches": (
        {"spark.sql.execution.arrow.maxRecordsPerBatch": "7"},
        lambda table: table.repartition(5, "age"),
    ),
    "other shuffles": ({"spark.sql.shuffle.partitions": "3"}, lambda table: table),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_profile_does_not_depend_on_order_partitions_or_batches(
    make_run: MakeRun,
    drawn_people: Callable[..., pa.Table],
    settings: Callable[[dict[str, str]], Any],
    name: str,
) -> None:
    run = make_run(drawn_people(3), drop_others=True, insensitive_attributes=["note", "score"])
    expected = profile_of(run)
    with settings(CHANGES[name][0]):
        assert profile_of(run, CHANGES[name][1]) == expected


def test_an_empty_table_is_an_error(make_run: MakeRun) -> None:
    with pytest.raises(InputError, match=r"people\.parquet has no rows"):
        profile_of(make_run(pa.table(PEOPLE).slice(0, 0), **ROLES))


def test_more_values_than_a_driver_holds_are_refused_with_the_column_that_has_most(
    make_run: MakeRun,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = make_run(PEOPLE, **ROLES)
    monkeypatch.setattr(
        counted,
        "MOST_VALUES",
        3 + 1 + 2 + 1 + 4,
    )  # cities, sexes, tuples; each with none
    assert profile_of(run).rows == 5
    monkeypatch.setattr(counted, "MOST_VALUES", 10)
    with pytest.raises(InputError, match=r"^city: more than 10 distinct values between all"):
        profile_of(run)


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ([1, 2**62, None, -(2**63), 5], "but 1 of 5 rows hold no finite number"),
        ([1.5, float("inf"), 2.0, None, float("-inf")], "but 2 of 5 rows hold no finite number"),
        (["1", "x", "2", " 3", None], "but 2 of 5 rows hold no finite number"),
        (pa.nulls(5, pa.int32()), "is missing in all 5 rows"),
    ],
    ids=["integers", "doubles", "text", "none"],
)
def test_rows_without_a_number_are_counted(make_run: MakeRun, column: Any, told: str) -> None:
    run = make_run(pa.table({**PEOPLE, "age": column}), **ROLES)
    with pytest.raises(InputError, match=told):
        profile_of(run, lambda table: table.repartition(3, "grade"))


def test_an_empty_partition_is_none(make_run: MakeRun) -> None:
    run = make_run(PEOPLE, **ROLES)
    assert profile_of(run, lambda table: table.repartition(8, "grade")) == profile_of(run)


SPELLED = {
    "age": [20, 30, 40, 50, 60, 70],
    "sex": ["M", "M ", "m", "f", "f", None],
    "disease": ["flu", "flu ", "FLU", "gout", "Gou\u0308t", "Go\u00fct"],
    "note": ["a", "A", "a", "A", "a", "A"],
}


def test_options_make_spellings_one_value(make_run: MakeRun) -> None:
    text = {"strip": True, "case": "fold", "normal_form": "NFC"}
    asked = {
        "quasi": {"age": {"type": "numeric"}, "sex": {"text": text}},
        "insensitive_attributes": ["note"],
        "k": 2,
    }
    profile = profile_of(make_run(SPELLED, **asked, sensitive={"disease": {"t": 1, "text": text}}))
    assert profile.quasi[1] == QuasiDomain(
        name="sex",
        kind="category",
        missing=1,
        values=("f", "m"),
        present=2,
    )
    assert profile.sensitive == (
        SensitiveDomain("disease", ("flu", "gout", "go\u00fct"), (3, 1, 2)),
    )


def test_a_hierarchy_and_an_order_are_looked_up_after_the_options(make_run: MakeRun) -> None:
    people = {"age": [1, 2, 3], "city": [" Pisa", "Lyon ", "Pisa"], "grade": ["Low", "LOW", "high"]}
    quasi = {
        "age": {"type": "numeric"},
        "city": {"hierarchy": "cities.csv", "text": {"strip": True}},
    }
    sensitive = {
        "grade": {
            "distance": "ordered",
            "t": 1,
            "order": ["low", "high"],
            "text": {"case": "fold"},
        },
    }
    profile = profile_of(make_run(people, quasi=quasi, sensitive=sensitive, k=2))
    assert profile.quasi[1].present == 2
    assert profile.sensitive[0].counts == (2, 1)


def test_options_of_text_are_for_text(make_run: MakeRun) -> None:
    with pytest.raises(
        InputError,
        match=r"sensitive_attributes\.grade\.text: the column is of type bigint; expected text",
    ):
        profile_of(
            make_run(
                PEOPLE,
                **{**ROLES, "sensitive": {"grade": {"t": 1, "text": {"strip": True}}}},
                drop_others=True,
            ),
        )


def test_what_is_worth_a_second_look_is_reported_with_no_value(make_run: MakeRun) -> None:
    people = {
        **SPELLED,
        "none": pa.array([None] * 6, pa.string()),
        "same": ["x"] * 6,
        "grade": ["1", "2"] * 3,
    }
    sensitive = {
        "disease": {"t": 1},
        "none": {"t": 1},
        "same": {"t": 1},
        "grade": {"distance": "ordered", "t": 1, "order": [1, 2, 3, 4, 5, 6, 7, 8]},
    }
    run = make_run(people, sensitive=sensitive, k=2, drop_others=True)
    spelled = (
        "{} of its {} values are other spellings of one of them (case, blanks, width or normal "
        "form); they stay different values unless its `text` options make them one"
    )
    assert profile_warnings(profile_of(run), run.spec) == (
        f"quasi-identifier 'sex': {spelled.format(2, 4)}",
        "sensitive attribute 'disease' is nearly unique (6 values in 6 rows): an adversary who "
        "knows a person's value finds the record, and with it the other columns",
        f"sensitive attribute 'disease': {spelled.format(3, 6)}, and each counts for l and t as a "
        "value of its own",
        "sensitive attribute 'none' is missing in all 6 rows: nothing is protected",
        "sensitive attribute 'same' has one value in all 6 rows: the release reveals it for every "
        "row",
        "sensitive attribute 'grade': its order lists 6 values that no row has (3, 4, 5, 6, 7 and "
        "1 more); they lengthen the scale, and can make distances smaller",
    )


@pytest.mark.parametrize(
    ("values", "warned"),
    [(["a", "b", "c", None], True), (["a", "b", None, None], False)],
)
def test_more_than_one_value_for_two_rows_is_nearly_unique(
    make_run: MakeRun,
    values: list[str | None],
    warned: bool,
) -> None:
    people = {"age": range(6), "disease": [*values, "a", "a"]}
    run = make_run(
        {name: list(column) for name, column in people.items()},
        quasi={"age": {"type": "numeric"}},
        k=2,
    )
    told = (
        "sensitive attribute 'disease' is nearly unique (4 values in 6 rows): an adversary who "
        "knows a person's value finds the record"
    )
    assert [warning[: len(told)] for warning in profile_warnings(profile_of(run), run.spec)] == [
        told,
    ] * warned


def test_warnings_are_announced_and_kept(
    run_file: Callable[..., Any],
    tclose: Callable[..., Any],
    tmp_path: Path,
) -> None:
    code, _, err = tclose("profile", run_file(SPELLED, k=2, insensitive_attributes=["note"]))
    assert code == 0
    record = json.loads((tmp_path / "out" / "internal" / "staging" / "run.json").read_text())[
        "stages"
    ]["profile"]
    assert [line for line in err.splitlines() if line.startswith("note: ")] == [
        f"note: {warning}" for warning in record["warnings"]
    ]
    assert len(record["warnings"]) == 3
    assert [figure["quasi_identifier"] for figure in record["insensitive"]["taken_back"]] == [
        "age",
        "sex",
    ]


@pytest.mark.parametrize(
    ("codes", "distance", "warned"),
    [
        (["9999"] * 5, "ordered", "fewer than 10 rows have numbers far from all others"),
        (["9999"] * 5, "equal", ""),
        (["12"] * 5, "ordered", ""),
        (["1" + "0" * 400] * 5, "ordered", ""),  # is no float
        (
            ["1e300", "-1e308", "1.7e308", "0", "0"],
            "ordered",
            "",
        ),  # no float reaches from end to end
    ],
)
def test_codes_in_an_ordered_sensitive_attribute_are_warned_of(
    make_run: MakeRun,
    codes: list[str],
    distance: str,
    warned: str,
) -> None:
    table = {"age": ["30"] * 205, "stay": [str(i % 10) for i in range(200)] + codes}
    sensitive = {"stay": {"distance": distance, "t": 0.3}}
    run = make_run(table, quasi={"age": {"type": "numeric"}}, sensitive=sensitive, k=10)
    found = [one for one in profile_warnings(profile_of(run), run.spec) if "far from" in one]
    assert len(found) == bool(warned)
    assert all(
        f"sensitive attribute 'stay': {warned}" in one and "missing_values" in one for one in found
    )
    assert not any("9999" in one for one in found)


def one_woman(rows: int = 40) -> dict[str, list[Any]]:
    """1,500 people with a row each, and one with more."""
    return {
        "patient_id": [f"P{i}" for i in range(1500)] + ["canary"] * rows,
        "age": [20 + i % 60 for i in range(1500)] + [88] * rows,
        "disease": [["flu", "gout", "ulcer"][i % 3] for i in range(1500 + rows)],
        "first_name": [["Ada", "Bob"][i % 2] for i in range(1500 + rows)],
        "hospital_id": [i % 7 for i in range(1500 + rows)],
        "paid": [i % 5 for i in range(1500 + rows)],
        "row": list(range(1500 + rows)),
        "nick": [f"n{i}" for i in range(1500 + rows - 1)] + ["n0"],
    }


LISTED: dict[str, dict[str, Any]] = {
    "left out": {"drop_others": True},
    "direct": {"direct_identifiers": ["patient_id"], "drop_others": True},
    "insensitive": {
        "insensitive_attributes": ["patient_id"],
        "allow_unique": ["patient_id"],
        "drop_others": True,
    },
}


@pytest.mark.parametrize("listed", LISTED)
def test_an_identifier_that_repeats_is_a_warning_without_its_values(
    make_run: MakeRun,
    listed: str,
) -> None:
    run = make_run(one_woman(), quasi={"age": {"type": "numeric"}}, k=10, **LISTED[listed])
    warnings = profile_warnings(profile_of(run), run.spec)
    assert warnings == (
        "'patient_id' looks like an identifier of a person and repeats: 1,540 rows, about 1,501 "
        "values; counts are rows, so a person with several rows may be alone in a class; if these "
        "are people, use attributes.person; if households, attributes.household",
    )


def test_names_things_and_unique_numbers_are_no_identifiers_that_repeat(make_run: MakeRun) -> None:
    direct = ["patient_id", "first_name", "row"]
    people = {**one_woman(1), "customer_no": [None] * 1000 + list(range(501))}
    run = make_run(
        people,
        quasi={"age": {"type": "numeric"}},
        direct_identifiers=direct,
        drop_others=True,
    )
    assert profile_of(run).repeated == ()


def test_a_column_that_is_listed_as_direct_and_nearly_unique_is_an_identifier(
    make_run: MakeRun,
) -> None:
    direct = {"direct_identifiers": ["paid", "nick"], "drop_others": True}
    run = make_run(one_woman(1), quasi={"age": {"type": "numeric"}}, **direct)
    assert profile_of(run).repeated == (Repetition("nick", 1501, 1500),)


@pytest.mark.parametrize("name", ["nick", "client", "hhid"])
def test_a_direct_identifier_that_repeats_is_one_whatever_its_name(
    make_run: MakeRun,
    name: str,
) -> None:
    table = {**one_woman(1), name: [f"n{i // 4}" for i in range(1501)]}
    direct = {"direct_identifiers": [name], "drop_others": True}
    run = make_run(table, quasi={"age": {"type": "numeric"}}, **direct)
    assert profile_of(run).repeated == (Repetition(name, 1501, 376),)


def test_blanks_that_keep_a_value_out_of_its_hierarchy_are_named(
    make_run: Callable[..., Run],
) -> None:
    table = {"city": [" Pisa", "Pisa"] * 4, "disease": ["flu", "gout"] * 4}
    run = make_run(table, quasi={"city": {"hierarchy": "cities.csv"}}, k=2)
    with pytest.raises(
        InputError,
        match=r"lacks 1 value in 4 rows; a hierarchy has no blanks.*text: {strip: true}",
    ):
        pipeline.profile(run)
    strip = {"city": {"hierarchy": "cities.csv", "text": {"strip": True}}}
    pipeline.profile(make_run(table, quasi=strip, k=2))
