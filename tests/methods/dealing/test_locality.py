"""Locality: keys depend on a row's content only, keep the order of values, and put like rows side
by side.
"""

from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn, make_problem, people

from tclose_spark.methods.attributes import ResolvedQuasi
from tclose_spark.methods.dealing.locality import (
    BINS,
    MOST_DIGITS,
    Digit,
    Locality,
    choose_locality,
    deal_sample,
    information_loss,
    make_digits,
)
from tclose_spark.methods.dealing.stacks import stack_by_frequency
from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.table.domains import QuasiDomain
from tclose_spark.table.labels import MISSING, encode_numbers, range_losses
from tclose_spark.table.rows import Rows

M = int(MISSING)


def simulate_loss(locality, rows, stack, size, widths):
    return information_loss(rows, deal_sample(locality, rows, rows.cell, stack, size), widths)


def rows_of(*columns: list[int], hashes: list[int] | None = None) -> Rows:
    """Rows of one cell with these codes."""
    n = len(columns[0])
    keyed = np.array([0] * n if hashes is None else hashes, dtype=np.uint64)
    return Rows(
        tuple(np.array(column, dtype=np.int64) for column in columns),
        np.zeros(n, dtype=np.int64),
        keyed,
    )


def test_a_missing_value_is_the_lowest_digit():
    assert Digit(3).of(np.array([M, 0, 1, 2])).tolist() == [0, 1, 2, 3]
    assert Digit(0, (10, 20)).of(np.array([M, -5, 9, 10, 19, 20, 99])).tolist() == [
        0,
        1,
        1,
        2,
        2,
        3,
        3,
    ]
    assert (Digit(3).size, Digit(0, (10, 20)).size) == (4, 4)


@drawn(100)
@given(st.integers(1, 3 * MOST_DIGITS), st.data())
def test_digits_of_a_category_keep_its_order_and_fit(categories, data):
    codes = np.array(sorted(data.draw(st.lists(st.integers(0, categories - 1), min_size=1))))
    digits = Digit(categories).of(codes)
    assert (np.diff(digits) >= 0).all()
    assert digits.min() >= 1
    assert digits.max() < Digit(categories).size <= MOST_DIGITS + 1
    if categories <= MOST_DIGITS:
        assert digits.tolist() == (codes + 1).tolist()


def quasi_of(domain: QuasiDomain) -> ResolvedQuasi:
    settings = QuasiIdentifier(type="categorical" if domain.kind == "category" else "numeric")
    return ResolvedQuasi.of(settings, domain, None)


@drawn(100)
@given(
    st.lists(st.none() | st.floats(-1e6, 1e6), min_size=1, max_size=50),
    st.lists(st.floats(-1e7, 1e7), min_size=1),
)
def test_bins_of_a_number_keep_its_order(sample, others):
    codes = encode_numbers(np.array([np.nan if x is None else x for x in sample]))
    (digit,) = make_digits(
        [quasi_of(QuasiDomain(name="x", kind="double", missing=0))],
        rows_of(codes.tolist()),
    )
    assert digit.bins == tuple(sorted(set(digit.bins)))
    digits = digit.of(encode_numbers(np.array(sorted(others))))
    assert (np.diff(digits) >= 0).all()
    assert digits.min() >= 1
    assert digits.max() < digit.size


def test_bins_hold_even_shares_of_the_sample():
    (digit,) = make_digits(
        [quasi_of(QuasiDomain(name="x", kind="integer", missing=0))],
        rows_of(list(range(10_000))),
    )
    shares = np.bincount(digit.of(np.arange(10_000)))
    assert shares.max() <= 10_000 / BINS + 2


def test_each_of_few_numbers_has_a_bin_of_its_own():
    (digit,) = make_digits(
        [quasi_of(QuasiDomain(name="x", kind="integer", missing=1))],
        rows_of([M, 30, 30, 20, 50]),
    )
    assert digit.of(np.array([20, 30, 50])).tolist() == [1, 2, 3]


def test_a_sample_without_numbers_has_one_bin():
    (digit,) = make_digits(
        [quasi_of(QuasiDomain(name="x", kind="integer", missing=1))],
        rows_of([M, M]),
    )
    assert digit.of(np.array([M, 7])).tolist() == [0, 1]


@drawn(50)
@given(people(), st.data())
def test_a_key_is_that_of_the_row_alone(records, data):
    problem, rows = make_problem(records, {"disease": {}})
    order = tuple(data.draw(st.permutations(range(3))))
    locality = Locality(make_digits(problem.attributes.quasi_identifiers, problem.sample), order)
    some = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1))), dtype=np.int64)
    assert locality.key(rows.take(some)).tolist() == locality.key(rows)[some].tolist()


def test_the_first_digit_leads():
    digits = (Digit(3), Digit(3))
    rows = rows_of([2, 0, 1, M], [0, 2, 1, 2])
    assert np.argsort(Locality(digits, (0, 1)).key(rows)).tolist() == [3, 1, 2, 0]
    assert Locality(digits, (1,)).key(rows)[[1, 3]].tolist() == [3 << 16] * 2


def test_without_an_order_the_hash_decides():
    rows = rows_of([2, 0, 1], hashes=[3 << 60, 1 << 60, 2 << 60])
    assert np.argsort(Locality((Digit(3),)).key(rows)).tolist() == [1, 2, 0]


def test_rows_with_equal_digits_follow_their_hashes():
    rows = rows_of([1, 1, 0, 1], hashes=[3 << 48, 1 << 48, 15 << 60, 2 << 48])
    assert np.argsort(Locality((Digit(3),), (0,)).key(rows)).tolist() == [2, 1, 3, 0]


@pytest.mark.parametrize(
    "sizes",
    [(2, 3), (3, 2), (2, 2, 2), (3, 3, 3), (3, 4, 2), (4, 3, 5), (2, 3, 2, 3)],
)
def test_neighbours_differ_by_one_in_one_digit(sizes):
    codes = list(product(*map(range, sizes)))
    locality = Locality(tuple(Digit(size) for size in sizes), tuple(range(len(sizes))))
    order = np.argsort(locality.key(rows_of(*map(list, zip(*codes, strict=True)))))
    for here, there in pairwise(order):
        assert sum(abs(x - y) for x, y in zip(codes[here], codes[there], strict=True)) == 1


def test_digits_that_do_not_fit_are_left_out():
    digits = tuple(Digit(MOST_DIGITS) for _ in range(6))
    rows = rows_of(*[[0, MOST_DIGITS - 1]] * 3, *[[5, 5]] * 2, [1, 2])
    long, short = (
        Locality(digits, (3, 4, 0, 1, 2, 5)).key(rows),
        Locality(digits, (3, 4, 0)).key(rows),
    )
    assert long.tolist() == short.tolist()
    assert long[0] != long[1]


@drawn(30)
@given(people(least=12), st.integers(2, 5))
def test_the_chosen_order_loses_no_more_than_the_first(records, size):
    problem, rows = make_problem(records, {"disease": {}})
    stack = stack_by_frequency(problem.profile.cell_table)
    start = Locality(make_digits(problem.attributes.quasi_identifiers, rows))
    first = Locality(start.digits, tuple(sorted(range(3), key=lambda a: (start.digits[a].size, a))))
    asked = problem.spec.attributes.quasi_identifiers
    widths = [
        partial(
            range_losses,
            domain=d,
            sets=asked[d.name].generalization == "set",
            hierarchy=problem.hierarchies.get(d.name),
        )
        for d in problem.profile.quasi
    ]
    chosen = choose_locality(start, rows, rows.cell, stack, size, widths)
    assert sorted(chosen.order) == [0, 1, 2]
    losses = [simulate_loss(locality, rows, stack, size, widths) for locality in (chosen, first)]
    assert 0 <= losses[0] <= losses[1] <= 1


def test_the_digit_that_classes_should_share_leads():
    # Three sexes and sixty ages, independent: whichever of them a class's loss depends on should
    # lead.
    rows = rows_of([i % 3 for i in range(60)], [(7 * i) % 60 for i in range(60)])
    domains = [
        QuasiDomain(name="sex", kind="category", missing=0, values=("f", "m", "x")),
        QuasiDomain(name="age", kind="integer", missing=0),
    ]
    start, stack = (
        Locality(make_digits([quasi_of(domain) for domain in domains], rows)),
        stack_by_frequency(np.array([60])),
    )

    def mixed(low, high):
        return (low != high).astype(float)

    def wide(low, high):
        return (high - low) / 59

    def free(low, high):
        return np.zeros(len(low))

    assert choose_locality(start, rows, rows.cell, stack, 4, [mixed, free]).order == (0, 1)
    assert choose_locality(start, rows, rows.cell, stack, 4, [free, wide]).order == (1, 0)
    assert simulate_loss(Locality(start.digits, (0, 1)), rows, stack, 4, [mixed, free]) == 0
    assert simulate_loss(
        Locality(start.digits, (1, 0)),
        rows,
        stack,
        4,
        [free, wide],
    ) == pytest.approx(3 / 59 / 2)
