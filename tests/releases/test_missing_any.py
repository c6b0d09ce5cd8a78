"""Releases of tables in which a missing quasi-identifier could be any value (`missing: any`)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import deltalake
import numpy as np
import pyarrow as pa
import pytest
from strategies import CITIES

from tclose_spark import pipeline
from tclose_spark.errors import ConfigurationError, GuaranteeError, InputError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run
from tclose_spark.measures.loss.information_loss import interval_ends, set_members
from tclose_spark.runfile.loading import load_spec
from tclose_spark.table.labels import NumericLabels

ROWS = 240
ANY = {"missing": "any"}
PATHS = {path[0]: path for path in CITIES.paths}
QUASI: dict[str, dict[str, Any]] = {
    "age": {"type": "numeric", **ANY},
    "height": {"type": "numeric", "numeric_output": "bounds", "round_to": "0.5", **ANY},
    "city": {"hierarchy": "cities.csv", **ANY},
    "site": {"generalization": "set", **ANY},
}
METHODS = [
    {"name": "closeness_tree", "effort": "fast"},
    {"name": "closeness_tree", "effort": "fast", "overlap": "none"},
    {"name": "stack_and_deal"},
    {"name": "fragmentation"},
    {"name": "microaggregation", "algorithm": 1},
    {"name": "sabre"},
    {"name": "t_mondrian"},
    {"name": "t_incognito"},
]


def people(rows: int = ROWS, share: float = 0.2, seed: int = 3) -> pa.Table:
    """A table with this share of missing values in each quasi-identifier. `id` numbers its rows."""
    draw = np.random.default_rng(seed)

    def column(values: Any, kind: pa.DataType) -> pa.Array:
        return pa.array(np.asarray(values), kind, mask=draw.random(rows) < share)

    return pa.table(
        {
            "id": range(rows),
            "age": column(draw.integers(18, 90, rows), pa.int32()),
            "height": column(draw.integers(150, 200, rows) + 0.25, pa.float64()),
            "city": column(draw.choice(CITIES.leaves, rows), pa.string()),
            "site": column(draw.choice(["a", "b", "c", "d"], rows), pa.string()),
            "disease": draw.choice(["flu", "cold", "none"], rows).tolist(),
        },
    )


def open_release(
    make_run: Callable[..., Any],
    table: pa.Table,
    quasi: Mapping[str, Any] = QUASI,
    **settings: Any,
) -> Any:
    """The run of a table, or its run file."""
    table = table.select(
        [name for name in table.column_names if name in {*quasi, "id", "disease", "who"}],
    )
    asked = {
        "insensitive_attributes": ["id"],
        "allow_unique": ["id"],
        "k": 4,
        "sensitive": {"disease": {"t": "0.45"}},
    }
    return make_run(table, quasi=quasi, **{**asked, **settings})


def released(run: Run) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (
        deltalake.DeltaTable(run.public.path("release")).to_pyarrow_table().to_pylist()
    )
    return rows


def covers(quasi: Mapping[str, Any], name: str, row: Mapping[str, Any], value: Any) -> bool:
    """Whether a known value is in the region of a row's label, read from the label alone."""
    if quasi[name].get("numeric_output") == "bounds":
        return row[f"{name}_min"] is not None and bool(
            row[f"{name}_min"] <= value <= row[f"{name}_max"],
        )
    label = row[name]
    if label is None or label == "*":
        return bool(label == "*")
    if quasi[name].get("type") == "numeric":
        low, high = interval_ends(label)
        return bool(low <= Fraction(str(value)) <= high)
    return label in PATHS[value] if name == "city" else value in set_members(label)


def labels_of(quasi: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[Any, ...]:
    two = {name for name in quasi if quasi[name].get("numeric_output") == "bounds"}
    return tuple(
        row[c]
        for name in quasi
        for c in ([f"{name}_min", f"{name}_max"] if name in two else [name])
    )


def classes_of(quasi: Mapping[str, Any], rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    groups = defaultdict(list)
    for row in rows:
        groups[labels_of(quasi, row)].append(row)
    return [*groups.values()]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: "_".join(map(str, m.values())))
def test_every_method_releases_classes_that_hold_by_their_labels(
    method: dict[str, Any],
    make_run: Callable[..., Run],
) -> None:
    table = people()
    run = open_release(make_run, table, method=method)
    certificate = pipeline.release(run)
    rows, raw = released(run), table.to_pylist()
    assert certificate["verdict"] == "holds"
    assert len(rows) == ROWS

    whole, worst = Counter(row["disease"] for row in raw), Fraction(0)
    classes = classes_of(QUASI, rows)
    for members in classes:
        own = Counter(row["disease"] for row in members)
        parts = [abs(Fraction(own[v], len(members)) - Fraction(n, ROWS)) for v, n in whole.items()]
        worst = max(worst, sum(parts, Fraction(0)) / 2)
    assert min(map(len, classes)) == certificate["guarantees"]["k"]["achieved"] >= 4
    assert (
        worst
        == Fraction(certificate["guarantees"]["t"]["disease"]["achieved_exact"])
        <= Fraction("0.45")
    )
    for row in rows:
        person = raw[row["id"]]
        assert person["disease"] == row["disease"]
        assert all(person[name] is None or covers(QUASI, name, row, person[name]) for name in QUASI)
    for name in QUASI:
        entry = certificate["attributes"]["quasi_identifiers"][name]
        assert (entry["missing"], entry["missing_rows"]) == ("any", table[name].null_count)


@pytest.mark.parametrize("method", METHODS[2:6:3], ids=lambda m: str(m["name"]))
def test_no_label_is_wider_than_the_known_values_of_its_class(
    method: dict[str, Any],
    make_run: Callable[..., Run],
) -> None:
    table = people(share=0.4)
    run = open_release(make_run, table, method=method)
    pipeline.release(run)
    raw, nobody = table.to_pylist(), 0
    for members in classes_of(QUASI, released(run)):
        known = {
            name: [v for row in members if (v := raw[row["id"]][name]) is not None]
            for name in QUASI
        }
        label = members[0]
        nobody += sum(not values for values in known.values())
        assert (label["age"] is None) == (not known["age"])
        if known["age"]:
            assert interval_ends(label["age"]) == (min(known["age"]), max(known["age"]))
        assert (
            (label["height_min"] is None) == (label["height_max"] is None) == (not known["height"])
        )
        if known["height"]:
            assert label["height_min"] == np.floor(2 * min(known["height"])) / 2
            assert label["height_max"] == np.ceil(2 * max(known["height"])) / 2
        assert (label["site"] is None) == (not known["site"])
        if label["site"] not in (None, "*"):
            assert set(set_members(label["site"])) == set(known["site"])
        above = [
            node
            for node in PATHS.get(first(known["city"]), ())
            if all(node in PATHS[v] for v in known["city"])
        ]
        assert label["city"] == first(above)
    assert nobody, "some class knows no value"


def first(values: list[Any]) -> Any:
    return values[0] if values else None


def test_drawn_labels_keep_the_distribution_of_the_known_values(
    make_run: Callable[..., Run],
) -> None:
    """t-Mondrian cuts regions, so every row shows the value it was grouped by."""
    n, draw = 6_000, np.random.default_rng(5)
    known = draw.choice(["f", "m"], n, p=[0.75, 0.25])
    table = pa.table(
        {
            "id": range(n),
            "sex": pa.array(known, pa.string(), mask=draw.random(n) < 0.5),
            "year": pa.array(draw.integers(0, 2, n), pa.int32(), mask=draw.random(n) < 0.5),
            "disease": ["flu", "cold"] * (n // 2),
        },
    )
    quasi = {"sex": ANY, "year": {"type": "numeric", **ANY}}
    run = open_release(
        make_run,
        table,
        quasi,
        method={"name": "t_mondrian"},
        sensitive={"disease": {"t": "1"}},
    )
    pipeline.release(run)
    rows, raw = released(run), table.to_pylist()
    missing = [row for row in rows if raw[row["id"]]["sex"] is None]
    share = Counter(row["sex"] for row in missing)["f"] / len(missing)
    real = Counter(row["sex"] for row in raw if row["sex"])
    assert {row["sex"] for row in rows} == {"f", "m"}
    assert abs(share - real["f"] / real.total()) < 4 * (0.75 * 0.25 / len(missing)) ** 0.5
    both = Counter((row["sex"], row["year"]) for row in missing if raw[row["id"]]["year"] is None)
    expected = {(s, y): w / 2 for s, w in (("f", 0.75), ("m", 0.25)) for y in ("0", "1")}
    for pair, chance in expected.items():  # draws of two columns are independent
        assert (
            abs(both[pair] / both.total() - chance)
            < 5 * (chance * (1 - chance) / both.total()) ** 0.5
        )


@pytest.mark.parametrize("person", [None, "together", "apart"])
def test_both_engines_and_any_order_give_one_release(
    person: str | None,
    spark: Any,
    run_file: Callable[..., Path],
) -> None:
    table = people()
    if person is not None:
        table = table.append_column("who", pa.array([f"p{i % 150}" for i in range(ROWS)]))
    settings = {} if person is None else {"person": {"column": "who", "rows": person}}
    figures = []
    for session in (LocalSession(), spark):
        for order in (range(ROWS), range(ROWS)[::-1]):
            path = open_release(run_file, table.take(list(order)), method=METHODS[0], **settings)
            certificate = pipeline.release(Run(load_spec(path), session, lambda line: None, True))
            figures.append(
                (
                    certificate["release"]["fingerprint"],
                    certificate["guarantees"],
                    certificate["utility"],
                ),
            )
    assert figures.count(figures[0]) == len(figures)


@pytest.mark.parametrize("rows", ["together", "apart"])
def test_people_with_several_rows(rows: str, make_run: Callable[..., Run]) -> None:
    """A person's rows that stay together draw one value, so a method that cuts regions gives them
    one class.
    """
    table = people(share=0.4).append_column("who", pa.array([f"p{i % 60}" for i in range(ROWS)]))
    if rows == "together":
        table = table.set_column(1, "age", table["age"].take([i % 60 for i in range(ROWS)]))
    quasi = {name: QUASI[name] for name in ("age", "site")}
    run = open_release(
        make_run,
        table,
        quasi,
        method=METHODS[0],
        person={"column": "who", "rows": rows},
    )
    certificate = pipeline.release(run)
    assert certificate["verdict"] == "holds"
    raw = table.to_pylist()
    for members in classes_of(quasi, released(run)):
        assert len({raw[row["id"]]["who"] for row in members}) >= 4
    of_person = defaultdict(set)
    for row in released(run):
        of_person[raw[row["id"]]["who"]].add(labels_of(quasi, row))
        person = raw[row["id"]]
        assert all(person[name] is None or covers(quasi, name, row, person[name]) for name in quasi)
    assert rows == "apart" or all(len(labels) == 1 for labels in of_person.values())


def test_no_label_names_a_value_that_only_suppressed_rows_have(
    make_run: Callable[..., Run],
) -> None:
    """Missing ages may be drawn from those of suppressed rows, but labels name known values of
    released rows.
    """
    table = people(share=0.3)
    old = [i for i in range(ROWS) if table["age"][i].as_py() is not None][:8]
    ages = [
        1_000 * (old.index(i) + 1) if i in old else age
        for i, age in enumerate(table["age"].to_pylist())
    ]
    table = table.set_column(1, "age", pa.array(ages, pa.int32()))
    run = open_release(
        make_run,
        table,
        {
            "age": {"type": "numeric", "coarsest": 60, **ANY},
            "site": {"hierarchy": {"prefix": [1]}, **ANY},
        },
        method=METHODS[0],
        sensitive={"disease": {"t": "0.7"}},
        privacy={"suppression_limit": 0.3},
    )
    certificate = pipeline.release(run)
    rows, raw = released(run), table.to_pylist()
    assert len(rows) == ROWS - certificate["suppressed"]["rows"] < ROWS
    assert {row["id"] for row in rows}.isdisjoint(old)
    assert all(interval_ends(row["age"])[1] < 1_000 for row in rows if row["age"] is not None)
    assert any(row["age"] is not None and raw[row["id"]]["age"] is None for row in rows)


@pytest.mark.parametrize("method", [METHODS[1], *METHODS[6:]], ids=lambda m: str(m["name"]))
def test_disjoint_regions_stay_disjoint_if_most_values_are_missing(
    method: dict[str, Any],
    make_run: Callable[..., Run],
) -> None:
    table = people(rows=400, share=0.9)
    run = open_release(make_run, table, method=method)
    certificate = pipeline.release(run)
    assert certificate["regions"] == "disjoint"
    assert certificate["release"]["classes"] > 1
    assert all(row["age"] is not None for row in released(run))


@pytest.mark.parametrize("method", [METHODS[1], *METHODS[6:]], ids=lambda m: str(m["name"]))
def test_disjoint_regions_with_suppression_are_refused(
    method: dict[str, Any],
    make_run: Callable[..., Run],
) -> None:
    with pytest.raises(
        ConfigurationError,
        match="regions of missing values may show those of suppressed rows",
    ):
        open_release(make_run, people(), method=method, privacy={"suppression_limit": 0.1})


def test_a_column_without_any_value_is_missing_in_the_release(make_run: Callable[..., Run]) -> None:
    table = people().set_column(4, "site", pa.nulls(ROWS, pa.string()))
    run = open_release(make_run, table, method=METHODS[0])
    assert pipeline.release(run)["attributes"]["quasi_identifiers"]["site"]["missing_rows"] == ROWS
    assert {row["site"] for row in released(run)} == {None}


def test_numbers_that_are_all_missing_are_an_error(make_run: Callable[..., Run]) -> None:
    table = people().set_column(1, "age", pa.nulls(ROWS, pa.int32()))
    with pytest.raises(InputError, match=r"'age' is missing in all 240 rows; leave it out"):
        pipeline.release(open_release(make_run, table))


def test_aggregates_do_not_take_the_setting(make_run: Callable[..., Run]) -> None:
    method = {"name": "microaggregation", "algorithm": 1, "representative": "mean"}
    with pytest.raises(
        ConfigurationError,
        match=r"quasi_identifiers\.age\.missing: any: not with method\.representative",
    ):
        open_release(make_run, people(), {"age": QUASI["age"]}, method=method)


def test_bounds_without_the_setting_name_it(make_run: Callable[..., Run]) -> None:
    quasi = {"height": {"type": "numeric", "numeric_output": "bounds"}}
    with pytest.raises(InputError, match=r"use numeric_output: interval, or missing: any"):
        pipeline.release(open_release(make_run, people(), quasi))


def test_a_wrong_label_of_a_known_value_is_still_refused(
    run_file: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On the local engine: a patch of this process does not reach the workers of Spark."""
    monkeypatch.setattr(
        NumericLabels,
        "ends",
        lambda self, low, high: ([0] * len(low), [17] * len(low)),
    )
    path = open_release(run_file, people(), {"age": QUASI["age"]})
    run = Run(load_spec(path), LocalSession(), lambda line: None)
    known = ROWS - people()["age"].null_count
    with pytest.raises(
        GuaranteeError,
        match=f"^{known} rows have a label that does not cover their value",
    ):
        pipeline.release(run)
