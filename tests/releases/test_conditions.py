"""Releases with a beta, a frequency l, or a t of 0: every class holds, judged in fractions from
what is published.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator
from people import read
from strategies import CITIES
from town import ROLES, Shown, months, rows

from tclose_spark import pipeline
from tclose_spark.errors import ConfigurationError, UnreachableError
from tclose_spark.io.run import Run

SCHEMA = Path(pipeline.__file__).parent / "report/certificate.schema.json"
METHODS: dict[str, dict[str, Any]] = {
    "tree": {"name": "closeness_tree", "effort": "balanced"},
    "disjoint": {"name": "closeness_tree", "effort": "fast", "overlap": "none"},
    "mondrian": {"name": "t_mondrian"},
    "incognito": {"name": "t_incognito"},
    "mdav": {"name": "microaggregation", "algorithm": 1},
    "refined": {"name": "microaggregation", "algorithm": 2},
    "buckets": {"name": "microaggregation", "algorithm": 3},
    "sabre": {"name": "sabre"},
    "dealt": {"name": "stack_and_deal"},
    "layered": {"name": "stack_and_deal", "deal": "layered"},
    "exact": {"name": "exact", "search_seconds": 20},
}
REQUIRED: dict[str, dict[str, Any]] = {
    "beta": {"beta": "4/5"},
    "frequency": {"l": {"frequency": "3/2"}},
    "all": {"t": "0.3", "beta": 1, "l": {"frequency": "1.6", "distinct": 2}},
}
QUASI: dict[str, Any] = {"age": {"type": "numeric"}, "city": {"hierarchy": "cities.csv"}}
Parts = list[Counter[Any]]


def town(seed: int, n: int) -> pa.Table:
    """Records whose disease depends on their age, so that narrow classes are far from the table."""
    draw = np.random.default_rng(seed)
    age = draw.integers(0, 90, n)
    old = draw.random(n) < age / 90
    disease = np.where(
        old,
        draw.choice(["gout", "ulcer"], n),
        draw.choice(["flu", "flu", "cold"], n),
    )
    return pa.table({"age": age, "city": draw.choice(CITIES.leaves, n), "disease": disease})


@pytest.fixture
def release(
    tmp_path: Path,
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
) -> Callable[..., tuple[Parts, dict[str, Any]]]:
    """`release(table, disease settings, method, ...)`: (the diseases of each class, the
    certificate).
    """

    def made(
        table: pa.Table,
        disease: Mapping[str, Any],
        method: Mapping[str, Any],
        **given: Any,
    ) -> Any:
        settings = {
            "quasi": QUASI,
            "k": 3,
            **given,
            "sensitive": {"disease": disease},
            "method": method,
        }
        conf = write_run(tmp_path, table, **settings)
        certificate = pipeline.release(open_run(conf))
        Draft202012Validator(json.loads(SCHEMA.read_text())).validate(certificate)
        found: dict[Any, Counter[Any]] = defaultdict(Counter)
        for row in read(tmp_path / "out/public/release").to_dict("records"):
            found[row["age"], row["city"]][row["disease"]] += 1
        return list(found.values()), certificate

    return made


def beta_of(parts: Parts) -> Fraction:
    whole = sum(parts, Counter())
    lifts = [
        Fraction(n, part.total()) / Fraction(whole[v], whole.total())
        for part in parts
        for v, n in part.items()
    ]
    return max(lifts) - 1


def frequency_of(parts: Parts) -> Fraction:
    return min(Fraction(part.total(), max(part.values())) for part in parts)


@pytest.mark.parametrize(
    "required",
    ["all", *(pytest.param(n, marks=pytest.mark.more) for n in REQUIRED if n != "all")],
)
@pytest.mark.parametrize("method", METHODS)
def test_every_class_of_every_method_holds(
    method: str,
    required: str,
    release: Callable[..., Any],
) -> None:
    table, asked = town(len(method), 16 if method == "exact" else 240), REQUIRED[required]
    parts, certificate = release(table, asked, METHODS[method])
    assert len(parts) > 1
    assert sum(map(Counter.total, parts)) == table.num_rows
    assert min(map(Counter.total, parts)) >= 3
    guarantees = certificate["guarantees"]
    if "beta" in asked:
        assert beta_of(parts) <= Fraction(asked["beta"])
        assert guarantees["beta"]["disease"]["achieved_exact"] == str(beta_of(parts))
    if "l" in asked:
        assert frequency_of(parts) >= Fraction(asked["l"]["frequency"])
        assert guarantees["l"]["disease"]["frequency"]["achieved"] == pytest.approx(
            float(frequency_of(parts)),
        )


@pytest.mark.parametrize("method", ["tree", "disjoint", "mdav", "incognito"])
def test_without_a_requirement_classes_break_it(method: str, release: Callable[..., Any]) -> None:
    """The table is one on which the requirements limit what methods do."""
    parts, certificate = release(town(len(method), 240), {"t": "0.9"}, METHODS[method])
    assert beta_of(parts) > 1
    assert frequency_of(parts) < Fraction(3, 2)
    assert (
        certificate["information"]["attributes"]["disease"]["delta_disclosure"]["largest"] is None
    )
    assert "beta" not in certificate["guarantees"]


def test_the_program_of_the_exact_method_caps_shares(release: Callable[..., Any]) -> None:
    """A table of more rows than subsets are tried for."""
    table = pa.table(
        {
            "age": [20, 20, 30, 30] * 6,
            "city": ["Pisa", "Lyon"] * 12,
            "disease": ["flu", "gout", "flu"] * 8,
        },
    )
    parts, certificate = release(
        table,
        {"beta": "1/2", "l": {"frequency": "1.2"}},
        METHODS["exact"],
    )
    assert beta_of(parts) <= Fraction(1, 2)
    assert certificate["utility"]["optimum"] == "proven"


@pytest.mark.parametrize(
    "method",
    ["tree", "disjoint", "mondrian", "incognito", "dealt", "layered", "exact"],
)
def test_with_a_t_of_0_every_class_has_the_distribution_of_the_table(
    method: str,
    release: Callable[..., Any],
) -> None:
    many = 4 if method == "exact" else 20
    table = pa.table(
        {
            "age": [10 * i for i in range(many) for _ in range(3)],
            "city": [CITIES.leaves[i % 2] for i in range(many) for _ in range(3)],
            "disease": ["flu", "flu", "gout"] * many,
        },
    )
    parts, certificate = release(table, {"t": 0}, METHODS[method])
    assert len(parts) > 1
    assert all(2 * part["gout"] == part["flu"] for part in parts)
    assert certificate["guarantees"]["t"]["disease"] == {
        "distance": "equal",
        "required": 0.0,
        "required_exact": "0",
        "achieved": 0.0,
        "achieved_exact": "0",
    }


@pytest.mark.parametrize("method", ["tree", "mondrian", "incognito", "dealt"])
def test_with_a_t_of_0_a_table_that_does_not_divide_is_one_class(
    method: str,
    release: Callable[..., Any],
) -> None:
    diseases = ["a", "b", "a", "b", "c"] * 4 + ["a", "b", "b"]
    table = pa.table({"age": [*range(23)], "city": ["Pisa"] * 23, "disease": diseases})
    parts, certificate = release(table, {"t": 0}, METHODS[method])
    assert len(parts) == 1
    assert any(
        "t of disease is binding (0.0000 of 0)" in warning for warning in certificate["warnings"]
    )


def test_a_frequency_that_the_table_itself_lacks_cannot_be_reached(
    release: Callable[..., Any],
) -> None:
    table = pa.table(
        {"age": [*range(10)], "city": ["Pisa"] * 10, "disease": ["flu"] * 5 + ["gout"] * 5},
    )
    for method in ("tree", "dealt", "incognito", "exact", "sabre"):
        with pytest.raises(
            UnreachableError,
            match=r"disease\.l\.frequency is 2\.5, .* one in 2\.000000 of all rows",
        ):
            release(table, {"l": {"frequency": "2.5"}}, METHODS[method], output={"path": method})
    parts, _ = release(table, {"l": {"frequency": 2}}, METHODS["tree"])
    assert frequency_of(parts) == 2


@pytest.mark.parametrize(
    ("disease", "named"),
    [
        (
            {"t": "0.5", "beta": 2},
            r"disease\.beta: method fragmentation does not make it; expected method: .*sabre",
        ),
        (
            {"t": "0.5", "l": {"frequency": 2}},
            r"disease\.l\.frequency: method fragmentation makes no frequency l",
        ),
        (
            {"t": 0},
            r"disease\.t: 0: method fragmentation does not make it; expected method: \{name: closeness_tree or",
        ),
    ],
)
def test_a_method_that_cannot_make_a_condition_refuses(
    disease: dict[str, Any],
    named: str,
    release: Callable[..., Any],
) -> None:
    with pytest.raises(ConfigurationError, match=named):
        release(town(0, 20), disease, {"name": "fragmentation"})


def test_a_suppressed_class_of_the_input_holds_too(release: Callable[..., Any]) -> None:
    """Six people whose ages nobody shares are left out; their diseases are those of the table."""
    age = [10, 20, 30, 40] * 30 + [71, 75, 79, 83, 87, 91]
    disease = [["flu", "flu", "gout"][i // 4 % 3] for i in range(120)] + ["flu", "flu", "gout"] * 2
    table = pa.table({"age": age, "city": ["Pisa"] * 126, "disease": disease})
    privacy, asked = (
        {"suppression_limit": "0.1", "of": "input"},
        {"beta": "1/2", "l": {"frequency": "1.5"}},
    )
    _, certificate = release(table, asked, METHODS["incognito"], privacy=privacy)
    assert certificate["suppressed"]["rows"] > 0
    of_suppressed = certificate["suppressed"]["guarantees"]
    assert of_suppressed["beta"]["disease"]["achieved"] <= 0.5
    assert of_suppressed["l"]["disease"]["frequency"]["achieved"] >= 1.5


def test_with_released_rows_shares_are_compared_with_those(release: Callable[..., Any]) -> None:
    """Two people with a disease of their own need a class of most of the table, or have to go."""
    rare = pa.table({"age": [40, 41], "city": ["Nice", "Nice"], "disease": ["plague", "plague"]})
    privacy = {"suppression_limit": "0.3", "of": "released"}
    table = pa.concat_tables([town(5, 200), rare.cast(town(5, 200).schema)])
    parts, certificate = release(table, {"beta": "3/2"}, METHODS["incognito"], privacy=privacy)
    assert certificate["suppressed"]["rows"] > 0
    assert all("plague" not in part for part in parts)
    assert beta_of(parts) <= Fraction(3, 2)


# --- people


@pytest.mark.parametrize("method", ["tree", "disjoint", "mondrian", "incognito"])
@pytest.mark.parametrize("together", ["together", "apart"])
def test_shares_are_of_people_too(
    method: str,
    together: str,
    release: Callable[..., Any],
    tmp_path: Path,
) -> None:
    table = town(len(together), 240)
    person = [f"p{i // 3 if i % 7 else i}" for i in range(table.num_rows)]
    first = [person.index(one) for one in person]  # rows of a person have one age and city
    table = pa.table(
        {
            **{name: table[name].take(first) for name in ("age", "city")},
            "disease": table["disease"],
        },
    )
    table = table.append_column("id", pa.array(person))
    asked = {"beta": 1, "l": {"frequency": "1.6"}}
    parts, certificate = release(
        table,
        asked,
        METHODS[method],
        person={"column": "id", "rows": together},
        output={"keep_linked": True},
    )
    assert len(parts) > 1
    assert beta_of(parts) <= 1
    assert frequency_of(parts) >= Fraction(8, 5)
    people = read(tmp_path / "out/internal/people").to_dict("records")
    times = Counter(row["person_hash"] for row in people)
    assert max(times.values()) > 1
    weights: dict[Any, Counter[str]] = defaultdict(Counter)
    for row in people:
        weights[row["age"], row["city"]][row["disease"]] += Fraction(1, times[row["person_hash"]])
    whole = sum(weights.values(), Counter())
    shares = [
        (n / sum(part.values()), whole[v] / sum(whole.values()))
        for part in weights.values()
        for v, n in part.items()
    ]
    assert max(p / q for p, q in shares) - 1 <= 1
    assert max(p for p, _ in shares) <= Fraction(5, 8)
    over = certificate["guarantees"]["beta"]["disease"]["over_people"]
    assert over == {
        "achieved": pytest.approx(float(max(p / q for p, q in shares) - 1)),
        "holds": True,
    }
    frequency = certificate["guarantees"]["l"]["disease"]["frequency"]["over_people"]
    assert frequency == {
        "achieved": pytest.approx(float(1 / max(p for p, _ in shares))),
        "holds": True,
    }


def test_a_t_of_0_is_not_of_people(release: Callable[..., Any]) -> None:
    table = town(0, 20).append_column("id", pa.array(range(20)))
    with pytest.raises(
        ConfigurationError,
        match=r"disease\.t: 0: not with attributes\.person, since it is over rows",
    ):
        release(table, {"t": 0}, METHODS["tree"], person="id")


# --- releases that continue one another


@pytest.fixture
def line(
    tmp_path: Path,
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
) -> Callable[..., tuple[Path, dict[str, Any]]]:
    """`line(number, town, after, disease settings)`: (the output, the certificate)."""

    def made(
        number: int,
        now: Mapping[str, Any],
        after: int | None,
        disease: Mapping[str, Any],
    ) -> Any:
        output = {} if after is None else {"after": f"../{after}/out"}
        given = {**ROLES, "sensitive": {"disease": disease}}
        conf = write_run(tmp_path / str(number), rows(now), output=output, **given)
        return conf.parent / "out", pipeline.release(open_run(conf))

    return made


def test_classes_and_newcomers_of_later_releases_hold(line: Callable[..., Any]) -> None:
    asked = {"t": "0.4", "beta": "3/2", "l": {"frequency": "1.3"}}
    for number, now in enumerate(islice(months(4, 150), 3)):
        output, certificate = line(number, now, number - 1 if number else None, asked)
        shown = Shown.of(output)
        parts: dict[Any, Counter[str]] = defaultdict(Counter)
        for person, class_ in shown.class_of.items():
            parts[class_][shown.disease[person]] += 1
        assert beta_of(list(parts.values())) <= Fraction(3, 2)
        assert frequency_of(list(parts.values())) >= Fraction(13, 10)
    assert certificate["earlier"]["newcomers"]["people"] > 0


@pytest.mark.parametrize(
    ("stricter", "named"),
    [
        ({"t": "0.4", "beta": 1}, "beta of disease is stricter"),
        ({"t": "0.4", "beta": "3/2", "l": {"frequency": 2}}, "l of disease is stricter"),
    ],
)
def test_a_later_release_requires_no_more(
    stricter: dict[str, Any],
    named: str,
    line: Callable[..., Any],
) -> None:
    first, second = islice(months(4, 150), 2)
    line(0, first, None, {"t": "0.4", "beta": "3/2", "l": {"frequency": "1.3"}})
    with pytest.raises(UnreachableError, match=named):
        line(1, second, 0, stricter)
