"""Releases whose distance is between bins of equal width or equal steps (`domain`), judged by code
of its own.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from oracle.distances import distance, shares
from oracle.third_party import read_table
from pyarrow import csv
from typer.testing import CliRunner

import tclose_spark as tc
from tclose_spark import pipeline
from tclose_spark.cli.commands import app
from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.run import Run

DATA = Path(
    os.environ.get("TCLOSE_DATA") or Path(__file__).parents[2] / ".." / "shared" / "data",
).resolve()
HEART = DATA / "heart/heart_1025.csv"
with_heart = pytest.mark.skipif(not HEART.is_file(), reason="no table heart (set TCLOSE_DATA)")
FREQUENCIES = [42, 247, 359, 231, 120, 10, 13, 0, 0, 3]
"""Of cholesterol in ten bins (Gowda 2023, 3.6 lists them in descending order)."""
GOWDA = {
    "name": "stack_and_deal",
    "stack_order": "frequency",
    "deal": "round_robin",
    "class_size": "k",
}
METHODS: list[dict[str, Any]] = [
    {"name": "closeness_tree", "effort": "fast"},
    {"name": "stack_and_deal"},
    {"name": "stack_and_deal", "deal": "layered"},
    {"name": "fragmentation"},
    {"name": "fragmentation", "bounds": "paper"},
    {"name": "t_mondrian"},
    {"name": "t_incognito"},
    {"name": "microaggregation", "algorithm": 1},
    {"name": "microaggregation", "algorithm": 3},
    {"name": "sabre"},
]
QUASI = {"age": {"type": "numeric"}, "sex": {}}
PAYS = [0, 1, 2, 10, 11, 50]


def people(rows: int = 120) -> pa.Table:
    draw = np.random.default_rng(5)
    pay = draw.choice(PAYS, rows, p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.1])
    return pa.table(
        {"age": draw.integers(18, 80, rows), "sex": ["fm"[i % 2] for i in range(rows)], "pay": pay},
    )


def in_bins(value: float, low: float, high: float, bins: int) -> int:
    """The bin of a value, an edge in the bin above it."""
    edges = [Fraction(low) + Fraction(high - low) * i / bins for i in range(bins)]
    return max(i for i, edge in enumerate(edges) if edge <= value)


def in_fifths(pay: int) -> int:
    return in_bins(pay, 0, 50, 5)


RULES: dict[str, tuple[dict[str, Any], Callable[[int], int], int]] = {
    "five bins": ({"equal_width": 5}, in_fifths, 5),
    "one by one": ({"step": 1}, lambda pay: pay, 51),
    "by fours": ({"step": 4}, lambda pay: pay // 4, 13),
}


def farthest(
    released: Sequence[dict[str, Any]],
    place: Callable[[Any], int],
    size: int,
    column: str,
) -> Fraction:
    """The largest distance of a class from the table, over places."""
    classes: dict[tuple[Any, ...], Counter[int]] = {}
    for row in released:
        key = tuple(value for name, value in row.items() if name != column)
        classes.setdefault(key, Counter())[place(row[column])] += 1
    whole = shares(sum(classes.values(), Counter()))
    return max(distance(shares(part), whole, range(size)) for part in classes.values())


@pytest.mark.parametrize(("rule", "place", "size"), RULES.values(), ids=RULES.keys())
def test_distances_are_between_places(
    rule: dict[str, Any],
    place: Callable[[int], int],
    size: int,
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    sensitive = {"pay": {"distance": "ordered", "t": "0.15", "domain": rule}}
    certificate = pipeline.release(make_run(people(), sensitive=sensitive, quasi=QUASI))
    released = read_table(tmp_path / "out/public/release")
    entry, found = (
        certificate["attributes"]["sensitive"]["pay"],
        farthest(released, place, size, "pay"),
    )
    assert sorted(row["pay"] for row in released) == sorted(
        people()["pay"].to_pylist(),
    )  # published as they are
    assert certificate["guarantees"]["t"]["pay"]["achieved_exact"] == str(found)
    assert found <= Fraction(15, 100)
    held = {place(pay) for pay in PAYS}
    assert (entry["m"], entry["places"]["size"]) == (size, size)
    assert entry["places"]["empty"]["places"] == [i for i in range(size) if i not in held]
    ends = [Fraction(end) for end in entry["places"]["ends"]["ends"]]
    assert [sum(a <= pay for a in ends[1:-1]) for pay in PAYS] == [place(pay) for pay in PAYS]
    assert (ends[0], len(ends)) == (0, size + 1)
    page, codebook = (
        (tmp_path / "out/public/report.html").read_text(),
        (tmp_path / "out/public/codebook.csv").read_text(),
    )
    assert f"places are {size} " in page
    assert f"(ordered, between {size} places)" in codebook


@pytest.mark.parametrize("method", METHODS, ids=lambda m: "-".join(str(x) for x in m.values()))
def test_every_method_measures_between_places(
    method: dict[str, Any],
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    sensitive = {"pay": {"distance": "ordered", "t": "0.15", "domain": {"equal_width": 5}}}
    certificate = pipeline.release(
        make_run(people(), quasi=QUASI, sensitive=sensitive, method=method),
    )
    found = farthest(read_table(tmp_path / "out/public/release"), in_fifths, 5, "pay")
    assert certificate["guarantees"]["t"]["pay"]["achieved_exact"] == str(found)
    assert found <= Fraction(15, 100)


def test_the_exact_method_measures_between_places(
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    sensitive = {"pay": {"distance": "ordered", "t": "0.2", "domain": {"step": 1}}}
    pipeline.release(
        make_run(people(14), quasi=QUASI, sensitive=sensitive, k=2, method={"name": "exact"}),
    )
    released = read_table(tmp_path / "out/public/release")
    low, high = min(row["pay"] for row in released), max(row["pay"] for row in released)
    assert farthest(released, lambda pay: pay - low, high - low + 1, "pay") <= Fraction(1, 5)


def test_an_audit_measures_between_places() -> None:
    """With two bins, 0 to 11 are one place and 50 the other, so only the share of 50 counts."""
    rows = people().to_pylist()
    richest = {sex: [row["pay"] == 50 for row in rows if row["sex"] == sex] for sex in "fm"}
    share = Fraction(sum(row["pay"] == 50 for row in rows), len(rows))
    found = tc.audit(
        people(),
        ["sex"],
        {"pay": {"distance": "ordered", "domain": {"equal_width": 2}}},
        k=2,
        attacks=False,
    )
    (reached,) = [g.achieved for g in found.guarantees if g.measure == "t-closeness"]
    assert (
        reached == max(abs(Fraction(sum(held), len(held)) - share) for held in richest.values()) > 0
    )


@pytest.mark.parametrize("setting", ["equal_width=5", "step=10"])
def test_the_command_line_has_places(setting: str, tmp_path: Path) -> None:
    csv.write_csv(people().drop_columns("age"), tmp_path / "people.csv")
    options = [
        "-q",
        "sex",
        "-s",
        f"pay:ordered:t=0.9,{setting}",
        "--option",
        "inferSchema=true",
        "--json",
    ]
    result = CliRunner().invoke(app, ["audit", str(tmp_path / "people.csv"), *options])
    (listed,) = [
        g for g in json.loads(result.stdout)["guarantees"] if g["measure"] == "t-closeness"
    ]
    place, size = (in_fifths, 5) if setting == "equal_width=5" else (lambda pay: pay // 10, 6)
    rows = [{"sex": row["sex"], "pay": row["pay"]} for row in people().to_pylist()]
    assert (result.exit_code, listed["achieved_exact"]) == (
        0,
        str(farthest(rows, place, size, "pay")),
    )


@pytest.mark.parametrize(("missing", "place"), [("lowest", 0), ("highest", 5)])
def test_missing_values_have_a_place_of_their_own(
    missing: str,
    place: int,
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    pays = [None if i % 7 == 0 else pay for i, pay in enumerate(people()["pay"].to_pylist())]
    sensitive = {
        "pay": {
            "distance": "ordered",
            "t": "0.3",
            "missing": missing,
            "domain": {"equal_width": 5},
        },
    }
    table = people().set_column(2, "pay", pa.array(pays))
    certificate = pipeline.release(make_run(table, quasi=QUASI, sensitive=sensitive))
    first = int(missing == "lowest")
    found = farthest(
        read_table(tmp_path / "out/public/release"),
        lambda pay: place if pay is None else in_fifths(int(pay)) + first,
        6,
        "pay",
    )
    assert certificate["guarantees"]["t"]["pay"]["achieved_exact"] == str(found)


@pytest.mark.parametrize("kind", ["distinct", "frequency"])
def test_an_l_is_of_values(kind: str, make_run: Callable[..., Run], tmp_path: Path) -> None:
    """Classes have two places, and none is more than 20 of 21 rows. Values then are not, either."""
    required = {"distinct": 2, "frequency": "1.05"}[kind]
    sensitive = {
        "pay": {
            "distance": "ordered",
            "t": "0.4",
            "domain": {"equal_width": 2},
            "l": {kind: required},
        },
    }
    certificate = pipeline.release(make_run(people(), quasi=QUASI, sensitive=sensitive))
    classes: dict[Any, Counter[int]] = {}
    for row in read_table(tmp_path / "out/public/release"):
        classes.setdefault((row["age"], row["sex"]), Counter())[row["pay"]] += 1
    places = [
        Counter(
            {place: sum(n for pay, n in part.items() if (pay >= 25) == place) for place in (0, 1)},
        )
        for part in classes.values()
    ]
    if kind == "distinct":
        assert certificate["guarantees"]["l"]["pay"]["distinct"]["achieved"] == min(
            map(len, classes.values()),
        )
        assert all(all(part.values()) for part in places)
    else:
        assert all(21 * max(part.values()) <= 20 * part.total() for part in places)


def test_methods_are_compared_between_places(make_run: Callable[..., Run], tmp_path: Path) -> None:
    sensitive = {"pay": {"distance": "ordered", "t": "0.15", "domain": {"equal_width": 5}}}
    make_run(people(), quasi=QUASI, sensitive=sensitive, method={"name": "stack_and_deal"})
    compared = tc.compare(None, tmp_path / "run.yaml", methods=["stack_and_deal"], log=None)
    run = make_run(people(), quasi=QUASI, sensitive=sensitive, method={"name": "stack_and_deal"})
    released = pipeline.release(run)["guarantees"]["t"]["pay"]
    (outcome,) = compared.outcomes
    assert (outcome.state, outcome.figures["emd"]["pay"]) == (
        "released",
        released["achieved_exact"],
    )


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "equal distance": ({"distance": "equal"}, {}, "pay.domain: it is for distance: ordered"),
    "a list": (
        {"order": [0, 1, 2, 10, 11, 50]},
        {},
        "pay.domain: not with order, .*distance: ordered by value",
    ),
    "bins": (
        {"bins": {"equal_width": 3}},
        {"method": {"name": "fragmentation"}},
        "pay.domain: not with bins",
    ),
    "beta": ({"beta": 1}, {}, "beta is of values"),
    "two rules": (
        {"domain": {"equal_width": 3, "step": 1}},
        {},
        "expected one of equal_width: N, step: S",
    ),
    "no step": ({"domain": {"step": 0}}, {}, "above 0"),
    "released": (
        {},
        {"privacy": {"suppression_limit": "0.1", "of": "released"}},
        "smallest and the largest value",
    ),
}


@pytest.mark.parametrize(("settings", "more", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_is_refused(
    settings: dict[str, Any],
    more: dict[str, Any],
    message: str,
    make_run: Callable[..., Run],
) -> None:
    pay = {"distance": "ordered", "t": "0.2", "domain": {"equal_width": 5}, **settings}
    with pytest.raises(ConfigurationError, match=message):
        make_run(people(), sensitive={"pay": pay}, quasi=QUASI, **more)


@pytest.mark.parametrize(
    ("values", "rule", "message"),
    [
        (["2020-01-01", "2021-01-01"] * 60, {"equal_width": 3}, "the values are no numbers"),
        ([0, 10**6] * 60, {"step": 1}, "1,000,001 places"),
    ],
    ids=["dates", "small steps"],
)
def test_values_without_places_are_an_error(
    values: list[Any],
    rule: dict[str, Any],
    message: str,
    make_run: Callable[..., Run],
) -> None:
    sensitive = {"pay": {"distance": "ordered", "t": "0.2", "domain": rule}}
    run = make_run(
        people().set_column(2, "pay", pa.array(values)),
        quasi=QUASI,
        sensitive=sensitive,
    )
    with pytest.raises(InputError, match=message):
        pipeline.release(run)


@with_heart
def test_the_ten_bins_of_cholesterol_have_the_printed_frequencies(
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    """Gowda 2023, 3.6: frequencies 359, 247, 231, 120, 42, 13, 10, 3, 0, 0, of numpy.histogram's
    bins.
    """
    certificate = release_heart(make_run, 10)
    entry = certificate["attributes"]["sensitive"]["chol"]
    ends = [Fraction(end) for end in entry["places"]["ends"]["ends"]]
    held = Counter(
        min(sum(end <= row["chol"] for end in ends) - 1, 9)
        for row in read_table(tmp_path / "out/public/release")
    )
    assert [held[i] for i in range(10)] == FREQUENCIES
    assert np.histogram(csv.read_csv(HEART)["chol"].to_numpy(), 10)[0].tolist() == FREQUENCIES
    assert entry["places"]["empty"] == {"size": 2, "places": [7, 8]}
    assert (entry["m"], ends[0], ends[-1]) == (10, 126, 564)


def release_heart(make_run: Callable[..., Run], k: int) -> dict[str, Any]:
    chol = {"distance": "ordered", "t": "measure", "domain": {"equal_width": 10}}
    table = csv.read_csv(HEART).select(["age", "chol"])
    numbered = table.append_column("row", pa.array(range(table.num_rows)))
    quasi = {
        "age": {"type": "numeric"},
        "row": {"type": "numeric"},
    }  # no two classes have the same labels
    return pipeline.release(
        make_run(numbered, quasi=quasi, sensitive={"chol": chol}, k=k, method=GOWDA),
    )


@with_heart
@pytest.mark.parametrize("k", [5, 10, 20])
def test_classes_are_those_of_figure_3_2(
    k: int,
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    """The figure has no numbers. Its red dots are the largest distance of the classes that the
    algorithm of 3.4 makes of these frequencies. The thesis does not say in which order of the bins;
    in its tables it is that of frequency.
    """
    achieved = release_heart(make_run, k)["guarantees"]["t"]["chol"]["achieved_exact"]
    stacked = [
        v
        for v in sorted(range(10), key=lambda v: (-FREQUENCIES[v], v))
        for _ in range(FREQUENCIES[v])
    ]
    e = len(stacked) // k
    dealt = [Counter(stacked[c::e]) for c in range(e)]
    classes: dict[Any, Counter[int]] = {}
    for row in read_table(tmp_path / "out/public/release"):
        classes.setdefault((row["age"], row["row"]), Counter())[
            in_bins(row["chol"], 126, 564, 10)
        ] += 1
    assert sorted(sorted(c.items()) for c in classes.values()) == sorted(
        sorted(c.items()) for c in dealt
    )
    whole = shares({v: n for v, n in enumerate(FREQUENCIES) if n})
    assert achieved == str(max(distance(shares(part), whole, range(10)) for part in dealt))
