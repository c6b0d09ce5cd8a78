"""What the labels of a table that any tool made lose, and what is noted of labels that are not what
they seem.

Not called test_labels.py: there is a tests/table/test_labels.py, and pytest wants each name once.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from strategies import CITIES

from tclose_spark.api.audit import audit
from tclose_spark.auditing.audit import audit_table
from tclose_spark.auditing.inputs import with_bounds
from tclose_spark.auditing.labels import LabelFacts, judge_labels
from tclose_spark.auditing.question import AuditQuestion, question_from_columns
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.checks.classes.class_table import class_table
from tclose_spark.checks.classes.tallies import tally_classes
from tclose_spark.engine.protocol import Session, Table
from tclose_spark.engine.tables import collect, of_arrow
from tclose_spark.errors import InputError
from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.measures.supersets.label_axes import LabelAxis
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.ranges import INFINITY, looks_generalized, read_interval

TREES = {"city": CITIES}
Column = Mapping[str | None, Fraction | float]


def losses(
    table: Table,
    question: AuditQuestion,
    trees: Mapping[str, Hierarchy] = TREES,
) -> dict[tuple[Any, ...], dict[str, float]]:
    """{labels: {quasi-identifier: loss}} of each class, and no notes."""
    tallies = tally_classes(table, question.labels, [])
    quasi, notes = judge_labels(tallies, question, trees)
    assert notes == []
    rows = collect(class_table(tallies, quasi, [])).to_pylist()
    return {tuple(row["quasi_identifiers"].values()): row["losses"] for row in rows}


def notes(table: Table, trees: Mapping[str, Hierarchy] = TREES) -> list[str]:
    question = question_from_columns(table.columns)
    return judge_labels(tally_classes(table, question.labels, []), question, trees)[1]


def labels(session: Session, **columns: Sequence[str | None]) -> Table:
    return of_arrow(
        session,
        pa.table({name: pa.array(column, pa.string()) for name, column in columns.items()}),
    )


# Five labels of each kind, and what each loses.
KINDS: dict[str, Column] = {
    # from 20 to 59
    "closed": {"[20, 29]": Fraction(9, 39), "[30, 59]": Fraction(29, 39), "20": 0, "*": 1, None: 0},
    # ARX: from 20 to 45
    "arx": {"[20, 30[": Fraction(10, 25), "]30, 45]": Fraction(15, 25), "25": 0, "*": 1, None: 0},
    # from -1.5 to 10
    "others": {
        "[-1.5, 0)": Fraction(3, 23),
        "(0; 2.0]": Fraction(4, 23),
        "[0,10]": Fraction(20, 23),
        "1e1": 0,
        "[7, 7]": 0,
    },
    # from 40 to 79
    "bins": {
        "50s": Fraction(10, 39),
        "60-69": Fraction(9, 39),
        "70..79": Fraction(9, 39),
        "40": 0,
        "*": 1,
    },
    # all the same number: no range to lose
    "same": {"7": 0, "7.0": 0, "[7, 7]": 0, "*": 1, None: 0},
    "city": {"Pisa": 0, "Tuscany": Fraction(2, 5), "Italy": Fraction(3, 5), "*": 1, None: 0},
    # of cook, nurse, "cook, chief" and clerk
    "job": {
        "{cook, nurse}": Fraction(2, 4),
        '{"cook, chief", nurse, cook}': Fraction(3, 4),
        "clerk": 0,
        "*": 1,
        None: 0,
    },
    "sex": {"f": 0, "m": 0, "other": 0, "*": 1, None: 0},
    "nothing": {"*": 1, None: 0},
}


@pytest.mark.on_spark
def test_what_labels_of_each_kind_lose(session: Session):
    columns = {name: [*kind, *list(kind)[:1] * 5][:5] for name, kind in KINDS.items()}
    table = labels(session, **columns)
    found = losses(table, question_from_columns(list(KINDS)))
    assert found == {
        row: {
            name: pytest.approx(float(KINDS[name][label]))
            for name, label in zip(KINDS, row, strict=True)
        }
        for row in zip(*columns.values(), strict=True)
    }


def test_columns_of_numbers_are_labels_too(table_of: Callable[..., Table]):
    table = table_of(
        [(20, 1.5, True), (30, None, True), (40, float("nan"), False)],
        age="int32",
        weight="double",
        smokes="bool",
    )
    assert losses(table, question_from_columns(table.columns)) == {
        row: {"age": 0, "weight": 0, "smokes": 0}
        for row in [("20", "1.5", "true"), ("30", None, "true"), ("40", None, "false")]
    }


def test_bounds_are_one_quasi_identifier(table_of: Callable[..., Table]):
    rows = [(20, 29, "f"), (30, 60, "f"), (25, 25, "*"), (None, None, "f")]
    table = table_of(rows, age_min="int32", age_max="int32", sex="string")
    question = question_from_columns(
        {"age": {"type": "numeric", "numeric_output": "bounds"}, "sex": {}},
    )
    assert losses(table, question) == {
        ("20", "29", "f"): {"age": pytest.approx(9 / 40), "sex": 0},
        ("30", "60", "f"): {"age": pytest.approx(30 / 40), "sex": 0},
        ("25", "25", "*"): {"age": 0, "sex": 1},
        (None, None, "f"): {"age": 0, "sex": 0},
    }


@pytest.mark.parametrize(
    "names",
    [["sex", "age"], ["sex", "age_min", "age_max"], ["sex", "age_max", "age_min"]],
    ids=",".join,
)
@pytest.mark.parametrize("kind", ["int32", "string"])
def test_bounds_are_paired_by_their_names(session: Session, names: list[str], kind: str):
    """As two numbers of one value each they would lose nothing."""
    bounds = {"age_min": pa.array([20, 20, 30, None]), "age_max": pa.array([29, 29, 60, None])}
    columns = {name: column.cast(kind) for name, column in bounds.items()}
    table = of_arrow(session, pa.table({**columns, "sex": ["f"] * 4}))
    found, notes = with_bounds(table, question_from_columns(names))
    assert found.columns == {"sex": ("sex",), "age": ("age_min", "age_max")}
    assert notes == ["age: age_min and age_max are its bounds, and count as one quasi-identifier"]
    told = audit_table(AuditTables(table=table), question_from_columns(names))
    assert told.figures.losses["age"] == pytest.approx((2 * 9 / 40 + 30 / 40) / 4)
    assert notes[0] in told.notes


@pytest.mark.parametrize("rows", [[(3, 2)], [("young", "3")], [("2", "3"), ("3", "2")]], ids=str)
def test_columns_that_are_no_bounds_are_not_paired(session: Session, rows: list[tuple[Any, Any]]):
    table = of_arrow(session, pa.table(list(zip(*rows, strict=True)), ["age_min", "age_max"]))
    question = question_from_columns(["age_min", "age_max"])
    assert with_bounds(table, question) == (question, [])


@pytest.mark.parametrize(
    "names",
    [["age"], ["age_min"], ["age", "age_min", "age_max"], ["age_min", "age_max"]],
    ids=",".join,
)
def test_a_column_that_is_there_is_itself(session: Session, names: list[str]):
    table = of_arrow(session, pa.table({"age": [1], "age_min": [1], "age_max": [2]}))
    assert with_bounds(table, question_from_columns(names)) == (question_from_columns(names), [])


def test_spellings_are_reported_by_count_and_column(session: Session):
    diseases = ["flu", "flu ", "FLU", "gout", "gout", "gout"]
    table = labels(session, city=[*["Rome"] * 5, "ROME"], disease=diseases)
    notes = audit_table(
        AuditTables(table=table),
        question_from_columns(["city"], {"disease": {}}),
    ).notes
    assert [
        note
        for note in notes
        if note.startswith("disease: 2 of its values differ from another only by case, spaces")
    ]
    assert [
        note
        for note in notes
        if note.startswith("city: 1 of its labels differ from another only by case, spaces")
    ]
    assert not any(text in note for note in notes for text in ("flu", "FLU", "Rome", "ROME"))


def test_bounds_that_are_text_are_numbers(session: Session):
    table = labels(session, age_min=["20", "30"], age_max=["29", "60"])
    question = question_from_columns({"age": {"type": "numeric", "numeric_output": "bounds"}})
    assert [list(found.values()) for found in losses(table, question).values()] == [
        [pytest.approx(9 / 40)],
        [pytest.approx(30 / 40)],
    ]


def test_numbers_with_a_hierarchy_are_read_in_one_way(session: Session):
    tree = Hierarchy.build([("39.0", "thirties", "*"), ("40.0", "forties", "*")], "ages")
    table = of_arrow(session, pa.table({"age": [39.0, 40.0]}))
    assert losses(table, question_from_columns(["age"]), {"age": tree}) == {
        ("39.0",): {"age": 0},
        ("40.0",): {"age": 0},
    }


def test_labels_that_are_no_nodes_are_counted(session: Session):
    table = labels(session, city=["Pisa", "Umbria", "Oslo", None])
    with pytest.raises(InputError, match="quasi-identifier 'city': its hierarchy lacks 2 labels"):
        notes(table)


def test_bounds_that_are_no_numbers_are_counted(session: Session):
    question = question_from_columns({"age": {"type": "numeric", "numeric_output": "bounds"}})
    tallies = tally_classes(
        labels(session, age_min=["20", "young"], age_max=["29", "60"]),
        question.labels,
        [],
    )
    with pytest.raises(
        InputError,
        match=r"quasi-identifier 'age': texts \(1\) are among its bounds; expected numbers",
    ):
        judge_labels(tallies, question, {})


# --- notes


def test_labels_that_are_not_what_they_seem_are_noted(session: Session):
    table = labels(
        session,
        zip=["47677", "476**", "476**"],
        age=["20-29", "50s", "unknown"],
        pay=[">= 40", "< 40", "< 40"],
        town=["Rome", "rome", "Paris"],
        street=["Via  Roma", "via Roma", "Via Po"],
        plain=["Rome", "Paris", "a-b"],
        numbers=["[20, 29]", "-5", "*"],
        city=["Pisa", "Tuscany", "*"],  # with its hierarchy
    )
    unknown = "but do not show how far: its information loss is unknown; give --hierarchy"
    differ = (
        "differ from another only by case, spaces, width or Unicode form; they count as different "
        "labels"
    )
    alike = f"1 of its labels {differ}"
    assert notes(table) == [
        f"zip: labels look generalized (1: '476**'), {unknown} zip=FILE",
        "age: there are texts among intervals (1); they count as values (no information lost)",
        f"pay: labels look generalized (2: '< 40', '>= 40'), {unknown} pay=FILE, or a --reference "
        "with this column, whose numbers are then the other ends",
        f"town: {alike}",
        f"street: {alike}",
    ]


def test_a_bin_with_one_end_loses_up_to_the_farthest_number(session: Session):
    """The labels reach from 5 to 80."""
    table = labels(session, age=["5", "<20", "20-39", "60+", "80"])
    quasi, told = judge_labels(
        tally_classes(table, ["age"], []),
        question_from_columns(["age"]),
        {},
    )
    assert [note.startswith("age: some labels have only one end") for note in told] == [True]
    assert [quasi[0].loss.of(label) for label in ("5", "<20", "20-39", "60+", "80")] == [
        0,
        Fraction(15, 75),
        Fraction(19, 75),
        Fraction(20, 75),
        0,
    ]


def test_bins_are_no_bounds(session: Session):
    question = question_from_columns({"age": {"type": "numeric", "numeric_output": "bounds"}})
    tallies = tally_classes(
        labels(session, age_min=["20", "30s"], age_max=["29", "60"]),
        question.labels,
        [],
    )
    with pytest.raises(
        InputError,
        match=r"quasi-identifier 'age': texts \(1\) are among its bounds; expected numbers",
    ):
        judge_labels(tallies, question, {})


@pytest.mark.parametrize("reference", [False, True], ids=["alone", "with a reference"])
def test_a_padded_order_is_noted(session: Session, reference: bool):
    """Fifty unused values make one half one in 102: what is asked then holds."""
    table = labels(session, zip=["a", "b"], pay=["low", "high"])
    order = ["low", "high", *(f"none {i}" for i in range(50))]
    audits = [
        audit_table(
            AuditTables(table=table, reference=labels(session, pay=["low"]) if reference else None),
            question_from_columns(
                ["zip"],
                {"pay": {"distance": "ordered", "order": listed, "t": "0.1"}},
            ),
        )
        for listed in (order[:2], order)
    ]
    assert [audit.verdict for audit in audits] == ["violated", "holds"]
    assert [note for note in audits[0].notes if "order" in note] == []
    assert (
        "pay: 50 of the 52 values of its order are in no row; they can make distances smaller"
        in audits[1].notes
    )


def test_nan_beside_null_is_noted(table_of: Callable[..., Table]):
    rows = [("a", float("nan"), 1.0), ("a", None, float("nan")), ("a", None, 2.0)]
    table = table_of(rows, zip="string", weight="double", pay="double")
    told = audit_table(
        AuditTables(table=table),
        question_from_columns(["zip", "weight"], {"pay": {}}, k=3),
    )
    assert told.holds  # as one class
    assert [note for note in told.notes if "NaN" in note] == [
        "weight: 1 rows have NaN and 2 have NULL; both count as one value, missing, but a reader "
        "of Parquet distinguishes them: classes may be smaller and distances larger than reported",
    ]


def test_intervals_beside_a_text_are_noted(session: Session):
    """The text counts as a value, and the intervals are still measured."""
    table = labels(session, age=["[20, 29]", "[30, 59]", "unknown"])
    question = question_from_columns(["age"])
    tallies = tally_classes(table, ["age"], [])
    quasi, told = judge_labels(tallies, question, {})
    assert told == [
        "age: there are texts among intervals (1); they count as values (no information lost)",
    ]
    found = {
        row["quasi_identifiers"]["age"]: row["loss"]
        for row in collect(class_table(tallies, quasi, [])).to_pylist()
    }
    assert found == {
        "[20, 29]": pytest.approx(9 / 39),
        "[30, 59]": pytest.approx(29 / 39),
        "unknown": 0,
    }


@pytest.mark.parametrize(
    "label",
    [
        *(
            "476**",
            "*77",
            "4*7",
            ">= 40",
            "≤ 40",
            " <3",
            "20-29",
            "20 - 29",
            "20\u201329",
            "20 to 29",
            "-5-3",
        ),
        *("20..29", "50s", "80+", "9-3"),
    ],
)
def test_labels_that_look_generalized(label: str):
    assert looks_generalized(label)


@pytest.mark.parametrize(
    "label",
    [
        "*",
        "47677",
        "a-b",
        "20-29-b",
        "to",
        "-5",
        "2001-02-03",
        "{a, b}",
        "3 > 2",
        "5s",
        "C++",
        "+49",
    ],
)
def test_labels_that_do_not(label: str):
    assert not looks_generalized(label)


# --- pure


def test_what_labels_have_in_common():
    facts = LabelFacts()
    for label in ("[20, 30[", "-4.5", "*", "]30, 45]"):
        facts.add(label)
    assert (facts.low, facts.high, facts.numeric) == (Fraction(-9, 2), 45, True)
    facts.add("{a, b}")
    assert (facts.texts, facts.sets, facts.numeric) == (
        {"{a, b}"},
        True,
        True,
    )  # a text beside intervals is a value


def test_numbers_without_intervals_are_values_beside_a_text():
    facts = LabelFacts()
    for label in ("20", "[30, 30]", "*"):
        facts.add(label)
    assert facts.numeric
    facts.add("unknown")
    assert not facts.numeric


@pytest.mark.parametrize(
    "label",
    [
        "[30, 20]",
        "]20, 20]",
        "[20, 20[",
        "[a, b]",
        "20 30",
        "[20]",
        "[20, 29",
        "1/0",
        "[1, 1e99999]",
    ],
)
def test_what_is_no_interval_is_a_text(label: str):
    facts = LabelFacts()
    facts.add(label)
    assert (facts.low, facts.texts) == (None, {label})


@pytest.mark.parametrize(
    ("label", "low", "high"),
    [
        ("50s", 50, 60),
        ("1990s", 1990, 2000),
        ("50-59", 50, 59),
        (" 50 \u2013 59 ", 50, 59),
        ("-5-3", -5, 3),
        ("0.5..1.5", Fraction(1, 2), Fraction(3, 2)),
        ("05 to 09", 5, 9),
        ("<20", -INFINITY, 20),
        ("≤20", -INFINITY, 20),
        (">= 65", 65, INFINITY),
        ("80+", 80, INFINITY),
        ("(18.0, inf]", 18, INFINITY),
    ],
)
def test_bins_are_intervals(label: str, low: Fraction, high: Fraction):
    interval = read_interval(label)
    assert (interval.low, interval.high) == (low, high)
    assert (interval.open_low, interval.open_high) == (
        label[0] in "<≤(",
        label in ("50s", "1990s", "<20", ">= 65", "80+"),
    )


@pytest.mark.parametrize(
    "label",
    [
        "5s",
        "59-50",
        "2001-02",
        "a-b",
        "20-29-39",
        "+",
        "<",
        "C++",
        "12 Main",
        "06108-1234",
        "9" * 400,
        "[1, 1e400]",
    ],
)
def test_what_is_no_bin_is_a_text(label: str):
    facts = LabelFacts()
    facts.add(label)
    assert (facts.low, facts.bins, facts.texts) == (None, set(), {label})


def test_the_loss_of_another_tools_interval():
    loss = LabelLoss(numeric=True, span=Fraction(40), foreign=True)
    assert [
        loss.of(label)
        for label in ("[20, 30[", "]20, 30)", "(20; 30]", "[20, 30]", "30", "[0, 99]", "*", None)
    ] == [
        *[Fraction(1, 4)] * 4,
        *[0, 1, 1, 0],
    ]


# --- tables of others, as they are


def audited(
    session: Session,
    columns: Mapping[str, Sequence[str | None]],
    hierarchies: Mapping[str, Hierarchy] | None = None,
    **others: Table,
) -> AuditResult:
    tables = AuditTables(table=labels(session, **columns), **others)
    return audit_table(tables, question_from_columns(list(columns)), hierarchies)


def test_labels_that_people_write_lose_what_they_cover(session: Session):
    """From 5 to 85: nothing of the first and the last, which reach beyond; four years of the
    second; half of 80.
    """
    table = {"age": ["Under 5 years", "5 to 9 years", "9 < Age ≤ 49", "85 years and over"]}
    found = audited(session, table)
    assert found.figures.losses["age"] == pytest.approx((4 + 40) / 80 / 4)
    assert (found.understated, found.to_json()["utility"]["ncp_is_lower_bound"]) == (("age",), True)
    assert any(
        "age: some labels have only one end" in note and "lower bound" in note
        for note in found.notes
    )


def test_a_reference_has_the_ends_that_labels_leave_open(session: Session):
    table, raw = {"age": ["Under 50", "50+"]}, labels(session, age=["0", "30", "100"])
    assert audited(session, table).ncp is None
    found = audited(session, table, reference=raw)
    assert (found.ncp, found.understated, found.notes) == (0.5, (), ())


@pytest.mark.parametrize("text", ["REDACTED", "XXX", "masked", "***", "n/a"])
def test_a_column_of_one_text_that_shows_nothing_is_suppressed(session: Session, text: str):
    found = audited(session, {"name": [text, text, None], "sex": ["f", "m", "f"]})
    assert (found.figures.losses["name"], found.understated) == (pytest.approx(2 / 3), ())
    assert found.notes == (
        f"name: its one text: {text!r} stands for values that were removed; it counts as *",
    )
    assert text not in str(found.without_labels().notes)


def test_a_text_in_place_of_a_value_needs_no_row_of_the_hierarchy(session: Session):
    tree = Hierarchy.build([("Rome", "Italy", "*"), ("Oslo", "Norway", "*")], "towns")
    found = audited(
        session,
        {"city": ["Italy", "REDACTED", "REDACTED"]},
        hierarchies={"city": tree},
        background=labels(session, city=["Rome", "Oslo"]),
    )
    loss = LabelLoss(numeric=False, hierarchy=tree, foreign=True)
    axis = LabelAxis.of([pa.chunked_array([["Italy", "REDACTED"]])], loss)
    assert [axis.name(*ends) for ends in zip(axis.low, axis.high, strict=True)] == ["Rome", "*"]
    assert found.figures.losses["city"] == pytest.approx((1 / 2 + 2) / 3)
    assert found.background is not None
    assert found.background.candidates == 2


def test_a_node_of_the_hierarchy_keeps_its_meaning(session: Session):
    tree = Hierarchy.build([("XXX", "letters", "*"), ("YYY", "letters", "*")], "codes")
    table = labels(session, city=["XXX", "letters"])
    assert losses(table, question_from_columns(["city"]), {"city": tree}) == {
        ("XXX",): {"city": 0},
        ("letters",): {"city": 1},
    }


def test_a_text_that_replaces_single_values_is_suppressed_and_fits_everybody(session: Session):
    table = {"city": ["Rome", "REDACTED", "REDACTED"]}
    found = audited(session, table, background=labels(session, city=["Rome", "Oslo"]))
    assert found.figures.losses["city"] == pytest.approx(2 / 3)
    assert found.background is not None
    assert found.background.candidates == 2


@pytest.mark.parametrize(
    "column",
    [
        ["47677", "476**"],
        ["12XXX", "13XXX"],
        ["over 80 approx", "Rome"],
        ["0-11 months", "1-4 years"],
        ["[Mon, Fri]", "[Sat, Sun]"],
        ["<50K", ">=50K"],
    ],
    ids=str,
)
def test_what_looks_generalized_and_is_not_understood_is_unknown(
    session: Session,
    column: list[str],
):
    """Never a silent zero: the mean counts it as 0, and says that it is a lower bound."""
    found = audited(session, {"zip": column, "sex": ["f", "*"]})
    utility = found.to_json()["utility"]
    assert utility["ncp_by_quasi_identifier"] == {"zip": None, "sex": 0.5}
    assert (utility["ncp"], utility["ncp_is_lower_bound"]) == (0.25, True)
    (note,) = found.notes
    assert note.startswith("zip: labels look generalized")
    assert "--hierarchy zip=FILE" in note
    assert column[-1] in note or column[0] in note
    assert not any(label in found.without_labels().notes[0] for label in column)


def test_at_most_three_labels_are_named(session: Session):
    (note,) = audited(session, {"zip": ["1**", "2**", "3**", "4**"]}).notes
    assert "(4: '1**', '2**', '3**')" in note


@pytest.mark.parametrize("date", ["9-May", "Oct-14", "2024-05-09"])
def test_dates_among_ranges_are_the_work_of_a_spreadsheet(session: Session, date: str):
    found = audited(session, {"age": ["0-4", date, "15-19"]})
    assert found.figures.losses == {}
    assert [
        note.startswith(f"age: dates are among ranges of numbers (1: {date!r})")
        for note in found.notes
    ] == [True]


def test_ranges_of_dates_are_none(session: Session):
    found = audited(session, {"born": ["2020-01-01 to 2020-01-31", "2020-02-01"]})
    assert (found.figures.losses["born"], found.notes) == (pytest.approx(30 / 31 / 2), ())


def test_what_nobody_fits_is_not_measured(session: Session):
    found = audited(session, {"age": ["20-29", "30-39"]}, background=labels(session, age=["99"]))
    risks = found.to_json()["background"]["risks"]
    assert [risks[one] for one in ("journalist", "marketer", "presence", "prosecutor")] == [
        None,
        None,
        None,
        1.0,
    ]
    assert found.notes == (
        "no row of the background table fits any class; check that it writes values as the table "
        "does",
    )


def test_sets_of_values_that_look_like_ranges_lose_what_the_run_file_says() -> None:
    labels = ["{20-29, 30-39}"] * 4 + ["40-49"] * 3 + ["*"]
    table = pa.table({"age": labels, "disease": ["flu", "gout"] * 4})
    found = audit(table, {"age": {"generalization": "set"}}, {"disease": "equal"}, engine="local")
    assert found.figures.losses == {"age": pytest.approx((4 * 2 / 3 + 1) / 8)}
    assert not any("do not show how far" in note for note in found.notes)
