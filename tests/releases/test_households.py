"""Releases whose classes have members of several households, counted anew from the raw table by a
column that is unique and published.
"""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from people import list_again, read, run_stages, tree

from tclose_spark import pipeline
from tclose_spark.api.audit import audit
from tclose_spark.engine.tables import collect, of_arrow, read_delta, write_delta
from tclose_spark.errors import ConfigurationError, GuaranteeError, InputError, UnreachableError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run
from tclose_spark.methods import attributes
from tclose_spark.methods.units import units_of
from tclose_spark.requirements.size import size_line
from tclose_spark.runfile.loading import load_spec

METHODS = ("closeness_tree", "t_mondrian", "t_incognito")
FOUR = {  # four households of four; two of them at each age
    "hh": [f"household-canary-{i // 4}" for i in range(16)],
    "age": [30] * 8 + [40] * 8,
    "disease": ["flu", "gout"] * 8,
}
AGE = {"quasi": {"age": {"type": "numeric"}}, "sensitive": {"disease": {"t": "0.5"}}}


def drawn_table(seed: int, n: int = 240) -> pa.Table:
    """People of households of one to nine, who live near one another and have one age or
    another.
    """
    draw = np.random.default_rng(seed)
    home = np.repeat(np.arange(n), draw.integers(1, 10, n))[:n]
    order = draw.permutation(n)
    columns = {
        "id": np.arange(n),
        "hh": home[order],
        "who": (home * 3 + draw.integers(0, 2, n))[order],
        "age": (20 + home % 40 + draw.integers(0, 3, n))[order],
        "city": np.array(["a", "b", "c", "d"])[(home // 12 % 4)[order]],
        "disease": np.array(["flu", "gout", "cold"])[draw.integers(0, 3, n)],
    }
    return pa.table(columns)


DRAWN: dict[str, Any] = {
    "quasi": {"age": {"type": "numeric"}, "city": {}},
    "sensitive": {"disease": {"t": "0.4"}},
    "insensitive_attributes": ["id"],
    "allow_unique": ["id"],
    "drop_others": True,
    "k": 4,
}


def classes(out: Path, table: pa.Table, owner: str) -> list[set[Any]]:
    """Whose rows each class has."""
    owners, found = (
        dict(zip(table["id"].to_pylist(), table[owner].to_pylist(), strict=True)),
        defaultdict(set),
    )
    for row in read(out / "public/release").to_dict("records"):
        found[row["age"], row["city"]].add(owners[row["id"]])
    return list(found.values())


def of_k(out: Path) -> dict[str, Any]:
    certificate: dict[str, Any] = json.loads((out / "public/certificate.json").read_text())
    return certificate["guarantees"]["k"]


@pytest.mark.parametrize("method", METHODS)
def test_four_households_of_four(method: str, make_run: Callable[..., Run], tmp_path: Path) -> None:
    asked = {**AGE, "k": 2, "method": {"name": method}}
    for k, reached, rows in ((2, 2, {8}), (3, 4, {16})):
        run = make_run(FOUR, household={"column": "hh", "k": k}, **asked)
        run.overwrite = True
        pipeline.release(run)
        assert of_k(tmp_path / "out")["over_households"] == {"required": k, "achieved": reached}
        assert set(read(tmp_path / "out/public/release").groupby("age").size()) == rows
    refused = make_run(FOUR, household={"column": "hh", "k": 5}, **asked)
    refused.overwrite = True
    with pytest.raises(
        UnreachableError,
        match=r"attributes.household.k is 5, but the table has 4 households",
    ):
        pipeline.release(refused)
    for name, content in tree(tmp_path / "out").items():
        assert b"household-canary" not in content, name
    page = (tmp_path / "out/public/report.html").read_text()
    assert "households in the smallest class" in page
    assert "Every class has rows of at least 4 households" in " ".join(page.split())
    assert "do not hide which rows are of one household" in page
    assert f"the risk of households: {1 - (15 / 16) ** 4:.4f} at most" in page


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("seed", [1, 2])
def test_every_class_has_the_households(
    method: str,
    k: int,
    seed: int,
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    table = drawn_table(seed)
    run = make_run(table, household={"column": "hh", "k": k}, method={"name": method}, **DRAWN)
    assert pipeline.release(run)["verdict"] == "holds"
    fewest = min(map(len, classes(tmp_path / "out", table, "hh")))
    assert of_k(tmp_path / "out")["over_households"] == {"required": k, "achieved": fewest}
    assert fewest >= k
    assert pipeline.verify(run, finished=True).holds


@pytest.mark.parametrize("method", METHODS)
def test_people_and_households_at_once(
    method: str,
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    table = drawn_table(3)
    whose = {"household": {"column": "hh", "k": 3}, "person": {"column": "who", "rows": "apart"}}
    pipeline.release(make_run(table, method={"name": method}, **whose, **DRAWN))
    found = of_k(tmp_path / "out")
    assert (
        found["over_households"]["achieved"]
        == min(map(len, classes(tmp_path / "out", table, "hh")))
        >= 3
    )
    assert (
        found["over_people"]["achieved"]
        == min(map(len, classes(tmp_path / "out", table, "who")))
        >= 4
    )


@pytest.mark.on_spark
def test_both_engines_make_one_release(
    run_file: Callable[..., Path],
    spark: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("TCLOSE_SECRET", "a secret of forty characters, for both runs")
    table = drawn_table(4).append_column("w", pa.array([1.5 + i % 7 for i in range(240)]))
    asked = {
        **DRAWN,
        "household": {"column": "hh", "k": 3},
        "weight": {"column": "w", "publish": True},
    }
    conf = run_file(
        table,
        method={"name": "closeness_tree"},
        privacy={"population": {"weight": "w"}},
        **asked,
    )
    found = {}
    for session in (LocalSession(), spark):
        spec = load_spec(conf, [f"output.path={tmp_path / type(session).__name__}"])
        one = pipeline.release(Run(spec, session, lambda line: None))
        found[type(session).__name__] = (
            one["release"]["fingerprint"],
            one["guarantees"],
            one["risks"],
        )
    assert found["LocalSession"] == found["SparkSession"]
    assert min(map(len, classes(tmp_path / "LocalSession", table, "hh"))) >= 3


def planned_without_households(monkeypatch: pytest.MonkeyPatch, run: Run) -> Path:
    """The staging area of a release whose plan did not look at households."""
    with monkeypatch.context() as patch:
        patch.setattr(attributes, "units_of", lambda *known: units_of(*known)[:-1])
        run_stages(run, "profile", "plan", "anonymize")
    return Path(run.staging.path(""))


def _nulls(rows: pa.Table, name: str) -> pa.Table:
    column = rows[name]
    return rows.set_column(
        rows.column_names.index(name),
        name,
        pa.array([None, *column.to_pylist()[1:]], column.type),
    )


DAMAGED_ROWS: dict[str, Callable[[pa.Table], pa.Table]] = {
    "no owner": lambda rows: rows.drop_columns(["household_hash"]),
    "no label": lambda rows: rows.drop_columns(["age"]),
    "no sign of suppression": lambda rows: rows.drop_columns(["suppressed"]),
    "one column more": lambda rows: rows.append_column("more", pa.array([1] * len(rows))),
    "columns in another order": lambda rows: rows.select(rows.column_names[::-1]),
    "owners that are texts": lambda rows: rows.set_column(
        rows.column_names.index("household_hash"),
        "household_hash",
        rows["household_hash"].cast(pa.string()),
    ),
    "an owner that is missing": lambda rows: _nulls(rows, "household_hash"),
    "a sign of suppression that is missing": lambda rows: _nulls(rows, "suppressed"),
    "no rows": lambda rows: rows.slice(0, 0),
}
OF_FILES: dict[str, Callable[[Path], object]] = {
    "no log": lambda table: shutil.rmtree(table / "_delta_log"),
    "no file": lambda table: next(table.glob("*.parquet")).unlink(),
    "a file that is no Parquet": lambda table: next(table.glob("*.parquet")).write_bytes(
        b"no table",
    ),
    "an empty folder": lambda table: (
        shutil.rmtree(table),
        table.mkdir(),
        (table / "x").write_text("x"),
    ),
    "a log of brackets": lambda table: next((table / "_delta_log").glob("*.json")).write_text(
        "[" * 100_000,
    ),
}


@pytest.mark.parametrize("name", [*DAMAGED_ROWS, *OF_FILES])
def test_a_damaged_table_of_households_is_found_where_files_were_listed_again(
    make_run: Callable[..., Run],
    tmp_path: Path,
    name: str,
) -> None:
    run = make_run(FOUR, household={"column": "hh", "k": 2}, method={"name": "t_mondrian"}, **AGE)
    pipeline.release(run)
    table = tmp_path / "out/internal/households"
    if name in OF_FILES:
        OF_FILES[name](table)
    else:
        rows = DAMAGED_ROWS[name](collect(read_delta(run.session, str(table))))
        shutil.rmtree(table)
        write_delta(of_arrow(LocalSession(), rows), str(table))
    list_again(tmp_path / "out")
    with pytest.raises(GuaranteeError):
        pipeline.verify(run)


def test_the_verifier_refuses_a_class_of_few_households(
    make_run: Callable[..., Run],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    run = make_run(FOUR, household={"column": "hh", "k": 3}, method={"name": "t_mondrian"}, **AGE)
    area = planned_without_households(monkeypatch, run)
    message = r"2 classes \(16 rows\) have members of fewer than 3 households; the fewest are 2"
    with pytest.raises(GuaranteeError, match=message):
        pipeline.verify(run)
    columns = read(area / "households").to_dict("list")
    rows = pa.table({name: pa.array(values) for name, values in columns.items()})
    place = rows.column_names.index("household_hash")
    forged = rows.set_column(place, "household_hash", pa.array(range(16), pa.int64()))
    run.staging.remove("households")
    write_delta(of_arrow(LocalSession(), forged), run.staging.path("households"))
    with pytest.raises(
        GuaranteeError,
        match=r"internal/households that was read back differs from",
    ):
        pipeline.verify(run)
    run.staging.remove("households")
    write_delta(of_arrow(LocalSession(), rows.slice(1)), run.staging.path("households"))
    with pytest.raises(
        GuaranteeError,
        match=r"internal/households has not the rows of the release",
    ):
        pipeline.verify(run)
    assert not (tmp_path / "out/public/certificate.json").exists()


def test_suppressed_rows_count_for_no_household(
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    table = drawn_table(5)
    privacy = {"suppression_limit": "0.2", "of": "released"}
    asked = {**DRAWN, "household": {"column": "hh", "k": 4}, "privacy": privacy}
    pipeline.release(make_run(table, method={"name": "t_incognito"}, **asked))
    assert len(read(tmp_path / "out/public/release")) < 240
    fewest = min(map(len, classes(tmp_path / "out", table, "hh")))
    assert of_k(tmp_path / "out")["over_households"] == {"required": 4, "achieved": fewest}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"method": {"name": "stack_and_deal"}},
            "attributes.household.k: method stack_and_deal counts rows",
        ),
        ({"privacy": {"nt": {"n": 10}}}, "privacy.nt: not with attributes.household"),
        ({"sensitive": {"disease": {"t": 0}}}, "t: 0: not with attributes.household"),
        (
            {"privacy": {"suppression_limit": "0.1"}},
            "privacy.suppression_limit: not with attributes.household.k",
        ),
        ({"quasi": {"age": {}, "hh": {}}}, "column 'hh' is in quasi_identifiers and in household"),
    ],
)
def test_what_is_not_proven_is_refused(
    settings: Any,
    message: str,
    run_file: Callable[..., Path],
) -> None:
    asked = {**AGE, "method": {"name": "t_mondrian"}, **settings}
    with pytest.raises(ConfigurationError, match=message):
        load_spec(run_file(FOUR, household={"column": "hh", "k": 2}, **asked))


def test_every_row_has_a_household(make_run: Callable[..., Run]) -> None:
    table = {**FOUR, "hh": [None, "", *FOUR["hh"][2:]]}
    message = (
        "attributes.household: column 'hh' is missing in 2 of 16 rows; expected a value in every "
        "row"
    )
    with pytest.raises(InputError, match=message):
        pipeline.release(make_run(table, household="hh", **AGE))


def test_any_method_measures_households(make_run: Callable[..., Run], tmp_path: Path) -> None:
    limits = {"risk": {"household": {"maximum": "0.42"}, "threshold": "0.4"}}
    found = pipeline.release(make_run(FOUR, household="hh", privacy=limits, **AGE, k=8))
    assert of_k(tmp_path / "out")["over_households"]["required"] is None
    page = (tmp_path / "out/public/report.html").read_text()
    assert "(1 were required)" not in page
    assert size_line(of_k(tmp_path / "out"))[1].endswith("; households not requested, achieved 2")
    risk = found["risks"]["household"]
    assert risk["maximum"] == pytest.approx(1 - (7 / 8) ** 4)
    assert risk["required"] == {"maximum": 0.42}
    assert (risk["share"], risk["households"], risk["unique"], risk["estimate"]) == (1, 4, 0, False)
    limits["risk"]["household"]["maximum"] = "0.41"
    run = make_run(FOUR, household="hh", privacy=limits, **AGE, k=8)
    run.overwrite = True
    with pytest.raises(
        GuaranteeError,
        match=r"the risk of households is too large: its maximum is 0.41\d+",
    ):
        pipeline.release(run)


def people_of(tmp_path: Path, homes: list[str], classes: list[str]) -> str:
    """A CSV file of people in these households and classes."""
    path = tmp_path / "people.csv"
    path.write_text("q,hh\n" + "".join(f"{q},{hh}\n" for q, hh in zip(classes, homes, strict=True)))
    return str(path)


@pytest.mark.parametrize(
    ("homes", "classes", "risk"),
    [
        ([*"1234"], ["a"] * 4, Fraction(1, 4)),
        ([*"1123"], [*"aabb"], 1 - Fraction(1, 2) ** 2),
        ([*"1123456"], ["a"] * 7, 1 - Fraction(6, 7) ** 2),
        (["big"] * 1200 + ["other"], ["a"] * 1201, None),
    ],
)
def test_the_risk_of_households_is_compared_exactly(
    tmp_path: Path,
    homes: list[str],
    classes: list[str],
    risk: Fraction | None,
) -> None:
    path = people_of(tmp_path, homes, classes)
    largest = 1 - Fraction(1200, 1201) ** 1200 if risk is None else risk
    for threshold, above in ((largest, False), (largest - Fraction(1, 10**20), True)):
        if risk is None:  # of very many members, an upper bound is enough
            threshold += Fraction(1, 10**8) if not above else -Fraction(1, 10**8)
        found = audit(
            path,
            ["q"],
            household="hh",
            attacks=False,
            threshold=str(threshold),
        ).risks.risks["household"]
        assert (
            found.maximum == largest
            if risk is not None
            else largest <= found.maximum < largest * (1 + 2e-9)
        )
        assert (found.share > 0) == above


def test_a_household_of_one_has_the_risk_of_its_member(tmp_path: Path) -> None:
    path = people_of(tmp_path, [*"12"], [*"aa"])
    for population in ("1/500000000", None):
        risks = audit(path, ["q"], household="hh", population=population, attacks=False).risks.risks
        one = risks["individual" if population else "prosecutor"]
        assert float(risks["household"].maximum) == pytest.approx(float(one.maximum), rel=1e-12)
        assert (
            float(one.mean)
            <= float(risks["household"].mean)
            <= float(one.mean) * (1 + 1e-14) + 2**-61
        )
    path = people_of(tmp_path, [*"123"], [*"aaa"])
    assert (
        float(audit(path, ["q"], household="hh", attacks=False).risks.risks["household"].mean)
        == 1 / 3
    )


@pytest.mark.parametrize(("limit", "holds"), [("1/4", True), ("0.2499999999999", False)])
def test_a_limit_of_the_risk_of_households_is_exact(
    make_run: Callable[..., Run],
    limit: str,
    holds: bool,
) -> None:
    table = {"hh": list(range(8)), "age": [30] * 4 + [40] * 4, "disease": ["flu", "gout"] * 4}
    risk = {"risk": {"household": {"maximum": limit}}}
    run = make_run(table, household="hh", privacy=risk, **AGE, k=4)
    if holds:
        pipeline.release(run)
    else:
        with pytest.raises(GuaranteeError, match="the risk of households is too large"):
            pipeline.release(run)


def individual(f: int, people: float) -> float:
    """The mean of 1 / F, term by term: people - f more are expected, negative binomial."""
    p, chance, mean = f / people, (f / people) ** f, 0.0
    for unseen in range(20_000):
        mean += chance / (f + unseen)
        chance *= (1 - p) * (f + unseen) / (unseen + 1)
    return mean


@pytest.mark.parametrize("population", [None, "1/20", "weight:w"])
def test_the_risk_of_households_is_that_of_its_members(population: str | None) -> None:
    table = drawn_table(6).append_column("w", pa.array([2.5 + i % 9 for i in range(240)]))
    by_class, by_household = defaultdict(list), defaultdict(list)
    for row in table.to_pylist():
        by_class[row["age"], row["city"]].append(row["w"])
        by_household[row["hh"]].append((row["age"], row["city"]))
    of = {None: lambda w: 1 / len(w), "1/20": lambda w: individual(len(w), 20 * len(w))}
    of["weight:w"] = lambda w: individual(len(w), sum(w))
    chance = {key: of[population](weights) for key, weights in by_class.items()}
    each = [
        (1 - np.prod([1 - chance[key] for key in keys]), len(keys))
        for keys in by_household.values()
    ]
    risks = audit(
        table,
        ["age", "city"],
        household="hh",
        population=population,
        attacks=False,
        threshold="0.2",
    ).risks
    found = risks.risks["household"]
    assert float(found.maximum) == pytest.approx(max(risk for risk, _ in each))
    assert float(found.mean) == pytest.approx(sum(risk * n for risk, n in each) / 240)
    assert float(found.share) == sum(n for risk, n in each if risk > 0.2) / 240
    alone = sum(any(len(by_class[key]) == 1 for key in keys) for keys in by_household.values())
    assert (found.households, float(found.unique)) == (len(each), pytest.approx(alone / len(each)))
    assert found.estimate == (population is not None)


def test_an_audit_counts_households() -> None:
    table = drawn_table(7)
    by_class = defaultdict(set)
    for row in table.to_pylist():
        by_class[row["age"], row["city"]].add(row["hh"])
    result = audit(
        table,
        ["age", "city"],
        household={"column": "hh", "k": 2},
        person="who",
        attacks=False,
    )
    guarantee = next(one for one in result.guarantees if one.measure == "households of a class")
    assert guarantee.achieved == min(map(len, by_class.values())) == 1
    assert guarantee.classes == sum(len(households) < 2 for households in by_class.values())
    assert len(by_class[int(guarantee.worst["age"]), guarantee.worst["city"]]) == 1
    assert result.verdict == "violated"
    assert audit(table, ["age", "city"], household="hh", attacks=False).verdict == "measured"
    with pytest.raises(InputError, match="household: 1 rows of the table have no 'hh'"):
        audit(pa.table({**FOUR, "hh": [None, *FOUR["hh"][1:]]}), ["age"], household="hh")
