"""The released rows are those that the pure functions make in memory, whatever the partitions,
batches and tasks.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from spark_casts import prepare
from staged import Staged, stage
from strategies import Problem, count_in

from tclose_spark.engine.spark.tables import spark_schema
from tclose_spark.engine.tables import write_tables
from tclose_spark.errors import DamagedStagingError, GuaranteeError
from tclose_spark.io.input.reading import read_table
from tclose_spark.io.output_folders import LINKED
from tclose_spark.io.run import Run
from tclose_spark.io.spark import cluster as shuffles
from tclose_spark.io.tables.delta import rows_of
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.fragmentation import plan as fragmentation
from tclose_spark.methods.fragmentation.settings import Fragmentation
from tclose_spark.methods.method import ClassAssignment, GroupCounts, Plan
from tclose_spark.methods.stack_and_deal import plan as stack_and_deal
from tclose_spark.stages.anonymize import RELEASE, Anonymizer
from tclose_spark.stages.generalize import Generalizer
from tclose_spark.stages.release_maker import Making
from tclose_spark.stages.staging.encode import cell_places
from tclose_spark.table.domains import Profile
from tclose_spark.table.fingerprint import Fingerprint
from tclose_spark.table.rows import Rows

pytestmark = pytest.mark.on_spark

MakeRun = Callable[..., Run]
Draw = Callable[..., pa.Table]

RUNS: dict[str, dict[str, Any]] = {
    "intervals, trees and missing values": {
        "quasi": {"age": {"type": "numeric"}, "city": {"hierarchy": "cities.csv"}, "sex": {}},
        "sensitive": {"disease": {"t": "0.4"}},
    },
    "sets, rounded numbers, several sensitive attributes": {
        "quasi": {
            "weight": {"type": "numeric", "round_to": 5},
            "sex": {"generalization": "set"},
            "hours": {"type": "numeric"},
        },
        "sensitive": {
            "grade": {"distance": "ordered", "t": "0.4"},
            "disease": {},
            "site": {"distance": "hierarchical", "hierarchy": "cities.csv"},
        },
    },
    "bounds, insensitive columns, round robin": {
        "quasi": {"id": {"type": "numeric", "numeric_output": "bounds"}, "city": {}},
        "sensitive": {"disease": {}},
        "insensitive_attributes": ["note", "score", "at", "grade"],
        "method": {"name": "stack_and_deal", "deal": "round_robin"},
    },
    "missing values of an ordered attribute": {
        "quasi": {"sex": {}, "age": {"type": "numeric", "round_to": "0.5"}},
        "sensitive": {
            "disease": {
                "distance": "ordered",
                "order": ["flu", "ulcer", "gout"],
                "missing": "lowest",
            },
        },
        "insensitive_attributes": ["id"],
        "allow_unique": ["id"],
    },
    "dealt in layers, two sensitive attributes": {
        "quasi": {"age": {"type": "numeric"}, "city": {"hierarchy": "cities.csv"}},
        "sensitive": {"grade": {"distance": "ordered", "t": "0.3"}, "disease": {"t": "0.5"}},
        "method": {"name": "stack_and_deal", "deal": "layered"},
    },
    "fragmentation of three sensitive attributes": {
        "quasi": {"age": {"type": "numeric"}, "sex": {}},
        "sensitive": {
            "grade": {"distance": "ordered", "t": "0.4", "bins": {"equal_width": 4}},
            "disease": {"t": "0.6"},
            "site": {"distance": "hierarchical", "hierarchy": "cities.csv", "t": "0.6"},
        },
        "method": {"name": "fragmentation"},
    },
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of some ninety rows have several blocks, so that several tasks can share them."""
    monkeypatch.setattr("tclose_spark.methods.dealing.nearest.CLASSES_PER_BLOCK", 3)
    monkeypatch.setattr("tclose_spark.methods.stack_and_deal.layers.ROWS_PER_GROUP", 30)


def comparable(rows: list[Any]) -> Counter[tuple[str, ...]]:
    """Rows as a multiset; repr tells -0.0 from 0.0, and NaN is NaN."""
    return Counter(tuple(repr(value) for value in row) for row in rows)


def plan_by_method(problem: Problem, counts: GroupCounts, rows_per_task: int) -> Plan:
    if isinstance(problem.spec.method, Fragmentation):
        return fragmentation.plan_fragmentation(problem.given(counts), rows_per_task)
    return stack_and_deal.plan_stack_and_deal(problem.given(counts), rows_per_task)


def in_memory(run: Run, table: DataFrame) -> Counter[tuple[str, ...]]:
    """The release as the pure functions make it: all rows in one batch, one task."""
    whole = table.coalesce(1)
    staged = stage(run, whole)
    profile, rows, people = staged.profile, staged.rows(), prepare(whole, run.spec).collect()
    problem = Problem(run.spec, profile, run.hierarchies, rows.take(rows.sorted_by_hash()))
    plan = plan_by_method(problem, count_in(rows), 10**6)
    assert plan.tasks == 1
    settled = plan.assign_classes(rows, 0)
    order, labels = Generalizer.of(attributes_of(run, profile).quasi_identifiers).publish(
        rows.take(settled.here),
        settled.classes,
        [],
    )
    kept = [people[place][len(profile.quasi) :] for place in settled.here[order]]
    return comparable(
        [
            (*label, *values)
            for label, values in zip(
                zip(*[c.to_pylist() for c in labels], strict=True),
                kept,
                strict=True,
            )
        ],
    )


def attributes_of(run: Run, profile: Profile) -> ResolvedAttributes:
    return ResolvedAttributes.of(run.spec.attributes, profile, run.hierarchies)


def prepare_run(run: Run, table: DataFrame, rows_per_task: int = 1000) -> tuple[Staged, Plan]:
    """Profile and plan, by Spark."""
    staged = stage(run, table)
    encoded = staged.encoded()
    problem = Problem(run.spec, staged.profile, run.hierarchies, encoded.sample(20_000))
    return staged, plan_by_method(problem, encoded.counts, rows_per_task)


def anonymizer_of(run: Run, staged: Staged, plan: Plan) -> Anonymizer:
    attributes = attributes_of(run, staged.profile)
    return Anonymizer(
        Making(
            spec=run.spec,
            profile=staged.profile,
            attributes=attributes,
            plan=plan,
            columns=staged.columns,
        ),
    )


def table_of(anonymizer: Anonymizer, files: DataFrame, name: str = RELEASE) -> DataFrame:
    """The rows of one of the tables that an anonymizer makes."""
    return rows_of(files, name, spark_schema(anonymizer.tables[name]))


def distributed(run: Run, table: DataFrame, rows_per_task: int) -> Counter[tuple[str, ...]]:
    """The release as Spark makes it, and as `written` finds that nothing was lost."""
    staged, plan = prepare_run(run, table, rows_per_task)
    assert plan.tasks > 1 or rows_per_task >= staged.profile.rows
    anonymizer = anonymizer_of(run, staged, plan)
    rows = table_of(anonymizer, anonymizer.files(staged.batches)).collect()
    anonymizer.written()
    return comparable(rows)


def input_of(run: Run) -> DataFrame:
    return read_table(run.spark, run.spec.input)


@pytest.mark.parametrize("name", RUNS)
def test_spark_releases_what_the_pure_functions_make(
    make_run: MakeRun,
    drawn_people: Draw,
    settings: Any,
    name: str,
) -> None:
    run = make_run(drawn_people(7), drop_others=True, **RUNS[name])
    table = input_of(run)
    expected = in_memory(run, table)
    assert expected.total() == 90
    with settings({"spark.sql.execution.arrow.maxRecordsPerBatch": "7"}):
        assert distributed(run, table.repartition(5), rows_per_task=20) == expected


def test_rows_come_to_their_tasks_by_keys_too(
    make_run: MakeRun,
    drawn_people: Draw,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = make_run(drawn_people(7), drop_others=True, **RUNS["intervals, trees and missing values"])
    sent: list[int] = []
    by_key = shuffles.by_key
    monkeypatch.setattr(shuffles, "SENDS_TO_TASKS", False)
    monkeypatch.setattr(shuffles, "by_key", lambda *asked: sent.append(asked[-1]) or by_key(*asked))
    assert distributed(run, input_of(run), rows_per_task=20) == in_memory(run, input_of(run))
    assert max(sent) > 1


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("one partition, one task", {}),
        ("three partitions", {"spark.sql.shuffle.partitions": "3"}),
        ("sixteen partitions, shuffled", {"spark.sql.execution.arrow.maxRecordsPerBatch": "3"}),
        ("no adaptive execution", {"spark.sql.adaptive.enabled": "false"}),
    ],
)
def test_the_release_does_not_depend_on_how_the_input_lies(
    make_run: MakeRun,
    drawn_people: Draw,
    settings: Any,
    name: str,
    values: dict[str, str],
) -> None:
    run = make_run(drawn_people(8), drop_others=True, **RUNS["intervals, trees and missing values"])
    table = input_of(run)
    changed = {
        "one partition, one task": table.coalesce(1),
        "three partitions": table.repartition(3, "age"),
        "sixteen partitions, shuffled": table.orderBy(F.rand(1)).repartition(16),
        "no adaptive execution": table.orderBy(F.desc("id")),
    }[name]
    with settings(values):
        assert distributed(
            run,
            changed,
            rows_per_task=1000 if name.startswith("one") else 25,
        ) == in_memory(run, table)


def test_another_secret_gives_another_release(
    make_run: MakeRun,
    drawn_people: Draw,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    people = drawn_people(9)
    one = make_run(people, drop_others=True, method={"deal": "round_robin"})
    released = distributed(one, input_of(one), 1000)
    monkeypatch.setenv("TCLOSE_SECRET", "another")
    other = make_run(people, drop_others=True, method={"deal": "round_robin"})
    assert distributed(other, input_of(other), 1000) != released


def test_insensitive_columns_pass_as_they_are(make_run: MakeRun, drawn_people: Draw) -> None:
    people = drawn_people(11, 40)
    columns = ["id", "note", "score", "at", "weight"]
    run = make_run(people, drop_others=True, insensitive_attributes=columns, allow_unique=["id"])
    table = input_of(run)
    staged, plan = prepare_run(run, table)
    anonymizer = anonymizer_of(run, staged, plan)
    released = table_of(anonymizer, anonymizer.files(staged.batches))
    kept = ["disease", *columns]
    assert comparable(released.select(kept).collect()) == comparable(table.select(kept).collect())
    assert {name: released.schema[name].dataType for name in kept} == {
        name: table.schema[name].dataType for name in kept
    }


def test_labels_of_six_people(make_run: MakeRun) -> None:
    people = {
        "age": [20, 21, 22, 40, 41, 42],
        "city": ["Pisa", "Siena", "Pisa", "Lyon", "Nice", "Lyon"],
        "sex": ["f", "f", "f", "m", None, "m"],
        "disease": ["flu"] * 6,
    }
    run = make_run(
        people,
        quasi={"age": {"type": "numeric"}, "city": {"hierarchy": "cities.csv"}, "sex": {}},
    )
    assert distributed(run, input_of(run), 1000) == comparable(
        3 * [("[20, 22]", "Tuscany", "f", "flu")] + 3 * [("[40, 42]", "France", "*", "flu")],
    )


def test_linked_rows_show_what_was_published_for_what(make_run: MakeRun) -> None:
    people = {"age": [20, 21, 40, 42], "sex": ["f", "f", "m", "m"], "disease": ["flu"] * 4}
    run = make_run(people, k=2, output={"keep_linked": True})
    table = input_of(run)
    staged, plan = prepare_run(run, table)
    anonymizer = anonymizer_of(run, staged, plan)
    linked = table_of(anonymizer, anonymizer.files(staged.batches), LINKED)
    assert linked.columns == ["age", "sex", "disease", "age_raw", "sex_raw"]
    assert sorted(tuple(row) for row in linked.collect()) == [
        ("[20, 21]", "f", "flu", 20, "f"),
        ("[20, 21]", "f", "flu", 21, "f"),
        ("[40, 42]", "m", "flu", 40, "m"),
        ("[40, 42]", "m", "flu", 42, "m"),
    ]


def women_only() -> Plan:
    """A plan of two tasks, one for each sex: the women are one class, the men are suppressed.
    Workers get it whole.
    """

    @dataclass(frozen=True)
    class WomenOnly:
        figures = {"rows": "sum"}  # noqa: RUF012 - a plan's
        tasks = blocks = 2

        def route(self, rows: Rows) -> tuple[Any, Any]:
            return np.arange(len(rows)), rows.quasi[1]

        def assign_classes(self, rows: Rows, task: int) -> ClassAssignment:
            everyone, nobody = np.arange(len(rows)), np.zeros(0, dtype=np.int64)
            figures = {"rows": float(len(rows))}
            if task:
                return ClassAssignment(
                    here=nobody,
                    classes=nobody,
                    figures=figures,
                    suppressed=everyone,
                )
            return ClassAssignment(here=everyone, classes=0 * everyone, figures=figures)

        def describe(self, figures: dict[str, float]) -> dict[str, Any]:
            return dict(figures)

    return cast(Plan, WomenOnly())


def test_a_task_may_suppress_all_of_its_rows(make_run: MakeRun) -> None:
    people = {
        "age": list(range(20, 29)),
        "sex": list("mfmfmfmfm"),
        "disease": ["flu", "gout", None] * 3,
        "note": list("abcabcabc"),
    }
    run = make_run(
        people,
        insensitive_attributes=["note"],
        output={"keep_linked": True},
        privacy={"suppression_limit": 0.9},
    )
    table = input_of(run)
    staged = stage(run, table)
    anonymizer = anonymizer_of(run, staged, women_only())
    files = anonymizer.files(staged.batches).cache()
    rows = [row.asDict() for row in table_of(anonymizer, files, LINKED).collect()]
    men = sorted((row for row in rows if row["suppressed"]), key=lambda row: row["age_raw"])
    assert [row["age_raw"] for row in men] == [20, 22, 24, 26, 28]
    assert {(row["age"], row["sex"]) for row in men} == {(None, None)}
    assert [(row["disease"], row["note"]) for row in men] == [
        ("flu", "a"),
        (None, "c"),
        ("gout", "b"),
        ("flu", "a"),
        (None, "c"),
    ]
    released = table_of(anonymizer, files)
    assert comparable(released.select("age", "sex", "disease", "note").collect()) == comparable(
        [
            ("[21, 27]", "f", disease, note)
            for disease, note in [("gout", "b"), ("flu", "a"), (None, "c"), ("gout", "b")]
        ],
    )
    written = anonymizer.written()
    assert (written.raw.rows, written.published.rows, written.method) == (9, 4, {"rows": 9.0})
    assert str(written.raw) == staged.profile.fingerprint
    assert (
        Fingerprint.of([column.combine_chunks() for column in released.toArrow().columns])
        == written.published
    )


def test_rows_lie_in_the_order_of_what_is_released(make_run: MakeRun, drawn_people: Draw) -> None:
    run = make_run(drawn_people(12), drop_others=True, insensitive_attributes=["note"])
    table = input_of(run)
    staged, plan = prepare_run(run, table)
    anonymizer = anonymizer_of(run, staged, plan)
    released = table_of(anonymizer, anonymizer.files(staged.batches))
    rows = [
        tuple((value is not None, value) for value in row)
        for row in released.select("age", "sex").collect()
    ]
    assert rows == sorted(rows)


# --- what is found while the rows are written


def written(run: Run, staged: Staged, plan: Plan) -> None:
    anonymizer = anonymizer_of(run, staged, plan)
    write_tables(anonymizer.files(staged.batches), anonymizer.tables, run.staging)
    anonymizer.written()


CHANGED: dict[str, Callable[[DataFrame], DataFrame]] = {
    "a row less": lambda table: table.where("id > 0"),
    "a row twice": lambda table: table.union(table.where("id = 0")),
    "another value": lambda table: table.withColumn("note", F.expr("if(id = 0, 'changed', note)")),
    "two values exchanged": lambda table: table.withColumn(
        "sex",
        F.expr("if(sex = 'f', 'm', if(sex = 'm', 'f', sex))"),
    ),
    "a new value": lambda table: table.withColumn("disease", F.expr("if(id = 0, 'new', disease)")),
}


@pytest.mark.parametrize("name", CHANGED)
def test_staged_rows_that_are_not_those_that_were_profiled_are_not_released(
    make_run: MakeRun,
    drawn_people: Draw,
    name: str,
) -> None:
    run = make_run(
        drawn_people(13),
        drop_others=True,
        insensitive_attributes=["note", "id"],
        allow_unique=["id"],
    )
    table = input_of(run)
    staged, plan = prepare_run(run, table)
    other = stage(run, CHANGED[name](table))
    found = (
        "UnknownValueError"
        if name == "a new value"
        else r"not those that were profiled|the input changed since"
    )
    with pytest.raises(Exception, match=found):
        written(run, replace(staged, batches=other.batches), plan)


def test_rows_that_are_not_those_of_the_profile_are_damaged(
    make_run: MakeRun,
    drawn_people: Draw,
) -> None:
    run = make_run(drawn_people(14), drop_others=True)
    staged, plan = prepare_run(run, input_of(run))
    with pytest.raises(DamagedStagingError, match="are not those that were profiled"):
        written(run, replace(staged, profile=replace(staged.profile, fingerprint="5a-0")), plan)


def test_a_label_that_does_not_cover_its_value_is_not_released(
    make_run: MakeRun,
    drawn_people: Draw,
) -> None:
    run = make_run(drawn_people(15), drop_others=True)
    table = input_of(run)
    staged, plan = prepare_run(run, table)

    @dataclass(frozen=True)
    class Liar:
        """Writes the same label for every class."""

        def label(self, codes: Any, starts: Any) -> tuple[Any, list[str | None]]:
            return starts * 0, ["[20, 21]"]

    anonymizer = anonymizer_of(run, staged, plan)
    honest = anonymizer.generalizer
    anonymizer.generalizer = replace(honest, labellers=(Liar(), *honest.labellers[1:]))
    write_tables(anonymizer.files(staged.batches), anonymizer.tables, run.staging)
    with pytest.raises(GuaranteeError, match="rows have a label that does not cover their value"):
        anonymizer.written()


def test_rows_are_in_no_order_of_the_input_s_frequencies() -> None:
    """The order of frequencies counts suppressed rows."""
    domain = SimpleNamespace(values=("400", None, "300", "1000"))
    cells = np.array([[0, 1], [1, 0], [1, 1], [2, 0], [3, 0]])
    listed = SimpleNamespace(column=1, domain=SimpleNamespace(values=("b", "a")), order=None)
    of = [SimpleNamespace(column=0, domain=domain, order=order) for order in ("frequency", "value")]
    by_text, by_code = (
        cell_places(SimpleNamespace(sensitive=(one, listed), cells=cells)) for one in of
    )  # type: ignore[arg-type]
    assert by_text.tolist() == [4, 0, 1, 3, 2]  # missing, 1000, 300, 400
    assert by_code.tolist() == [0, 1, 2, 3, 4]
