"""Hierarchies that a run file describes: labels of each form, what the values must be, and the file
that is kept.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.auditing.hierarchy import Outline
from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.table.hierarchies.building import build_hierarchy, hierarchy_csv
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.ranges import read_interval


def build(values, numeric=False, **form):
    counts = values if isinstance(values, dict) else dict.fromkeys(values, 1)
    return build_hierarchy(HierarchyBuilder(**form), counts, "column", "key", numeric)


def paths(values, numeric=False, **form):
    return ["/".join(path) for path in build(values, numeric, **form).paths]


FORMS = {
    "intervals of integers are closed": (
        {"values": ["20", "-3", "7"], "intervals": [5, 10]},
        ["-3/[-5, -1]/[-10, -1]/*", "7/[5, 9]/[0, 9]/*", "20/[20, 24]/[20, 29]/*"],
    ),
    "intervals of decimals are half-open": (
        {"values": ["7.5", "10", "-0.1"], "intervals": ["2.5", 5]},
        ["-0.1/[-2.5, 0)/[-5, 0)/*", "7.5/[7.5, 10)/[5, 10)/*", "10/[10, 12.5)/[10, 15)/*"],
    ),
    "an interval of one integer is the integer": (
        {"values": ["3", "4"], "intervals": [1, 2]},
        ["3/3/[2, 3]/*", "4/4/[4, 5]/*"],
    ),
    "one width needs no list": ({"values": ["3"], "intervals": 10}, ["3/[0, 9]/*"]),
    "prefixes of codes of one length": (
        {"values": ["81667", "81671"], "prefix": 2},
        ["81667/816**/8****/*", "81671/816**/8****/*"],
    ),
    "prefixes of codes that others begin with": (
        {"values": ["A00.1", "A00", "B1"], "prefix": [3, 1]},
        ["A00/A00**/A****/*", "A00.1/A00**/A****/*", "B1/B1/B****/*"],
    ),
    "a list that keeps all leaves that level out": (
        {"values": ["ab"], "prefix": [9, 2, 1]},
        ["ab/a*/*"],
    ),
    "dates": (
        {
            "values": ["2024-02-29", "2023-07-01"],
            "dates": ["month", "quarter", "half", "year", "decade"],
        },
        [
            "2023-07-01/2023-07/2023-Q3/2023-H2/2023/2020s/*",
            "2024-02-29/2024-02/2024-Q1/2024-H1/2024/2020s/*",
        ],
    ),
    "times": (
        {
            "values": ["2024-02-29T23:10:00", "2024-02-29 07:00:00.5"],
            "dates": ["hour", "day", "month"],
        },
        [
            "2024-02-29 07:00:00.5/2024-02-29T07/2024-02-29/2024-02/*",
            "2024-02-29T23:10:00/2024-02-29T23/2024-02-29/2024-02/*",
        ],
    ),
    "years of all lengths": (
        {"values": ["-0044-03-15", "+10000-01-01"], "dates": ["year", "decade"]},
        ["-0044-03-15/-0044/-0050s/*", "+10000-01-01/+10000/10000s/*"],
    ),
    "neighbours of numbers": (
        {"values": ["10", "9", "1", "2", "3"], "order": 2},
        [
            "1/[1, 2]/[1, 9]/*",
            "2/[1, 2]/[1, 9]/*",
            "3/[3, 9]/[1, 9]/*",
            "9/[3, 9]/[1, 9]/*",
            "10/10/10/*",
        ],
    ),
    "neighbours of texts": (
        {"values": ["c", "a", "b", "d"], "order": 3},
        ["a/a..c/*", "b/a..c/*", "c/a..c/*", "d/d/*"],
    ),
    "a group for all is the root": ({"values": ["a", "b"], "order": 2}, ["a/*", "b/*"]),
    "groups keep what no row has": (
        {"values": ["75", "59"], "groups": {"North": ["62", "59"], "Paris": ["75"]}},
        ["62/North/*", "59/North/*", "75/Paris/*"],
    ),
    "groups with a label for the rest": (
        {"values": ["75", "59", "1"], "groups": {"Paris": ["75"]}, "other": "elsewhere"},
        ["75/Paris/*", "1/elsewhere/*", "59/elsewhere/*"],
    ),
    "levels": (
        {
            "values": ["a", "z"],
            "levels": [{"x": ["a"], "y": ["b"]}, {"X": ["x", "y"]}],
            "other": "rest",
        },
        ["a/x/X/*", "b/y/X/*", "z/rest/rest/*"],
    ),
    "groups of numbers take equal ones for one": (
        {
            "values": ["39", "40"],
            "numeric": True,
            "groups": {"low": ["39.0", "7"], "high": ["4e1"]},
        },
        ["39/low/*", "7/low/*", "40/high/*"],
    ),
    "a value may be the label of itself alone": (
        {"values": ["Bonn", "Pisa"], "groups": {"Bonn": ["Bonn"], "Italy": ["Pisa"]}},
        ["Bonn/Bonn/*", "Pisa/Italy/*"],
    ),
    "ranges of numbers": (
        {"values": ["0112", "250.7"], "ranges": {"crops": ["100-199", 7], "mining": "200-299"}},
        ["0112/crops/*", "250.7/mining/*"],
    ),
    "ranges of codes with letters": (
        {
            "values": ["D10", "A99", "B01", "C5"],
            "ranges": {"infections": "A00-B99", "tumours": ["C00-D48"]},
        },
        ["A99/infections/*", "B01/infections/*", "C5/tumours/*", "D10/tumours/*"],
    ),
    "ranges of ranges, and a code in a wide one only": (
        {"values": ["1", "7", "9", "?"], "ranges": [{"a": "1-5"}, {"b": "1-8"}], "other": "rest"},
        ["1/a/b/*", "7/b/b/*", "9/rest/rest/*", "?/rest/rest/*"],
    ),
    "ICD-9 with and without zeros, dots and letters": (
        {"values": ["8", "008.6", "042", "0421", "V57", "E9090", "250.83", "19"], "ranges": "icd9"},
        [
            "8/8.*/001-009/001-139/*",
            "008.6/008.*/001-009/001-139/*",
            "042/042.*/042-042/001-139/*",
            "0421/042.*/042-042/001-139/*",
            "19/19.*/001-139/001-139/*",
            "250.83/250.*/249-259/240-279/*",
            "V57/V57.*/V50-V59/V01-V91/*",
            "E9090/E909.*/E900-E909/E000-E999/*",
        ],
    ),
    "missing values are no leaf": ({"values": {"12": 1, None: 4}, "prefix": 1}, ["12/1*/*"]),
}


@pytest.mark.parametrize(("asked", "expected"), FORMS.values(), ids=FORMS)
def test_each_form_makes_its_labels(asked, expected):
    assert paths(**asked) == expected


REFUSED = {
    "no number": (
        {"values": {"7": 1, "Zebulon": 3, "Zoe": 2}, "intervals": [5]},
        r"key\.intervals: 2 values in 5 rows are not numeric",
    ),
    "no date": (
        {"values": {"2024-02-30": 3}, "dates": ["year"]},
        r"key\.dates: 1 value in 3 rows is neither a date",
    ),
    "no group": (
        {"values": {"a": 1, "Zebulon": 3}, "groups": {"x": ["a"]}},
        r"key\.groups: 1 value in 3 rows is in no group; name them, or give other",
    ),
    "no range": (
        {"values": {"12": 1, "Zebulon": 3, "V12": 1}, "ranges": {"x": "1-99"}},
        r"key\.ranges: 2 values in 4 rows are in no range; add theirs, or give other",
    ),
    "like a label": (
        {"values": {"Z***": 2, "Zebu": 1}, "prefix": 1},
        r"key: 1 value in 2 rows is written like a label",
    ),
    "like the root": (
        {"values": {"*": 2, "Zebu": 1}, "prefix": 1},
        r"key: 1 value in 2 rows is written like a label",
    ),
    "no value": (
        {"values": {None: 3}, "prefix": 1},
        r"key: column '.*' has no value to build a hierarchy of",
    ),
    "blanks": ({"values": {" Zebulon": 2}, "prefix": 1}, r"key: values with blanks at their ends"),
    "line breaks": (
        {"values": {"Zebu\nlon": 2}, "order": 2},
        r"key: values with blanks at their ends, line breaks",
    ),
}


@pytest.mark.parametrize(("asked", "message"), REFUSED.values(), ids=REFUSED)
def test_values_without_a_place_are_counted_and_not_shown(asked, message):
    with pytest.raises(InputError, match=message) as refused:
        build(**asked)
    assert "Zeb" not in str(refused.value)


@pytest.mark.parametrize(
    "groups",
    [{"a": ["1.0"], "b": ["1"]}, {"a": ["1.0", "1"]}],
    ids=["of two", "of one"],
)
def test_one_number_stands_in_one_group_once(groups):
    with pytest.raises(
        ConfigurationError,
        match="key: 1 numbers are in several groups, or twice in one",
    ):
        build(["1"], numeric=True, groups=groups)


@pytest.mark.parametrize("text", ["2024-01-02 10:99:99", "\uff12024-01-01", "2024-01-02T24:00"])
def test_what_is_nearly_a_date_is_none(text):
    with pytest.raises(InputError, match="is neither a date"):
        build([text], dates=["year"])


def test_values_without_a_place_are_kept_for_who_mends_them():
    with pytest.raises(InputError) as refused:
        build({"7": 1, "Zoe": 2}, intervals=[5])
    assert refused.value.values.rows == {"Zoe": 2}


@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=30, unique=True),
    st.integers(0, 3),
    st.lists(st.integers(2, 5), min_size=1, max_size=3),
)
@drawn(60)
def test_intervals_hold_their_values_and_nest(numbers, places, factors):
    values = [str(Fraction(x)) if places == 0 else f"{x / 10**places:.{places}f}" for x in numbers]
    widths = [Fraction(factors[0], 4 if places else 1)]
    for factor in factors[1:]:
        widths.append(widths[-1] * factor)
    for path in build(values, numeric=True, intervals=[str(width) for width in widths]).paths:
        below = read_interval(path[0])
        for label, width in zip(path[1:-1], widths, strict=True):
            interval = read_interval(label)
            whole = not interval.open_high
            assert interval.low <= below.low
            assert below.high < interval.high or (
                below.high == interval.high and whole >= (not below.open_high)
            )
            assert interval.high - interval.low + whole == width
            assert interval.low % width == 0
            below = interval


@given(
    st.lists(
        st.text(min_size=1, max_size=4, alphabet="ab;,\"'0."),
        min_size=1,
        max_size=12,
        unique=True,
    ),
    st.integers(2, 4),
)
@drawn(80)
def test_the_file_that_is_kept_says_the_same_tree(values, size):
    try:
        tree = build(values, order=size)
    except InputError:  # a value that reads like a label, or that no CSV holds
        assume(False)
    assert Hierarchy.parse(hierarchy_csv(tree, "key"), "key") == tree
    assert set(tree.leaves) == set(values)
    assert build(values[::-1], order=size) == tree


def test_the_loss_of_a_node_counts_its_leaves():
    tree = build({"75": 1, "59": 2, "1": 1}, groups={"North": ["59", "62", "80"]}, other="rest")
    loss = LabelLoss(numeric=False, hierarchy=tree)
    assert [loss.of(label) for label in ("59", "North", "rest", "*")] == [
        0,
        Fraction(3, 5),
        Fraction(2, 5),
        1,
    ]


def test_an_outline_counts_rows_leaves_and_what_has_none():
    tree = build(["a", "b", "c"], groups={"x": ["a", "b", "q"], "c": ["c"]})
    outline = Outline(tree, {"a": 2, "c": 3, "z": 4, "y": 5, None: 6})
    assert (outline.rows, outline.lost, outline.unused, outline.labels) == (
        14,
        {"y": 5, "z": 4},
        2,
        (4, 2, 1),
    )
    assert [
        (node.label, node.leaves, node.rows, len(node.children))
        for node in (outline.root, *outline.root.children)
    ] == [
        ("*", 4, 5, 2),
        ("x", 3, 2, 3),
        ("c", 1, 3, 0),
    ]
    assert np.prod(outline.labels) == 8


def test_every_category_of_icd9_has_a_chapter_and_sections_are_inside_chapters():
    codes = (
        [f"{n:03d}" for n in range(1, 1000)]
        + [f"V{n:02d}" for n in range(1, 92)]
        + [f"E{n}" for n in range(1000)]
    )
    made = build(codes, ranges="icd9")
    assert {path[-2] for path in made.paths if path[0] in ("001", "139")} == {"001-139"}
    assert len({path[-2] for path in made.paths}) == 19
    for path in made.paths:
        for label in path[2:4]:
            first, last = label.split("-")
            assert first <= path[0] <= last or path[0][0] == "E"
