"""What a class publishes for a quasi-identifier: the value, or a label that covers all its
values.
"""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import CITIES, drawn, trees

from tclose_spark.checks.labels.coverage import Coverage
from tclose_spark.measures.loss.information_loss import interval_ends, set_members
from tclose_spark.table.domains import QuasiDomain
from tclose_spark.table.labels import (
    MISSING,
    HierarchyLabels,
    NumericLabels,
    SetLabels,
    SuppressLabels,
    decode_numbers,
    encode_numbers,
    quote_member,
    range_losses,
    range_shares,
    ranges,
    write_number,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False)
NASTY = st.text(alphabet="ab,{}\"' \n\r\t;*[]\\é", max_size=5)


def labels_of(labeller, classes: list[list[int]]) -> list[str | None]:
    """The label of each class of codes."""
    starts = np.cumsum([0] + [len(codes) for codes in classes[:-1]])
    index, texts = labeller.label(
        np.array([code for codes in classes for code in codes], dtype=np.int64),
        starts,
    )
    return [texts[i] for i in index]


def codes_of(*numbers: float) -> list[int]:
    return encode_numbers(np.array(numbers, dtype=np.float64)).tolist()


@drawn(200)
@given(st.lists(st.floats(allow_nan=False), min_size=2))
def test_codes_of_numbers_keep_their_order(numbers):
    codes = encode_numbers(np.array(numbers))
    for x, y, a, b in zip(numbers, numbers[1:], codes, codes[1:], strict=False):
        assert (x < y, x == y) == (a < b, a == b)
    assert min(codes) > MISSING


@drawn(200)
@given(st.lists(st.floats()))
def test_codes_give_the_numbers_back(numbers):
    numbers = np.array(numbers, dtype=np.float64)
    np.testing.assert_array_equal(decode_numbers(encode_numbers(numbers)), numbers)


def test_minus_zero_is_zero_and_nan_is_missing():
    assert codes_of(-0.0, 0.0, math.nan, -math.nan) == [0, 0, MISSING, MISSING]
    assert math.copysign(1, decode_numbers(np.array(codes_of(-0.0)))[0]) == 1
    assert math.isnan(decode_numbers(np.array([MISSING]))[0])


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (39, "39"),
        (39.0, "39"),
        (0.1, "0.1"),
        (-2.5, "-2.5"),
        (0.0, "0"),
        (1e-5, "0.00001"),
        (1e-7, "1e-07"),
        (123456789.125, "123456789.125"),
        (1e15, "1000000000000000"),
        (1e300, "1e+300"),
        (2**63 - 1, "9223372036854775807"),
    ],
)
def test_writes_a_number_as_people_do(number, text):
    assert write_number(number) == text


@drawn(300)
@given(FINITE | st.integers(-(2**63), 2**63 - 1))
def test_a_written_number_reads_as_the_same(number):
    assert type(number)(write_number(number)) == number
    assert interval_ends(write_number(number))[0] == Fraction(write_number(number))


def test_ranges_are_the_least_and_greatest_code_of_each_class():
    low, high = ranges(np.array([3, 1, 2, 9, 7]), np.array([0, 3, 4]))
    assert (low.tolist(), high.tolist()) == ([1, 9, 7], [3, 9, 7])


M = int(MISSING)
CLASSES = [[2, 2], [0, 2, 1], [M, M], [M, 1], [0, 1]]


@pytest.mark.parametrize(
    ("labeller", "labels"),
    [
        (NumericLabels(integral=True), ["2", "[0, 2]", None, "*", "[0, 1]"]),
        (SuppressLabels(("a", "b", "c")), ["c", "*", None, "*", "*"]),
        (SetLabels(("a", "b", "c")), ["c", "*", None, "*", "{a, b}"]),
        (HierarchyLabels(CITIES), ["Bari", "Italy", None, "*", "Tuscany"]),
    ],
    ids=["numeric", "suppress", "set", "hierarchy"],
)
def test_labels_single_mixed_and_missing_values(labeller, labels):
    assert labels_of(labeller, CLASSES) == labels


def test_labels_doubles():
    classes = [
        codes_of(39, 39),
        codes_of(1.5, -2, 0.25),
        codes_of(-0.0, 0),
        codes_of(math.nan, 1),
        codes_of(math.nan),
    ]
    assert labels_of(NumericLabels(integral=False), classes) == ["39", "[-2, 1.5]", "0", "*", None]


@pytest.mark.parametrize(
    ("low", "high", "step", "label"),
    [
        (41, 44, 5, "[40, 45]"),
        (40, 45, 5, "[40, 45]"),
        (40, 40, 5, "40"),
        (41, 41, 5, "[40, 45]"),
        (-7, -1, 5, "[-10, 0]"),
        (-3, 3, 10, "[-10, 10]"),
        (1, 3, Fraction(5, 2), "[0, 5]"),
        (3, 4, Fraction(5, 2), "[2.5, 5]"),
        (2**53 + 1, 2**53 + 1, 1, "9007199254740993"),
        (2**53 + 1, 2**53 + 1, Fraction(1, 2), "9007199254740993"),
        (2**53 + 1, 2**53 + 3, Fraction(5, 2), "[9007199254740992.5, 9007199254740995]"),
        (2**63 - 4, 2**63 - 1, 5, "[9223372036854775800, 9223372036854775810]"),
    ],
)
def test_rounds_the_ends_of_integers_outward(low, high, step, label):
    assert labels_of(NumericLabels(integral=True, round_to=Fraction(step)), [[low, high]]) == [
        label,
    ]


@pytest.mark.parametrize(
    ("low", "high", "step", "label"),
    [
        (0.3, 0.3, "0.1", "0.3"),
        (0.31, 0.79, "0.1", "[0.3, 0.8]"),
        (-0.31, -0.01, "0.1", "[-0.4, 0]"),
        (1.5, 12, "5", "[0, 15]"),
        (0.05, 0.15, "0.25", "[0, 0.25]"),
        (99.99, 100.01, "0.5", "[99.5, 100.5]"),
    ],
)
def test_rounds_the_ends_of_doubles_outward(low, high, step, label):
    assert labels_of(
        NumericLabels(integral=False, round_to=Fraction(step)),
        [codes_of(low, high)],
    ) == [label]


def test_ends_are_what_bounds_publish():
    assert NumericLabels(integral=True, round_to=Fraction(5)).ends(
        np.array([41]),
        np.array([44]),
    ) == ([40], [45])
    assert NumericLabels(integral=False).ends(np.array(codes_of(1.5)), np.array(codes_of(2))) == (
        [1.5],
        [2.0],
    )


@pytest.mark.parametrize("step", [None, "1", "5", "1/2", "0.1", "5/2", "0.3", "2/3"])
def test_bounds_cover_integers_of_any_size(step):
    edges = [
        -(2**63) + 1,
        -(2**53) - 1,
        -7,
        0,
        3,
        2**53 - 1,
        2**53 + 1,
        2**60 + 1,
        2**63 - 513,
        2**63 - 1,
    ]
    low, high = (
        np.array(codes, dtype=np.int64)
        for codes in zip(*[(x, y) for x in edges for y in edges if x <= y], strict=True)
    )
    labels = NumericLabels(integral=True, round_to=None if step is None else Fraction(step))
    least, most = labels.bounds(low, high)
    assert least.dtype == most.dtype == (np.int64 if labels.whole else np.float64)
    assert all(
        a <= x and y <= b
        for a, x, y, b in zip(
            least.tolist(),
            low.tolist(),
            high.tolist(),
            most.tolist(),
            strict=True,
        )
    )
    for codes in (low, high):
        assert Coverage.between(pa.array(codes), pa.array(least), pa.array(most)).all()


def test_every_integer_is_a_multiple_of_one_half():
    assert NumericLabels(integral=True, round_to=Fraction(1, 2)).whole
    assert not NumericLabels(integral=False, round_to=Fraction(1, 2)).whole


def test_range_shares_of_the_widest_ranges_there_are():
    codes = np.array([-(2**63) + 1, -1, 0, 2**63 - 1])
    whole = QuasiDomain(name="x", kind="integer", missing=0, low=-(2**63) + 1, high=2**63 - 1)
    assert range_shares(np.full(4, codes[0]), codes, whole).tolist() == pytest.approx(
        [0, 0.5, 0.5, 1],
    )
    largest = 1.7e308
    doubles = QuasiDomain(name="x", kind="double", missing=0, low=-largest, high=largest)
    assert range_shares(
        np.array(codes_of(*[-largest] * 2)),
        np.array(codes_of(0, largest)),
        doubles,
    ).tolist() == [
        0.5,
        1,
    ]
    losses = range_losses(
        np.array([MISSING, codes[0]]),
        np.array([5, codes[3]]),
        whole,
        False,
        None,
    )
    assert losses.tolist() == [1, 1]


def test_a_set_names_its_members_once_in_the_order_of_the_domain():
    assert labels_of(SetLabels(("low", "mid", "high", "top")), [[2, 0, 2, 0]]) == ["{low, high}"]


def test_the_whole_domain_is_a_star():
    assert labels_of(SetLabels(("a", "b")), [[0, 1]]) == ["*"]
    assert labels_of(SetLabels(("a",)), [[0]]) == ["a"]


@pytest.mark.parametrize(
    ("value", "member"),
    [
        ("plain", "plain"),
        ("two words", "two words"),
        ("a, b", '"a, b"'),
        ("{a}", '"{a}"'),
        ('say "a"', '"say ""a"""'),
        (" a", '" a"'),
        ("a ", '"a "'),
        ("", '""'),
        ("a\nb", '"a\nb"'),
    ],
)
def test_quotes_a_member_where_it_must(value, member):
    assert quote_member(value) == member


@drawn(300)
@given(st.lists(NASTY, min_size=3, max_size=6, unique=True))
def test_the_members_of_a_set_label_are_read_back(values):
    assert set_members(labels_of(SetLabels(tuple(values)), [[0, 1]])[0]) == values[:2]


@pytest.mark.parametrize("value", ["{", "{a", '{"a', "a, b", "[1, 2]", "NULL", ""])
def test_a_value_that_looks_like_a_label_differs_from_it(value):
    labeller = SetLabels(("a", "b", "c", value))
    assert len(set(labels_of(labeller, [[3], [0, 1], [0, 2]]))) == 3


def assert_covered(
    coverage: Coverage,
    labeller,
    classes: list[list[int]],
    values,
    kind: pa.DataType,
) -> None:
    """Every class's label covers every value of the class, as judged from the texts alone."""
    labels = labels_of(labeller, classes)
    raw = [None if code == M else values(code) for codes in classes for code in codes]
    published = [label for label, codes in zip(labels, classes, strict=True) for _ in codes]
    assert coverage.covered(pa.array(raw, kind), pa.array(published, pa.string())).all()


def drawn_classes(codes: st.SearchStrategy[int]) -> st.SearchStrategy[list[list[int]]]:
    return st.lists(st.lists(st.just(M) | codes, min_size=1, max_size=4), min_size=1, max_size=4)


STEPS = st.none() | st.sampled_from(["1", "5", "10", "0.5", "0.1", "0.01", "2.5", "1/3", "7"]).map(
    Fraction,
)


@drawn(150)
@given(drawn_classes(st.integers(-(2**53), 2**53)), STEPS)
def test_labels_cover_the_integers_of_a_class(classes, step):
    assert_covered(Coverage(numeric=True), NumericLabels(True, step), classes, int, pa.int64())


@drawn(150)
@given(
    st.lists(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=4), min_size=1, max_size=4),
    STEPS,
)
def test_labels_cover_the_doubles_of_a_class(classes, step):
    codes = [codes_of(*numbers) for numbers in classes]
    assert_covered(
        Coverage(numeric=True),
        NumericLabels(False, step),
        codes,
        lambda c: float(decode_numbers(np.array([c]))[0]),
        pa.float64(),
    )


@drawn(100)
@given(drawn_classes(FINITE.map(lambda x: codes_of(x)[0])))
def test_labels_cover_any_finite_double(classes):
    assert_covered(
        Coverage(numeric=True),
        NumericLabels(False),
        classes,
        lambda c: float(decode_numbers(np.array([c]))[0]),
        pa.float64(),
    )


@drawn(100)
@given(trees(), st.data())
def test_labels_of_a_hierarchy_cover_the_values_of_a_class(tree, data):
    classes = data.draw(drawn_classes(st.integers(0, len(tree.leaves) - 1)))
    paths = {path[0]: path for path in tree.paths}
    assert_covered(
        Coverage(False, paths),
        HierarchyLabels(tree),
        classes,
        lambda code: tree.leaves[code],
        pa.string(),
    )


@drawn(100)
@given(st.lists(NASTY, min_size=1, max_size=6, unique=True), st.data())
@pytest.mark.parametrize("kind", [SetLabels, SuppressLabels])
def test_labels_without_hierarchy_cover_the_values_of_a_class(kind, values, data):
    assume("*" not in values)
    classes = data.draw(drawn_classes(st.integers(0, len(values) - 1)))
    assert_covered(
        Coverage(False, sets=kind is SetLabels),
        kind(tuple(values)),
        classes,
        lambda code: values[code],
        pa.string(),
    )
