"""Insensitive columns are looked at together, and at what they take back of the
quasi-identifiers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from staged import stage

from tclose_spark.errors import InputError
from tclose_spark.io.input.reading import read_table
from tclose_spark.io.run import Run
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.stages import insensitive
from tclose_spark.stages.insensitive import guard_insensitive, smallest_set

pytestmark = pytest.mark.on_spark

MakeRun = Callable[..., Run]
CITY_OF = ["Pisa", "Siena", "Bari", "Lyon", "Nice"]


def people(rows: int = 121) -> dict[str, list[Any]]:
    """People in eleven streets of eleven houses, no two in one house; nothing of it depends on
    their age, sex or city.
    """
    draw = np.random.default_rng(5)
    place = draw.permutation(rows)
    return {
        "age": draw.integers(20, 60, rows).tolist(),
        "sex": draw.choice(["f", "m"], rows).tolist(),
        "city": draw.choice(CITY_OF, rows).tolist(),
        "disease": draw.choice(["flu", "gout"], rows).tolist(),
        "street": (place // 11).tolist(),
        "house": (place % 11).tolist(),
        "colour": draw.choice(["red", "blue", "green"], rows).tolist(),
    }


ROLES: dict[str, Any] = {
    "quasi": {"age": {"type": "numeric"}, "sex": {}, "city": {"hierarchy": "cities.csv"}},
    "drop_others": True,
}


def guard(run: Run, partitions: int = 0) -> dict[str, Any]:
    table = read_table(run.spark, run.spec.input)
    table = table.repartition(partitions, F.rand(partitions)) if partitions else table
    staged = stage(run, table)
    quasi = ResolvedAttributes.of(
        run.spec.attributes,
        staged.profile,
        run.hierarchies,
    ).quasi_identifiers
    return guard_insensitive(staged.batches, staged.columns, run.spec, staged.profile, quasi)


def shares(record: dict[str, Any]) -> dict[tuple[str, str], float]:
    return {
        ("+".join(figure["columns"]), figure["quasi_identifier"]): figure["share"]
        for figure in record["taken_back"]
    }


def test_street_and_house_are_an_address(make_run: MakeRun) -> None:
    run = make_run(people(), **ROLES, insensitive_attributes=["colour", "street", "house"])
    message = (
        r"insensitive attributes 'street' and 'house' are nearly unique together \(about 1[12]\d combinations in 121 "
        r"rows\)"
    )
    with pytest.raises(InputError, match=message):
        guard(run)


def test_a_column_that_may_be_unique_is_left_out_of_the_joint_look(make_run: MakeRun) -> None:
    run = make_run(
        people(),
        **ROLES,
        insensitive_attributes=["colour", "street", "house"],
        allow_unique=["house"],
    )
    record = guard(run)
    assert record["combinations"] == pytest.approx(
        len(set(zip(people()["street"], people()["colour"], strict=True))),
        abs=2,
    )
    assert {columns for columns, _ in shares(record)} == {
        "colour",
        "street",
        "house",
        "colour+street",
    }
    assert max(map(abs, shares(record).values())) < 0.3  # by chance, in 121 rows


def test_no_insensitive_columns_no_record(make_run: MakeRun) -> None:
    assert guard(make_run(people(), **ROLES)) == {}


DETERMINED: dict[str, tuple[Callable[[dict[str, list[Any]]], list[Any]], str]] = {
    "a number": (lambda p: [age // 3 for age in p["age"]], "age"),
    "a category": (lambda p: [f"{sex}{i % 4}" for i, sex in enumerate(p["sex"])], "sex"),
    "a node of a hierarchy": (lambda p: [city[:1] for city in p["city"]], "city"),
}


@pytest.mark.parametrize("name", DETERMINED)
def test_a_column_that_undoes_the_generalization_is_refused(make_run: MakeRun, name: str) -> None:
    column, quasi = DETERMINED[name]
    table = {**people(), "tells": column(people())}
    with pytest.raises(
        InputError,
        match=rf"'tells' takes back \d+% of the width of quasi-identifier '{quasi}' \(at most 50%",
    ):
        guard(make_run(table, **ROLES, insensitive_attributes=["colour", "tells"]))
    record = guard(
        make_run(
            table,
            **ROLES,
            insensitive_attributes=["colour", "tells"],
            allow_unique=["tells"],
        ),
    )
    assert shares(record)[("tells", quasi)] > 0.9


def test_columns_that_undo_it_together_are_named_and_no_others(make_run: MakeRun) -> None:
    table = people(400)
    half = np.random.default_rng(6).integers(2, size=400)
    table |= {
        "one": half.tolist(),
        "other": [int(h) ^ (sex == "f") for h, sex in zip(half, table["sex"], strict=True)],
    }
    message = r"'one' and 'other' together take back 100% of the width of quasi-identifier 'sex'"
    with pytest.raises(InputError, match=message):
        guard(make_run(table, **ROLES, insensitive_attributes=["one", "colour", "other"]))


def test_missing_values_have_a_place_of_their_own(make_run: MakeRun) -> None:
    table = {
        **people(),
        "age": [None if i % 2 else 30 for i in range(121)],
        "tells": [i % 2 for i in range(121)],
    }
    with pytest.raises(
        InputError,
        match=r"'tells' takes back 100% of the width of quasi-identifier 'age'",
    ):
        guard(make_run(table, **ROLES, insensitive_attributes=["tells"]))


def test_the_figures_depend_on_no_partition_and_a_sample_is_near_them(
    make_run: MakeRun,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = people(3000) | {
        "tells": [
            (age - 20) // 10 if i % 2 else i % 4 for i, age in enumerate(people(3000)["age"])
        ],
    }
    run = make_run(table, **ROLES, insensitive_attributes=["colour", "tells"])
    whole = guard(run)
    assert 0.1 < shares(whole)[("tells", "age")] < 0.5
    monkeypatch.setattr(insensitive, "SAMPLE", 1000)
    drawn = guard(run)
    assert drawn == guard(run, partitions=5)
    assert drawn["combinations"] == whole["combinations"]
    assert shares(drawn) == {
        key: pytest.approx(share, abs=0.06) for key, share in shares(whole).items()
    }
    assert drawn != whole


def test_a_column_called_rows_is_one_like_others(make_run: MakeRun) -> None:
    table = people()
    run = make_run(
        pa.table({**table, "rows": table["colour"], "q0": table["colour"]}),
        **ROLES,
        insensitive_attributes=["rows", "q0"],
    )
    assert guard(run)["combinations"] == 3


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("columns", [5, 30])
def test_the_smallest_set_is_found(size: int, columns: int) -> None:
    names = [f"c{i}" for i in range(columns)]
    wanted = set(names[1 : 1 + size])

    def measure(candidates: Any) -> list[float]:
        return [float(len(wanted & set(candidate))) for candidate in candidates]

    assert smallest_set(names, measure, size - 0.5) == tuple(names[1 : 1 + size])


def test_a_pair_that_no_single_column_hints_at_is_found() -> None:
    names = [f"c{i}" for i in range(6)]
    assert smallest_set(names, lambda sets: [float({"c2", "c5"} <= set(s)) for s in sets], 0.5) == (
        "c2",
        "c5",
    )
