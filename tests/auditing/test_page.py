"""Pages of audits and explanations: every figure is there, labels are data, nothing is fetched."""

import json
import os
import stat
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from html_page import Page
from test_audit_views import FIRST, OLD, audit, explanation, k_of

from tclose_spark.api.command_line import require_new
from tclose_spark.auditing.attacks.background import BackgroundJoin
from tclose_spark.auditing.attacks.exposures import Exposure
from tclose_spark.auditing.views import audit_page, explanation_page
from tclose_spark.cli.options import write_private
from tclose_spark.errors import ConfigurationError
from tclose_spark.measures.disclosure.reidentification import risks
from tclose_spark.requirements.criterion import Guarantee

T = Guarantee(
    measure="t-closeness",
    attribute="pay",
    required=Fraction(1, 5),
    achieved=Fraction(5, 12),
    classes=3,
    rows=1234,
    worst={"age": "<b>old</b>", "sex": None},
    size=12,
)
TOLD = Guarantee(
    measure="entropy l-diversity",
    attribute="pay",
    required=None,
    achieved=2.5,
    classes=0,
    rows=0,
    worst=OLD,
)
SKEW = Exposure(
    attack="skewness",
    attribute="pay",
    criterion="belief rises",
    classes=3,
    people=4321,
    before=0.25,
    after=0.75,
    about="<i>high",
    worst=FIRST,
    size=9,
)


def test_an_audit_as_a_page():
    page = Page(
        audit_page(audit([k_of(5, 5), T, TOLD], [SKEW], notes=["look < twice"]), "people.csv"),
    )
    assert page.only("h1") == "people.csv"
    assert page.only("strong") == "NOT all requirements hold"
    assert page.only("tr", "t-closeness of pay").endswith("0.2 0.416667 = 5/12 no 3 1,234")
    assert "worst class: age <b>old</b>, sex (missing) (12 rows)" in page.only(
        "tr",
        "t-closeness of pay",
    )
    assert page.only("tr", "entropy").endswith("2.5 only measured")
    assert page.only("tr", "skewness").endswith("3 4,321 25% 75%")
    assert "<i>high" in page.only("tr", "skewness")
    assert "<i>high" not in page.source
    assert page.only("li", "look < twice")
    assert page.only("dd", "the smallest class has").endswith("--special-uniques; --cells")
    assert page.only("dd", "to pick").endswith("--raw; --background; --population; --earlier")
    inferred = page.only("dd", "t-closeness of pay: 0.416667 = 5/12")
    assert "skewness, pay: exposes 4,321 rows" in inferred


@pytest.mark.parametrize(
    ("asked", "said"),
    [(5, "All requirements hold"), (None, "Nothing is required")],
)
def test_the_verdict_of_an_audit(asked: int | None, said: str):
    assert Page(audit_page(audit([k_of(asked, 5)]))).only("strong") == said


def test_an_audit_without_labels_shows_none():
    source = audit_page(audit([T], [SKEW]).without_labels())
    assert "b&gt;old" not in source
    assert "i&gt;high" not in source
    assert "worst class: 12 rows" in source


def test_a_background_join_is_on_the_page():
    import numpy as np

    joined = BackgroundJoin(
        joined=("age",),
        people=100,
        candidates=90,
        members=7,
        risks=risks(np.array([4, 5]), np.array([8, 5])),
        guesses=(),
    )
    page = Page(audit_page(audit([k_of(5, 5)], background=joined)))
    assert page.after("Membership").startswith("7 of 100 rows of the background table")
    assert page.after("No match").startswith("10 rows of the background table")


def test_a_class_explained_as_a_page():
    page = Page(
        explanation_page(
            explanation(["low", "<b>high", None], [2, 0, 0], [1, 1, 2], t="1/5"),
            "people.csv",
        ),
    )
    assert page.only("strong") == "Farther than t = 0.2"
    assert page.only("tr", "low 2") == "low 2 100% 25%"
    assert page.only("tr", "low (missing)").endswith("50% 1 0.5")
    assert [tag for tag, attributes in page.tags if tag == "svg" and attributes["role"] == "img"]
    assert "<b>high" not in page.source


@pytest.mark.parametrize("make", [audit_page, explanation_page])
def test_a_page_is_one_file(make: Any):
    given: Any = audit([T]) if make is audit_page else explanation(["a", "b"], [1, 1], [1, 3])
    page = Page(make(given))
    assert not {tag for tag, _ in page.tags} & {"script", "link", "iframe", "img"}
    assert "http" not in page.source
    assert not page.open


def test_a_page_is_for_its_owner_and_replaces_nothing(tmp_path: Path):
    path = str(tmp_path / "page.html")
    write_private("--html", path, "a page")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with pytest.raises(ConfigurationError, match=r"--html: .* exists already"):
        require_new("--html", path)
    with pytest.raises(ConfigurationError, match=r"--html: the folder of .* does not exist"):
        require_new("--html", tmp_path / "none/page.html")


def test_a_line_that_is_no_row_is_said_in_every_form(
    tmp_path: Path,
    tclose: Callable[..., tuple[int, str, str]],
) -> None:
    rows = "".join(f"{['clerk', 'nurse'][i % 2]},{10 + i},x\n" for i in range(6))
    (tmp_path / "a.csv").write_text(f"job,pay,town\n{rows}Total,{sum(range(10, 16))},\n")
    (tmp_path / "b.csv").write_text(f"job,pay,town\n{rows}Note taker,c,\n")
    asked = ["-q", "job", "-s", "town"]
    said = "1 lines below it seem to be a total or notes; these lines are left out"
    code, printed, _ = tclose(
        "audit",
        str(tmp_path / "a.csv"),
        *asked,
        "--html",
        str(tmp_path / "page.html"),
    )
    assert code == 0
    assert said in " ".join(printed.split())
    assert said in " ".join((tmp_path / "page.html").read_text().split())
    made = json.loads(tclose("audit", str(tmp_path / "a.csv"), *asked, "--json")[1])
    assert made["table"]["rows"] == 6
    assert any(said in note for note in made["notes"])
    made = json.loads(tclose("audit", str(tmp_path / "b.csv"), *asked, "--json")[1])
    assert made["table"]["rows"] == 7
    assert not any("left out" in note for note in made["notes"])
