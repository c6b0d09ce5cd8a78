"""Audits and explanations on a terminal of 80 columns: no line is longer, and no figure is broken."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import pytest
from test_audit_views import Labels, audit, explanation, k_of

from tclose_spark.auditing import commands
from tclose_spark.auditing.attacks.exposures import Exposure
from tclose_spark.auditing.views import audit_lines, explanation_lines
from tclose_spark.checks.classes.figures import Guarantee
from tclose_spark.runfile.attributes import Recursive

LONG: Labels = {"age_at_the_first_examination": "[1234567890, 2345678901]", "municipality": "Upper Nowhere on the Hill"}
MANY = 1_234_567_890


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[[Iterable[Any]], str]:
    """What is written on 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")

    def text(lines: Iterable[Any]) -> str:
        commands._print(lines)
        return capsys.readouterr().out

    return text


def assert_whole(text: str, *figures: str) -> None:
    assert max(map(len, text.splitlines())) <= 80
    words = text.replace("\n", " ").split()
    for figure in figures:
        for word in figure.split():
            assert word in words, figure


def guarantee(**changed: Any) -> Guarantee:
    given = {"measure": "t-closeness", "attribute": "salary_before_taxes_and_transfers", "required": Fraction(1, 7)}
    found = {"achieved": Fraction(12345, 67891), "classes": MANY, "rows": 9 * MANY, "worst": LONG, "size": MANY}
    return Guarantee(**{**given, **found, **changed})


def test_eighty_columns_are_narrow_and_more_are_not(monkeypatch: pytest.MonkeyPatch):
    for columns, narrow in (("80", True), ("119", True), ("120", False)):
        monkeypatch.setenv("COLUMNS", columns)
        assert commands._is_narrow() is narrow
    monkeypatch.delenv("COLUMNS")
    assert not commands._is_narrow()  # a pipe


def test_guarantees_with_long_labels_and_large_numbers(printed: Callable[[Iterable[Any]], str]):
    recursive = Recursive.model_validate({"c": 3, "l": 2})
    many = [
        k_of(5, 2, classes=MANY, rows=9 * MANY, worst=LONG),
        guarantee(),
        guarantee(measure="recursive (c, l)-diversity", required=recursive, achieved=False),
        guarantee(measure="(n, t)-closeness", required="n = 1000, t = 0.2", achieved=0.123456789),
        guarantee(required=None),
    ]
    text = printed(audit_lines(audit(many), "people.csv", narrow=True))
    assert_whole(text, f"{MANY:,}", f"{9 * MANY:,}", "0.142857", "0.181836", "0.123457", "12345/67891;")
    assert_whole(text, "age_at_the_first_examination='[1234567890, 2345678901]',", "municipality='Upper Nowhere")


def test_attacks_with_long_labels_and_large_numbers(printed: Callable[[Iterable[Any]], str]):
    about = {"attribute": "salary_before_taxes", "classes": MANY, "people": 9 * MANY, "before": 0.25, "after": 0.75}
    found = [
        Exposure(attack="skewness", criterion="belief in some value rises", about="1234567890", worst=LONG, **about),
        Exposure(attack="knowing another", criterion="who knows is certain", about="town", **about),
        Exposure(attack="homogeneity", criterion="one value", worst={}, size=MANY, **about),
    ]
    text = printed(audit_lines(audit([k_of(5, 5)], found), "people.csv", narrow=True))
    assert_whole(text, f"{MANY:,}", f"{9 * MANY:,}", "0.250 -> 0.750", "2345678901]',", "mean over rows, knowing town")
    assert f"worst class {MANY:,} records" in " ".join(text.split())
    assert "worst 1234567890 in age_at_the_first_examination" in " ".join(text.split())


def test_an_explanation_with_long_values_and_large_numbers(printed: Callable[[Iterable[Any]], str]):
    values = ["12345678901234567890", "from 98765432109 to 99999999999", None]
    text = printed(explanation_lines(explanation(values, [MANY, 0, 3], [5, MANY, 7], t="1/5"), narrow=True))
    assert_whole(text, f"{MANY:,}", "12345678901234567890", "99999999999")
    assert "12345678901234567890 -> from 98765432109" in " ".join(text.split())
    assert "The costs add up to" in text


@pytest.mark.parametrize("narrow", [True, False])
def test_both_forms_say_the_same_moves(printed: Callable[[Iterable[Any]], str], narrow: bool):
    text = printed(explanation_lines(explanation(["1", "2", "3"], [2, 0, 0], [1, 1, 2]), narrow=narrow))
    assert text.count("0.25") >= 1
    assert text.count("0.5") >= 2
