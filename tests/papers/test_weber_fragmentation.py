"""Weber, chapter 3: Figure 15, Propositions 5 and 6, Definitions 7 and 8 as they are meant, and the
sizing of 3.4.2 and 4.1.3.
"""

from fractions import Fraction

import numpy as np
from fragmentations import aggregate_bounds, matrix_of, ordered, paper_bounds

from tclose_spark.methods.fragmentation.fragments import PaperFragments
from tclose_spark.methods.fragmentation.search import find_fragmentation
from tclose_spark.methods.fragmentation.sizing import gcd_classes

# Rows .5 and .5, columns .3 and .7, in tenths. The figure's own cells are not in the text.
FIGURE_15 = matrix_of(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([1, 4, 2, 3]), (2, 2))
SPREADS = [ordered(2), ordered(2)]
WHOLE, TENTH = np.array([[[0, 1], [0, 1]]]), Fraction(1, 10)
COLUMNS = np.array([[[0, 1], [0, 0]], [[0, 1], [1, 1]]])


def test_figure_15_a_split_that_raises_a_bound():
    assert [FIGURE_15.marginal(s).tolist() for s in (0, 1)] == [[5, 5], [3, 7]]
    assert paper_bounds(FIGURE_15, np.zeros(4, dtype=np.int64), WHOLE) == (5 * TENTH, 7 * TENTH)
    assert paper_bounds(FIGURE_15, FIGURE_15.codes[:, 1], COLUMNS) == (6 * TENTH, 0)


def test_figure_15_is_what_the_search_weighs():
    kind = PaperFragments(FIGURE_15, SPREADS, {})
    cuts = kind.cuts(kind.top())
    assert cuts.attribute.tolist() == [0, 1]
    assert (cuts.changes * 10).round(9).tolist() == [[-5, 0], [1, -7]]


def test_section_3_4_1_the_hinge_leaves_a_bound_that_is_met():
    # With t .6 for the rows and .5 for the columns only a split by columns does, though it raises
    # the bound of the rows.
    t = [Fraction(6, 10), Fraction(5, 10)]
    path = find_fragmentation(
        FIGURE_15,
        SPREADS,
        t,
        kind="paper",
        objective="hinge",
        stop=lambda found, _: all(b <= x for b, x in zip(found, t, strict=True)),
    )
    assert path.exact_bounds == ((5 * TENTH, 7 * TENTH), (6 * TENTH, 0))
    assert path.boxes(1).tolist() == COLUMNS.tolist()


def test_proposition_5_the_bottom_has_no_bounds():
    path = find_fragmentation(FIGURE_15, SPREADS, [TENTH, TENTH], kind="paper", objective="hinge")
    assert path.exact_bounds[-1] == (0, 0)
    assert len(path.boxes(path.steps)) == 4


def test_definitions_7_and_8_a_split_makes_one_fragment_more_and_its_union_is_the_whole():
    # Printed: min for the union's upper indexes too, and one fragment fewer after a split.
    path = find_fragmentation(FIGURE_15, SPREADS, [TENTH, TENTH], kind="paper", objective="hinge")
    for steps in range(path.steps):
        before, after, parent = path.boxes(steps), path.boxes(steps + 1), path.parents[steps]
        assert len(after) == len(before) + 1
        lower, upper = after[parent], after[-1]
        union = np.stack(
            [np.minimum(lower[:, 0], upper[:, 0]), np.maximum(lower[:, 1], upper[:, 1])],
            axis=1,
        )
        assert union.tolist() == before[parent].tolist()


def test_sections_3_4_2_and_4_1_3_one_row_more_leaves_one_class():
    sizes = [250, 100, 350, 300]
    assert gcd_classes(sizes) == 50
    sizes[3] += 1
    assert gcd_classes(sizes) == 1


# The first two columns of Figure 8, which Figure 13 splits below the second row.
FIGURE_8 = matrix_of(
    np.array([[0, 0], [0, 1], [1, 1], [2, 0], [2, 1], [3, 0]]),
    np.array([20, 20, 40, 40, 20, 40]),
    (4, 2),
)


def test_proposition_6_does_not_hold_where_a_fragment_has_its_own_scale():
    # Printed: a split leaves one of the bounds as low as it was. Here both rise, in 400ths of the
    #     table of Figure 8.
    whole, lower = np.array([[[0, 3], [0, 1]]]), (FIGURE_8.codes[:, 0] > 1).astype(np.int64)
    halves = np.array([[[0, 1], [0, 1]], [[2, 3], [0, 1]]])
    before, after = paper_bounds(FIGURE_8, lower * 0, whole), paper_bounds(FIGURE_8, lower, halves)
    assert [x * 180 for x in before] == [Fraction(280, 3), 100]
    assert [x * 180 for x in after] == [100, 140]


def test_proposition_6_holds_over_the_whole_domain():
    lower = (FIGURE_8.codes[:, 0] > 1).astype(np.int64)
    before, after = (
        aggregate_bounds(FIGURE_8, of, [ordered(4), ordered(2)]) for of in (lower * 0, lower)
    )
    assert after[0] < before[0]
