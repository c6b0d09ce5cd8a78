"""Which labels cover which raw values, judged from the texts alone."""

import math

import pyarrow as pa
import pytest
from strategies import CITIES

from tclose_spark.checks.labels.coverage import Coverage

NUMERIC, PLAIN, SETS = (
    Coverage(numeric=True),
    Coverage(numeric=False),
    Coverage(numeric=False, sets=True),
)
TREE = Coverage(numeric=False, paths={path[0]: path for path in CITIES.paths})


def covers(
    coverage: Coverage,
    label: str | None,
    value: object,
    kind: pa.DataType | None = None,
) -> bool:
    """Whether the label of a single row covers its value."""
    if kind is None:
        kind = (
            pa.string()
            if not coverage.numeric
            else pa.float64()
            if isinstance(value, float)
            else pa.int64()
        )
    return bool(coverage.covered(pa.array([value], kind), pa.array([label], pa.string()))[0])


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("[1, 5]", 1),
        ("[1, 5]", 5),
        ("[1, 5]", 3),
        ("3", 3),
        ("*", 3),
        ("[-5, -1]", -5),
        ("[0.5, 1.5]", 1),
        ("[1, 5]", 1.0),
        ("[1.25, 5.5]", 5.5),
        ("0.1", 0.1),
        ("[1e-07, 1e+300]", 1e-7),
        ("9223372036854775807", 2**63 - 1),
        ("0", -0.0),
    ],
)
def test_a_label_covers_a_number_inside_and_at_its_ends(label, value):
    assert covers(NUMERIC, label, value)


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("[1, 5]", 0),
        ("[1, 5]", 6),
        ("3", 4),
        ("[5, 1]", 3),
        ("[1.25, 1.75]", 1),
        ("[1.25, 1.75]", 2),
        ("[1, 5]", 5.000000000000001),
        ("[1, 5]", 0.9999999999999999),
        ("0.1", 0.10000000000000002),
        ("9007199254740992", 2**53 + 1),
        ("[1e30, 1e31]", 2**63 - 1),
        ("[1e308, 1e309]", 1.0),
    ],
)
def test_a_label_does_not_cover_a_number_outside(label, value):
    assert not covers(NUMERIC, label, value)


NONSENSE = [
    "",
    " ",
    "abc",
    "nan",
    "inf",
    "[1, 5",
    "1, 5]",
    "[1 5]",
    "[1,5]",
    "(1, 5)",
    "[1, x]",
    "[, 5]",
    "[1, 5, 9]",
    "{1, 5}",
    "**",
    "[*, *]",
    "1/0",
]


@pytest.mark.parametrize("label", [*NONSENSE, "[-inf, inf]", "[nan, nan]"])
@pytest.mark.parametrize("value", [3, 3.0])
def test_nonsense_never_covers_a_number(label, value):
    assert not covers(NUMERIC, label, value)


@pytest.mark.parametrize("value", [3, 3.0])
def test_an_end_that_no_number_of_the_column_reaches_is_judged_too(value):
    assert not covers(NUMERIC, "[4, 1e999]", value)
    assert covers(NUMERIC, "[-1e999, 1e999]", value)


@pytest.mark.parametrize("coverage", [NUMERIC, TREE, PLAIN], ids=["numeric", "hierarchy", "plain"])
def test_a_missing_value_is_covered_by_null_or_a_star_only(coverage):
    assert covers(coverage, None, None)
    assert covers(coverage, "*", None)
    for label in ("3", "[1, 5]", "Pisa", "Italy", "{Pisa, Bari}", ""):
        assert not covers(coverage, label, None)


@pytest.mark.parametrize(
    ("coverage", "value"),
    [(NUMERIC, 3), (NUMERIC, 3.5), (NUMERIC, 0), (TREE, "Pisa"), (PLAIN, "Pisa"), (PLAIN, "")],
)
def test_null_covers_no_value(coverage, value):
    assert not covers(coverage, None, value)


def test_a_node_covers_the_leaves_below_it():
    for label in ("Pisa", "Tuscany", "Italy", "*"):
        assert covers(TREE, label, "Pisa")
    for label in ("Siena", "Apulia", "France", "Riviera", "Tusc", "tuscany", "", "{Pisa, Siena}"):
        assert not covers(TREE, label, "Pisa")


def test_a_value_outside_the_hierarchy_is_covered_by_itself_and_a_star_only():
    assert covers(TREE, "Oslo", "Oslo")
    assert covers(TREE, "*", "Oslo")
    assert not covers(TREE, "Italy", "Oslo")


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("{a, b}", "a"),
        ("{a, b}", "b"),
        ('{"a, b", c}', "a, b"),
        ('{"say ""a""", c}', 'say "a"'),
        ('{" a", c}', " a"),
        ('{"", c}', ""),
        ("a", "a"),
        ("*", "a"),
        ("{", "{"),
    ],
)
def test_a_set_covers_its_members(label, value):
    assert covers(SETS, label, value)


def test_a_value_in_braces_covers_itself_only_where_labels_are_no_sets():
    assert covers(PLAIN, "{a, b}", "{a, b}")
    assert not covers(PLAIN, "{a, b}", "a")


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("{a, b}", "c"),
        ('{"a, b", c}', "a"),
        ("{ab, c}", "a"),
        ("b", "a"),
        ("", "a"),
        ("{}", "a"),
        ("a, b", "a"),
        ("{a, b", "a"),
        ("A", "a"),
    ],
)
def test_a_set_does_not_cover_others(label, value):
    assert not covers(SETS, label, value)


def test_judges_each_row_by_its_own_label():
    labels = ["[1, 2]", "[1, 2]", None, "*", "[3, 4]", None]
    assert NUMERIC.covered(pa.array([1, 3, None, 9, 3, 0]), pa.array(labels)).tolist() == [
        True,
        False,
        True,
        True,
        True,
        False,
    ]
    cities = ["Pisa", "Bari", None, "Lyon", "Pisa", "Pisa"]
    labels = ["Tuscany", "Tuscany", None, "*", "Pisa", None]
    assert TREE.covered(pa.array(cities), pa.array(labels)).tolist() == [
        True,
        False,
        True,
        True,
        True,
        False,
    ]


def test_judges_a_part_of_an_array():
    raw, labels = pa.array([9, 9, 1, None]).slice(2), pa.array(["1", "1", "1", None]).slice(2)
    assert NUMERIC.covered(raw, labels).tolist() == [True, True]


@pytest.mark.parametrize(
    ("coverage", "kind"),
    [(NUMERIC, pa.int64()), (NUMERIC, pa.float64()), (PLAIN, pa.string())],
)
def test_no_rows_are_covered(coverage, kind):
    assert coverage.covered(pa.array([], kind), pa.array([], pa.string())).tolist() == []


@pytest.mark.parametrize(
    ("low", "value", "high", "covered"),
    [
        (1, 1, 5, True),
        (1, 5, 5, True),
        (1, 0, 5, False),
        (1, 6, 5, False),
        (None, None, None, True),
        (1, None, 5, False),
        (None, 3, None, False),
        (None, 3, 5, False),
        (1, 3, None, False),
        (None, None, 5, False),
        (1, None, None, False),
    ],
)
@pytest.mark.parametrize("kind", [pa.int64(), pa.float64()])
def test_bounds_cover_a_number_between_them(low, value, high, covered, kind):
    assert Coverage.between(
        pa.array([value], kind),
        pa.array([low], kind),
        pa.array([high], kind),
    ).tolist() == [covered]


def test_bounds_that_are_no_number_cover_nothing():
    assert Coverage.between(pa.array([1.0]), pa.array([math.nan]), pa.array([5.0])).tolist() == [
        False,
    ]


@pytest.mark.parametrize(
    ("value", "low", "high", "covered"),
    [
        (2**53 + 1, 2.0**53, 2.0**53 + 2, True),
        (2**53 + 1, 2.0**53 + 2, 2.0**53 + 4, False),
        (2**53 + 1, 2.0**53 - 2, 2.0**53, False),
        (2**63 - 1, 2.0**62, 2.0**63, True),
        (2**63 - 1, 2.0**63, 2.0**63, False),
        (-(2**63) + 1, -(2.0**63), 0.0, True),
        (3, math.nan, 5.0, False),
        (None, None, None, True),
        (None, 1.0, 2.0, False),
        (3, None, None, False),
    ],
)
def test_bounds_that_are_doubles_are_compared_with_integers_exactly(value, low, high, covered):
    low, high = (pa.array([bound], pa.float64()) for bound in (low, high))
    assert Coverage.between(pa.array([value], pa.int64()), low, high).tolist() == [covered]
