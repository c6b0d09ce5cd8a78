"""What is printed of an audit and of an explanation: every guarantee, labels as they are in the
table, nothing that crashes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tclose_spark.auditing.attacks.background import BackgroundJoin, MinimalityGuesses
from tclose_spark.auditing.attacks.exposures import Exposure
from tclose_spark.auditing.audit import audit_table
from tclose_spark.auditing.question import question_from_columns
from tclose_spark.auditing.result import AuditResult, ClassExplanation
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.auditing.views import MOST_LINES, audit_lines, audit_page, explanation_lines
from tclose_spark.checks.classes.figures import ClassFigures
from tclose_spark.checks.labels.wildcards import MEASURE
from tclose_spark.cli.console import show
from tclose_spark.measures.disclosure.reidentification import risks
from tclose_spark.measures.distances.ground_distances import OrderedDistance
from tclose_spark.measures.distances.transport import transport_plan
from tclose_spark.requirements.criterion import Guarantee
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.runfile.attributes import Recursive, SensitiveAttribute

Labels = Mapping[str, Any]
OLD: Labels = {"age": "[20, 29]", "sex": "*"}
FIRST: Labels = {"age": "]30, 39]", "sex": "f"}


def k_of(
    asked: int | None,
    achieved: int,
    classes: int = 0,
    rows: int = 0,
    worst: Labels = OLD,
) -> Guarantee:
    return Guarantee(
        measure="k-anonymity",
        attribute=None,
        required=asked,
        achieved=achieved,
        classes=classes,
        rows=rows,
        worst=worst,
    )


def audit(
    guarantees: Sequence[Guarantee],
    exposures: Sequence[Exposure] = (),
    background: BackgroundJoin | None = None,
    notes: Sequence[str] = (),
    losses: Mapping[str, float] | None = None,
) -> AuditResult:
    """An audit of 1,200 rows in 300 classes that found this."""
    figures = ClassFigures(
        rows=1200,
        classes=300,
        smallest=2,
        largest=31,
        discernibility=98_765,
        losses=losses or {"age": 0.25, "sex": 0.0},
        released_losses={},
        homogeneous={},
        guarantees=tuple(guarantees),
    )
    return AuditResult(
        question=question_from_columns(["age", "sex"]),
        figures=figures,
        guarantees=tuple(guarantees),
        attacks=tuple(exposures),
        background=background,
        notes=tuple(notes),
    )


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[[Any], str]:
    """`printed(lines)`: what `tclose audit` and `tclose explain` write."""

    def text(lines: Any) -> str:
        capsys.readouterr()
        show(lines, wrapped=True)
        return capsys.readouterr().out

    return text


def cells(text: str, first: str) -> list[str]:
    """The cells, without empty ones, of the one row of a table that begins with this text."""
    (line,) = [line.strip() for line in text.splitlines() if line.startswith(f" {first}  ")]
    return [cell.strip() for cell in line[len(first) :].split("  ") if cell.strip()]


def below(text: str, first: str) -> str:
    """What the one line below a table says of this row."""
    (line,) = [line for line in text.splitlines() if line.startswith(f"{first}: ")]
    return line.removeprefix(f"{first}: ")


# --- the audit


def test_every_guarantee_has_a_line(printed: Callable[[Any], str]):
    text = printed(
        audit_lines(
            audit(
                [
                    k_of(5, 2, classes=7, rows=1234),
                    Guarantee(
                        measure="t-closeness",
                        attribute="salary",
                        required=Fraction(1, 5),
                        achieved=Fraction(5, 12),
                        classes=3,
                        rows=10,
                        worst=FIRST,
                    ),
                    Guarantee(
                        measure="t-closeness",
                        attribute="town",
                        required=None,
                        achieved=Fraction(1, 2),
                        classes=0,
                        rows=0,
                        worst=OLD,
                    ),
                    Guarantee(
                        measure="distinct l-diversity",
                        attribute="salary",
                        required=2,
                        achieved=3,
                        classes=0,
                        rows=0,
                        worst=FIRST,
                    ),
                    Guarantee(
                        measure="entropy l-diversity",
                        attribute="salary",
                        required=Fraction(5, 2),
                        achieved=2.6666666,
                        classes=0,
                        rows=0,
                        worst=FIRST,
                    ),
                    Guarantee(
                        measure="recursive (c, l)-diversity",
                        attribute="salary",
                        required=Recursive(c=Fraction(3), l=2),
                        achieved=False,
                        classes=1,
                        rows=4,
                        worst=FIRST,
                    ),
                    Guarantee(
                        measure="(n, t)-closeness",
                        attribute="salary",
                        required="n = 9, t = 0.2",
                        achieved=0.25,
                        classes=1,
                        rows=4,
                        worst={**FIRST, "(superset)": "age=*, sex=f"},
                    ),
                    Guarantee(
                        measure="t-closeness of tuples",
                        attribute="salary and town",
                        required=None,
                        achieved=Fraction(3, 4),
                        classes=0,
                        rows=0,
                        worst=FIRST,
                    ),
                ],
            ),
            "people.csv",
        ),
    )
    assert text.startswith("people.csv: 1,200 rows in 300 classes; NOT all requirements hold\n")
    old, first = "worst class age='[20, 29]', sex='*'", "worst class age=']30, 39]', sex='f'"
    assert cells(text, "k-anonymity") == ["5", "2", "NO", "7", "1,234"]
    assert below(text, "k-anonymity") == old
    assert cells(text, "t-closeness of salary") == ["0.2", "0.416667", "NO", "3", "10"]
    assert below(text, "t-closeness of salary") == f"exactly 5/12; {first}"
    assert cells(text, "t-closeness of town") == [
        "0.5",
        "measured",
    ]  # without a requirement, nothing violates it
    assert below(text, "t-closeness of town") == f"exactly 1/2; {old}"
    assert cells(text, "distinct l-diversity of salary") == ["2", "3", "yes", "0", "0"]
    assert cells(text, "entropy l-diversity of salary") == ["2.5", "2.66667", "yes", "0", "0"]
    assert cells(text, "recursive (c, l)-diversity of salary") == ["(3, 2)", "no", "NO", "1", "4"]
    assert cells(text, "(n, t)-closeness of salary") == ["n = 9, t = 0.2", "0.25", "NO", "1", "4"]
    assert below(text, "(n, t)-closeness of salary") == f"{first}, (superset)='age=*, sex=f'"
    assert cells(text, "t-closeness of tuples of salary and town") == ["0.75", "measured"]


@pytest.mark.parametrize(
    ("asked", "broken", "verdict"),
    [
        (2, 0, "all requirements hold"),
        (3, 1, "NOT all requirements hold"),
        (None, 0, "nothing is required"),
    ],
)
def test_the_verdict_stands_first(
    printed: Callable[[Any], str],
    asked: int | None,
    broken: int,
    verdict: str,
):
    text = printed(audit_lines(audit([k_of(asked, 2, broken, broken)]), "people.csv"))
    assert text.splitlines()[0] == f"people.csv: 1,200 rows in 300 classes; {verdict}"


def test_the_headline_has_both_k_if_a_missing_value_may_be_any(printed: Callable[[Any], str]):
    alike = replace(k_of(3, 4), measure=MEASURE)
    found = audit([k_of(None, 2), alike])
    headline = "classes, k 4 if a missing value may be any, strictly 2; all requirements hold"
    assert headline in " ".join(printed(audit_lines(found, "people.csv")).split())
    assert "rows, k 4 if a missing value may be any, strictly 2.</p>" in audit_page(found)
    assert "strictly" not in printed(audit_lines(audit([k_of(3, 4)]), "people.csv"))


def test_what_the_table_is_worth_and_notes(printed: Callable[[Any], str]):
    text = printed(
        audit_lines(
            audit([k_of(2, 2)], notes=["zip: labels such as '12*' look generalized [so]"]),
            "people.csv",
        ),
    )
    assert "Utility: information loss (NCP) 0.1250 (age 0.2500, sex 0.0000)\n" in text
    assert "average class size 4.0 (from 2 to 31), discernibility 98,765\n" in text
    assert "note: zip: labels such as '12*' look generalized [so]\n" in text
    assert "Attacks" not in text  # without sensitive attributes there are none


def test_attacks(printed: Callable[[Any], str]):
    text = printed(
        audit_lines(
            audit(
                [k_of(2, 2)],
                [
                    Exposure(
                        attack="homogeneity",
                        attribute="pay",
                        criterion="all records of the class have one pay",
                        classes=3,
                        people=1017,
                        before=0.1,
                        after=1.0,
                        about="[low]",
                        worst=FIRST,
                    ),
                    Exposure(
                        attack="skewness",
                        attribute="pay",
                        criterion="belief in a pay rises by more than 0.2",
                        classes=0,
                        people=0,
                        before=0.25,
                        after=0.3333333,
                        about=None,
                        worst=OLD,
                    ),
                    Exposure(
                        attack="knowing another",
                        attribute="pay",
                        criterion="an adversary who knows the class and town is certain of pay",
                        classes=2,
                        people=5,
                        before=0.4,
                        after=0.65,
                        about="town",
                    ),
                ],
            ),
            "people.csv",
        ),
    )
    labels = ["age=']30, 39]', sex='f'", "age='[20, 29]', sex='*'"]
    assert cells(text, "homogeneity, pay") == ["3", "1,017", "0.100 -> 1.000"]
    assert (
        below(text, "homogeneity, pay")
        == f"all records of the class have one pay; worst [low] in {labels[0]}"
    )
    assert cells(text, "skewness, pay") == ["0", "0", "0.250 -> 0.333"]
    assert below(text, "skewness, pay").endswith(f"; worst missing in {labels[1]}")
    assert cells(text, "knowing another, pay") == ["2", "5", "0.400 -> 0.650"]
    assert below(text, "knowing another, pay").endswith(
        "; mean over rows, knowing town",
    )  # no one class


def test_the_background_join(printed: Callable[[Any], str]):
    found = risks(
        np.array([2, 4]),
        np.array([1, 8]),
    )  # two records that one person fits, four that eight do
    text = printed(
        audit_lines(
            audit(
                [k_of(2, 2)],
                background=BackgroundJoin(
                    joined=("age", "sex"),
                    people=1009,
                    candidates=9,
                    members=1,
                    risks=found,
                ),
            ),
            "people.csv",
        ),
    )
    assert "Join with the background table, by age, sex" in [
        line.strip() for line in text.splitlines()
    ]
    assert cells(text, "prosecutor") == ["0.500000"]
    assert cells(text, "journalist") == ["0.500000"]
    assert cells(text, "marketer") == [
        "0.250000",
    ]  # 2 records with 1/2, 4 with 4/8 an eighth each: (1 + 1/2) / 6
    assert cells(text, "membership") == ["1"]
    assert below(text, "membership").startswith(
        "of 1,009 rows of the background table, those of people who are",
    )
    assert cells(text, "no match") == ["1,000"]


def test_the_minimality_attack(printed: Callable[[Any], str]):
    guesses = (
        MinimalityGuesses(attribute="pay", people=43, said=0.26, at_least=0.5, right=0.63),
        MinimalityGuesses(attribute="town", people=0, said=None, at_least=None, right=None),
    )
    found = risks(np.array([4]), np.array([8]))
    joined = BackgroundJoin(
        joined=("age",),
        people=8,
        candidates=8,
        members=0,
        risks=found,
        guesses=guesses,
    )
    text = printed(audit_lines(audit([k_of(2, 2)], background=joined), "people.csv"))
    assert cells(text, "minimality attack, pay") == ["43"]
    assert below(text, "minimality attack, pay").endswith(
        "; their classes indicate it for 0.260, the guess expects at least 0.500, and is right "
        "for 0.630",
    )
    assert cells(text, "minimality attack, town") == ["0"]
    assert below(text, "minimality attack, town").endswith("hold as much of it as any class")


# --- names and labels are printed as they are

STRANGE = [
    "[bold]",
    "[/]",
    "[/red]",
    "a[0]",
    "{a, b}",
    "größer ≥ 5",
    "東京",
    "a.b",
    "back\\slash",
    "]30, 39[",
]


@pytest.mark.parametrize("name", STRANGE)
def test_names_and_values_in_brackets_are_no_markup(printed: Callable[[Any], str], name: str):
    worst = {name: "f"}
    text = printed(
        audit_lines(
            audit(
                [
                    Guarantee(
                        measure="t-closeness",
                        attribute=name,
                        required=None,
                        achieved=Fraction(1, 2),
                        classes=0,
                        rows=0,
                        worst=worst,
                    ),
                ],
                [
                    Exposure(
                        attack="skewness",
                        attribute=name,
                        criterion=f"belief in a {name} rises",
                        classes=0,
                        people=0,
                        before=0.2,
                        after=0.3,
                        about=name,
                        worst=worst,
                    ),
                ],
                notes=[f"{name}: differ"],
                losses={name: 0.5},
            ),
            name,
        ),
    )
    assert cells(text, f"t-closeness of {name}") == ["0.5", "measured"]
    assert below(text, f"t-closeness of {name}") == f"exactly 1/2; worst class {name}='f'"
    assert (
        below(text, f"skewness, {name}") == f"belief in a {name} rises; worst {name} in {name}='f'"
    )
    assert f"\nnote: {name}: differ\n" in text
    assert f"({name} 0.5000)" in text
    assert text.startswith(f"{name}: 1,200 rows")


@pytest.mark.parametrize("name", ["[bold]", "[/]"])
def test_the_background_table_is_named_as_it_is(printed: Callable[[Any], str], name: str):
    found = BackgroundJoin(
        joined=(name,),
        people=8,
        candidates=8,
        members=0,
        risks=risks(np.array([4]), np.array([8])),
    )
    assert f"Join with the background table, by {name}" in printed(
        audit_lines(audit([k_of(2, 2)], background=found), "people.csv"),
    )


def test_a_missing_label_is_not_the_text_missing(printed: Callable[[Any], str]):
    text = printed(
        audit_lines(audit([k_of(2, 2, worst={"age": None, "sex": "missing"})]), "people.csv"),
    )
    assert below(text, "k-anonymity") == "worst class age=missing, sex='missing'"


@pytest.mark.parametrize("value", ["a\\[b]", "1:100:5"])
def test_no_value_is_rewritten(printed: Callable[[Any], str], value: str):
    text = printed(
        audit_lines(
            audit(
                [k_of(2, 2)],
                [
                    Exposure(
                        attack="skewness",
                        attribute="pay",
                        criterion="so",
                        classes=0,
                        people=0,
                        before=0.2,
                        after=0.3,
                        about=value,
                        worst=OLD,
                    ),
                ],
            ),
            "people.csv",
        ),
    )
    assert below(text, "skewness, pay").startswith(f"so; worst {value} in ")


# --- the explanation


def explanation(
    values: Sequence[str | None],
    part: Sequence[int],
    whole: Sequence[int],
    labels: Labels = FIRST,
    **asked: Any,
) -> ClassExplanation:
    """Of a class with `part` records of each value in a table with `whole`."""
    distance = OrderedDistance(np.array(whole))
    judged = JudgedAttribute(
        "pay",
        tuple(values),
        distance,
        SensitiveAttribute.model_validate({"distance": "ordered", **asked}),
    )
    return ClassExplanation(
        labels=labels,
        attribute=judged,
        part=np.array(part),
        whole=distance.table,
        plan=transport_plan(distance, np.array(part)),
    )


def test_a_class_explained(printed: Callable[[Any], str]):
    text = printed(
        explanation_lines(
            explanation(
                ["3k", "[4k]", None],
                [2, 0, 0],
                [2, 1, 1],
                {"age": "30", "sex": "f"},
                t="0.25",
            ),
        ),
    )
    assert text.startswith("Class age='30', sex='f': 2 records, compared with 4\n")
    # a quarter of the mass moves one step of two, a quarter moves both: 1/4 * 1/2 + 1/4 * 1
    assert (
        "Earth mover's distance of pay (ordered): 0.375 = 3/8, required 0.25: does NOT hold\n"
        in text
    )
    assert cells(text, "3k") == ["2", "1.0000", "0.5000", "+0.5000"]
    assert cells(text, "[4k]") == ["0", "0.0000", "0.2500", "-0.2500"]
    assert cells(text, "missing") == ["0", "0.0000", "0.2500", "-0.2500"]
    assert cells(text, "3k -> [4k]") == ["0.25", "0.5", "0.125"]
    assert cells(text, "3k -> missing") == ["0.25", "1", "0.25"]
    assert text.endswith("The costs add up to 0.375.\n")


def test_a_distance_that_equals_t_holds(printed: Callable[[Any], str]):
    assert "3/8, required 0.375: holds\n" in printed(
        explanation_lines(explanation(["1", "2", "3"], [2, 0, 0], [2, 1, 1], t="0.375")),
    )
    assert "3/8\n" in printed(
        explanation_lines(explanation(["1", "2", "3"], [2, 0, 0], [2, 1, 1])),
    )  # nothing required


def test_the_class_is_named_as_it_is(printed: Callable[[Any], str]):
    assert printed(explanation_lines(explanation(["1", "2"], [1, 0], [1, 1], OLD))).startswith(
        "Class age='[20, 29]', sex='*': 1 records, compared with 2\n",
    )


def test_of_many_values_and_moves_the_largest_are_shown(printed: Callable[[Any], str]):
    """Half of the table has the first value, the class has it always; so each other value gets a
    move, the farther the dearer.
    """
    others = MOST_LINES + 4
    text = printed(
        explanation_lines(
            explanation(
                [f"v{i}." for i in range(others + 1)],
                [1, *[0] * others],
                [others, *[1] * others],
            ),
        ),
    )
    assert (
        f"({others + 1 - MOST_LINES} values with smaller differences are left out; --json has all)"
        in text
    )
    assert cells(text, "v0.")[0] == "1"  # the largest difference is among those shown
    values, moves = text.split("Transport plan")
    assert (
        sum(line.startswith(" v") and not line.startswith(" value") for line in values.splitlines())
        == MOST_LINES
    )
    assert sum(line.startswith(" v0. -> ") for line in moves.splitlines()) == MOST_LINES
    assert cells(moves, f"v0. -> v{others}.") == [
        f"{1 / (2 * others):.6g}",
        "1",
        f"{1 / (2 * others):.6g}",
    ]
    cheaper = Fraction(sum(range(1, others - MOST_LINES + 1)), others * 2 * others)
    total = Fraction(others + 1, 4 * others)
    assert (
        f"The costs add up to {float(total):.6g}. (4 cheaper moves, which cost "
        f"{float(cheaper):.6g}, are left out; --json has all)" in text
    )


def test_what_fits_is_shown_whole(printed: Callable[[Any], str]):
    others = MOST_LINES - 1
    text = printed(
        explanation_lines(
            explanation(
                [f"v{i}." for i in range(others + 1)],
                [1, *[0] * others],
                [others, *[1] * others],
            ),
        ),
    )
    assert "left out" not in text


# --- on 80 columns: no line is longer, and no figure is broken

LONG: Labels = {
    "age_at_the_first_examination": "[1234567890, 2345678901]",
    "municipality": "Upper Nowhere on the Hill",
}
MANY = 1_234_567_890


@pytest.fixture
def narrow(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Iterable[Any]], str]:
    """What is written on 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")

    def text(lines: Iterable[Any]) -> str:
        show(lines, wrapped=True)
        return capsys.readouterr().out

    return text


def assert_whole(text: str, *figures: str) -> None:
    assert max(map(len, text.splitlines())) <= 80
    words = text.replace("\n", " ").split()
    for figure in figures:
        for word in figure.split():
            assert word in words, figure


def guarantee(**changed: Any) -> Guarantee:
    given = {
        "measure": "t-closeness",
        "attribute": "salary_before_taxes_and_transfers",
        "required": Fraction(1, 7),
    }
    found = {
        "achieved": Fraction(12345, 67891),
        "classes": MANY,
        "rows": 9 * MANY,
        "worst": LONG,
        "size": MANY,
    }
    return Guarantee(**{**given, **found, **changed})


def test_guarantees_with_long_labels_and_large_numbers(narrow: Callable[[Iterable[Any]], str]):
    recursive = Recursive.model_validate({"c": 3, "l": 2})
    many = [
        k_of(5, 2, classes=MANY, rows=9 * MANY, worst=LONG),
        guarantee(),
        guarantee(measure="recursive (c, l)-diversity", required=recursive, achieved=False),
        guarantee(measure="(n, t)-closeness", required="n = 1000, t = 0.2", achieved=0.123456789),
        guarantee(required=None),
    ]
    text = narrow(audit_lines(audit(many), "people.csv"))
    assert_whole(
        text,
        f"{MANY:,}",
        f"{9 * MANY:,}",
        "0.142857",
        "0.181836",
        "0.123457",
        "12345/67891;",
    )
    assert_whole(
        text,
        "age_at_the_first_examination='[1234567890, 2345678901]',",
        "municipality='Upper Nowhere",
    )


def test_attacks_with_long_labels_and_large_numbers(narrow: Callable[[Iterable[Any]], str]):
    about = {
        "attribute": "salary_before_taxes",
        "classes": MANY,
        "people": 9 * MANY,
        "before": 0.25,
        "after": 0.75,
    }
    found = [
        Exposure(
            attack="skewness",
            criterion="belief in some value rises",
            about="1234567890",
            worst=LONG,
            **about,
        ),
        Exposure(attack="knowing another", criterion="who knows is certain", about="town", **about),
        Exposure(attack="homogeneity", criterion="one value", worst={}, size=MANY, **about),
    ]
    text = narrow(audit_lines(audit([k_of(5, 5)], found), "people.csv"))
    assert_whole(
        text,
        f"{MANY:,}",
        f"{9 * MANY:,}",
        "0.250 -> 0.750",
        "2345678901]',",
        "mean over rows, knowing town",
    )
    assert f"worst class of {MANY:,} records" in " ".join(text.split())
    assert "worst 1234567890 in age_at_the_first_examination" in " ".join(text.split())


def test_an_explanation_with_long_values_and_large_numbers(narrow: Callable[[Iterable[Any]], str]):
    values = ["12345678901234567890", "from 98765432109 to 99999999999", None]
    text = narrow(explanation_lines(explanation(values, [MANY, 0, 3], [5, MANY, 7], t="1/5")))
    assert_whole(text, f"{MANY:,}", "12345678901234567890", "99999999999")
    assert "12345678901234567890 -> from 98765432109" in " ".join(text.split())
    assert "The costs add up to" in text


# --- from a table


def test_a_table_without_sensitive_attributes_and_with_strange_names(
    spark: SparkSession,
    printed: Callable[[Any], str],
):
    table = spark.createDataFrame(
        [("[20, 29]", "zażółć"), ("[20, 29]", "zażółć"), ("[30, 59]", "*")],
        "`age.[x]` string, `stadt ü` string",
    )
    found = audit_table(
        AuditTables(table=table),
        question_from_columns(["age.[x]", "stadt ü"], k=2),
    )
    text = printed(audit_lines(found, "people.csv"))
    assert text.startswith("people.csv: 3 rows in 2 classes; NOT all requirements hold\n")
    assert cells(text, "k-anonymity") == ["2", "1", "NO", "1", "1"]
    assert below(text, "k-anonymity") == "worst class age.[x]='[30, 59]', stadt ü='*'"
    # ages span 39 years: two records lose 9/39, one 29/39, and of the town one loses all
    assert (
        f"(NCP) {((2 * 9 + 29) / 39 + 1) / 3 / 2:.4f} (age.[x] {(2 * 9 + 29) / 39 / 3:.4f}, stadt "
        f"ü {1 / 3:.4f})" in text
    )
