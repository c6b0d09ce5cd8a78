"""Rows of a release on a terminal: 80 characters, and how precise the labels are."""

from hypothesis import given
from hypothesis import strategies as st

from tclose_spark.report.preview import MOST_BLOCKS, preview_lines

NAMES = ["age", "zip_min", "zip_max", "disease"]
ROWS = [["[20, 29]", 100, 199, "flu"], ["*", None, None, "gout\x1b[31m"]]


def test_quasi_identifiers_have_a_precision_and_other_columns_are_as_they_are():
    lines = list(preview_lines(NAMES, ROWS, {"age": 0.25, "zip": 0.5}))
    assert [line.split() for line in lines[1:3]] == [NAMES, ["75%", "50%", "50%", "unchanged"]]
    assert lines[3].split() == ["[20,", "29]", "100", "199", "flu"]
    assert "\x1b" not in "".join(lines)


@given(
    rows=st.lists(st.lists(st.text(max_size=120), min_size=3, max_size=3), max_size=10),
    names=st.lists(st.text(min_size=1, max_size=40), min_size=3, max_size=3),
)
def test_no_line_is_longer_than_a_terminal(rows, names):
    lines = list(preview_lines(names, rows, {}))
    assert all(len(line) <= 80 for line in lines)
    assert len(lines) == 3 + len(rows)


def test_columns_that_do_not_fit_follow_below():
    names, wide = [f"column{i}" for i in range(20)], "x" * 30
    lines = list(preview_lines(names, [[wide] * 20] * 2, {}))
    assert [line.split() for line in lines if "column" in line] == [
        *(names[i : i + 3] for i in range(0, 3 * MOST_BLOCKS, 3)),
        ["and", "11", "more", "columns"],
    ]
    assert all(f"{'x' * 22}.." in line for line in lines[3:5])
