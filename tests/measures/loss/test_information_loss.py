"""Information loss of published labels, read from the labels themselves."""

from fractions import Fraction

import pytest
from strategies import CITIES

from tclose_spark.measures.loss.information_loss import LabelLoss, interval_ends, set_members

AGE = LabelLoss(numeric=True, span=Fraction(40))
CITY = LabelLoss(numeric=False, distinct=4, hierarchy=CITIES)
COLOUR = LabelLoss(numeric=False, distinct=4, sets=True)


@pytest.mark.parametrize(
    ("loss", "label", "expected"),
    [
        (AGE, "30", Fraction(0)),
        (AGE, "[30, 40]", Fraction(1, 4)),
        (AGE, "[-2.5, 2.5]", Fraction(1, 8)),
        (AGE, "[20, 60]", Fraction(1)),
        (AGE, "[0, 100]", Fraction(1)),
        (AGE, "*", Fraction(1)),
        (AGE, None, Fraction(0)),
        (CITY, "Pisa", Fraction(0)),
        (CITY, "Tuscany", Fraction(2, 5)),
        (CITY, "Italy", Fraction(3, 5)),
        (CITY, "Apulia", Fraction(1, 5)),
        (CITY, "*", Fraction(1)),
        (CITY, None, Fraction(0)),
        (COLOUR, "red", Fraction(0)),
        (COLOUR, "{blue, red}", Fraction(1, 2)),
        (COLOUR, '{blue, "dark, red", red}', Fraction(3, 4)),
        (COLOUR, "*", Fraction(1)),
        (COLOUR, None, Fraction(0)),
    ],
)
def test_loss_of_a_label(loss, label, expected):
    assert loss.of(label) == expected


@pytest.mark.parametrize("value", ["{a\nb}", "{a\r, b}", '{"', "{}"])
def test_a_value_in_braces_is_read_whatever_is_between(value):
    assert 0 <= COLOUR.of(value) <= 1


def test_a_value_in_braces_loses_nothing_where_labels_are_no_sets():
    assert LabelLoss(numeric=False, distinct=4).of("{a, b}") == 0


def test_a_number_without_range_loses_nothing():
    assert LabelLoss(numeric=True).of("[7, 7]") == 0


@pytest.mark.parametrize(
    ("loss", "label"),
    [
        (AGE, "old"),
        (AGE, "[30 40]"),
        (AGE, ""),
        (AGE, "[40, 30]"),
        (AGE, "1/0"),
        (CITY, "Spain"),
        (CITY, ""),
        (CITY, "{Pisa, Bari}"),
    ],
)
def test_what_is_no_label_is_refused(loss, label):
    with pytest.raises(ValueError):  # noqa: PT011 - any message
        loss.of(label)


@pytest.mark.parametrize(
    ("label", "ends"),
    [
        ("7", (7, 7)),
        ("[1, 2]", (1, 2)),
        ("[-1.5, 0.1]", (Fraction(-3, 2), Fraction(1, 10))),
        ("[1e-07, 1e+16]", (Fraction(1, 10**7), 10**16)),
    ],
)
def test_reads_the_ends_of_an_interval(label, ends):
    assert interval_ends(label) == ends


@pytest.mark.parametrize(
    ("label", "members"),
    [
        ("a", ["a"]),
        ("{a, b}", ["a", "b"]),
        ('{"a, b", c}', ["a, b", "c"]),
        ('{"say ""hi""", "{x}"}', ['say "hi"', "{x}"]),
        ('{"", " a"}', ["", " a"]),
        ("{a", ["{a"]),
        ("a}", ["a}"]),
    ],
)
def test_reads_the_members_of_a_set(label, members):
    assert set_members(label) == members
