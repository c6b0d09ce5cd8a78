"""What the verdict's colour means: what is unprotected, what is certain, and what is warned of."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from oracle.third_party import ThirdParty, certificate_of
from promise_page import promises

from tclose_spark import pipeline

ROWS = 12
ONE_CLASS = {
    "age": list(range(20, 20 + ROWS)),
    "sex": ["f", "m"] * 6,
    "disease": ["flu", "flu ", "FLU"] * 4,
    "grade": [1, 2, 2, 3] * 3,
    "stage": ["early", "late", "late"] * 4,
    "place": ["here"] * ROWS,
    "gone": pa.array([None] * ROWS, pa.string()),
}


@pytest.fixture(scope="module")
def one_class(
    write_run: Callable[..., Path],
    open_run: Callable[..., Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A finished output of one class, with much to warn of."""
    sensitive = {
        "disease": {"t": "measure", "l": {"distinct": 3}},
        "grade": {"distance": "ordered", "order": [0, 1, 2, 3, 4], "t": "1"},
        "stage": {"t": "1", "l": {"distinct": 1}},
        "place": {"t": "measure"},
        "gone": {"t": "0.5"},
    }
    quasi = {"age": {"type": "numeric"}, "sex": {}}
    path = write_run(
        tmp_path_factory.mktemp("one-class"),
        ONE_CLASS,
        quasi=quasi,
        sensitive=sensitive,
        k=ROWS,
    )
    pipeline.release(open_run(path))
    return path.parent / "out"


@promises("Every sensitive attribute needs a t, an l, or the words")
@pytest.mark.parametrize(
    ("asked", "enough"),
    [({}, False), ({"t": "0.2"}, True), ({"l": {"distinct": 2}}, True), ({"t": "measure"}, True)],
)
def test_something_is_required_of_every_sensitive_attribute(
    run_file: Callable[..., Path],
    tclose: Callable[..., tuple[int, str, str]],
    asked: dict[str, Any],
    enough: bool,
) -> None:
    path = run_file(None)
    tree = yaml.safe_load(path.read_text())
    tree["attributes"]["sensitive_attributes"]["disease"] = asked
    path.write_text(yaml.safe_dump(tree))
    code, _, err = tclose("profile", path)  # of a table that is not there
    assert code == 2
    assert ("disease" in err) != enough
    assert not list(path.parent.glob("out/public/*"))


@promises(
    "Unprotected attributes.",
    "An attribute with neither a t below 1 nor an l above 1 is unprotected, and a verdict that "
    "holds is amber",
    "The certificate names the attribute (`unprot",
)
def test_unprotected_attributes_are_named_with_the_rows_that_are_certain(
    one_class: Path,
    certificate: dict[str, Any],
) -> None:
    assert certificate_of(one_class)["unprotected"] == {
        "grade": {"classes": 0, "rows": 0},
        "stage": {"classes": 0, "rows": 0},
        "place": {"classes": 1, "rows": ROWS},
    }
    assert certificate["unprotected"] == {}


@promises("A verdict that holds is shown in amber if an attribute is unprotected.")
def test_the_verdict_is_amber(one_class: Path, finished: Path) -> None:
    colours = {}
    for output in (one_class, finished):
        assert certificate_of(output)["verdict"] == "holds"
        page = (output / "public/report.html").read_text()
        (kind,) = re.findall(r'<div class="verdict (\w+)"><strong>Verdict: holds', page)
        (style,) = re.findall(rf"\.verdict\.{kind} {{([^}}]*)}}", page)
        colours[output] = re.findall(r"(?<![\w-])color: var\(--(\w+)\)", style)
    assert colours == {one_class: ["amber"], finished: ["good"]}


@promises("NULL counts as a value")
def test_null_counts_as_a_value(
    one_class: Path,
    certificate: dict[str, Any],
    finished: Path,
) -> None:
    gone = certificate_of(one_class)["attributes"]["sensitive"]["gone"]
    assert gone["homogeneous"] == {"classes": 1, "rows": ROWS}
    assert gone["domain"]["values"] == [None]
    counted = ThirdParty(finished / "public").parts("disease")
    assert certificate["guarantees"]["l"]["disease"]["distinct"]["achieved"] == min(
        map(len, counted),
    )


@promises(
    "`warnings` lists what deserves a second look",
    "an attribute with one value;",
    "a quasi-identifier that is `*` in most rows;",
    "different spellings of one value;",
    "unused values of an order;",
    "a table that is nearly useless, because of its information loss (NCP above 0.5) or because "
    "it is one class.",
)
def test_what_deserves_a_second_look_is_listed(
    one_class: Path,
    certificate: dict[str, Any],
) -> None:
    warnings = certificate_of(one_class)["warnings"]
    for words in (
        "sex: the published value is * in all rows",
        "place: all rows have one value",
        "gone: missing in all rows",
        "disease: 2 of 3 values differ from another by case, blanks",
        "grade: 2 of the 5 values of its order are in no row",
        "all rows are in one class: .* the table is nearly useless",
    ):
        assert any(
            re.match(words.replace("*", r"\*").replace(r".\*", ".*"), line) for line in warnings
        ), words
    assert len(warnings) == 6
    assert certificate["warnings"] == []
