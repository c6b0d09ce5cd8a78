"""What choosing by sensitive value tells: the tally against counting person by person, and the
figure's formula.
"""

from fractions import Fraction

import numpy as np
import pytest
from strategies import CITIES

from tclose_spark.measures.disclosure import minimality
from tclose_spark.measures.disclosure.minimality import (
    UNIT,
    HeightTally,
    beyond_chance,
    groups_in_wide_classes,
    label_heights,
    tally_heights,
)

TREE = tuple(np.concatenate([[0], node + 1]) for node in CITIES.nodes[:-1])  # 0 is a missing value
FLAT = (np.arange(5),)


def drawn(
    seed: int,
    nodes: tuple[np.ndarray, ...],
    rows: int = 240,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(values, sensitive codes, first rows of classes): half of the classes have one value only."""
    draw = np.random.default_rng(seed)
    starts = np.unique(np.concatenate([[0], draw.integers(rows, size=30)]))
    value = draw.integers(len(nodes[0]), size=rows)
    for begin, end in zip(starts, np.append(starts[1:], rows), strict=True):
        if draw.random() < 0.5:
            value[begin:end] = value[begin]
    return value, draw.integers(3, size=rows), starts


@pytest.mark.parametrize("nodes", [TREE, FLAT], ids=["tree", "values"])
@pytest.mark.parametrize("at_once", [7, 1 << 20])
def test_the_figure_is_what_counting_gives(
    nodes: tuple[np.ndarray, ...],
    at_once: int,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(minimality, "PAIRS_AT_ONCE", at_once)
    value, sensitive, starts = drawn(3, nodes)
    owner = np.searchsorted(starts, np.arange(len(value)), side="right") - 1
    twice, found = tally_heights([value, value], [nodes, nodes], sensitive, starts, 3)
    assert np.array_equal(twice.said, found.said)
    assert found.people.sum() == len(value)
    lines = {(one.height, one.node): one for one in groups_in_wide_classes(found, nodes, 1)}
    seen = 0
    for height, node in enumerate(nodes):
        for i in set(node.tolist()):
            here = [r for r in range(len(value)) if node[value[r]] == i]
            mates = {r: [q for q in range(len(value)) if owner[q] == owner[r]] for r in here}
            left = [r for r in here if any(node[value[q]] != i for q in mates[r])]
            if (height, i) not in lines:
                child_alone = (
                    height > 0
                    and len({nodes[height - 1][v] for v in range(len(node)) if node[v] == i}) == 1
                )
                assert child_alone or not left or len(left) == len(here)
                continue
            one = lines[height, i]
            seen += 1
            said = sum(
                Fraction(sum(sensitive[q] == one.sensitive for q in mates[r]), len(mates[r]))
                for r in left
            ) / len(left)
            assert (one.people, one.wide) == (len(here), len(left))
            assert one.true == pytest.approx(
                sum(sensitive[r] == one.sensitive for r in left) / len(left),
            )
            assert one.said == pytest.approx(float(said), abs=2 / UNIT * len(value))
            assert one.whole == pytest.approx(
                sum(sensitive[r] == one.sensitive for r in here) / len(here),
            )
            stayed = [r for r in here if r not in left]
            assert one.narrow == pytest.approx(
                sum(sensitive[r] == one.sensitive for r in stayed) / len(stayed),
            )
    assert seen > 3


def test_parts_of_a_table_add_up():
    """Tasks hold whole classes, so their tallies are added."""
    value, sensitive, starts = drawn(5, TREE)
    cut = int(starts[len(starts) // 2])
    (whole,) = tally_heights([value], [TREE], sensitive, starts, 3)
    parts = [
        *tally_heights([value[:cut]], [TREE], sensitive[:cut], starts[starts < cut], 3),
        *tally_heights([value[cut:]], [TREE], sensitive[cut:], starts[starts >= cut] - cut, 3),
    ]
    assert np.array_equal(sum(part.people for part in parts), whole.people)
    assert np.array_equal(sum(part.said for part in parts), whole.said)


def test_the_height_of_a_label():
    pisa, siena, lyon = (1 + CITIES.leaves.index(city) for city in ("Pisa", "Siena", "Lyon"))
    value = np.array([pisa, pisa, pisa, siena, pisa, lyon, 0, 0, 0, pisa])
    assert label_heights(value, np.array([0, 2, 4, 6, 8]), TREE).tolist() == [
        0,
        1,
        len(TREE),
        0,
        len(TREE),
    ]


def two_kinds(n1: int, n2: int, narrow: float, wide: float, said: float) -> HeightTally:
    """People of one value in narrow and in wide classes, of whom these shares have sensitive value
    0.
    """
    people, told = np.zeros((1, 2, 2), dtype=np.int64), np.zeros((1, 2, 2), dtype=np.int64)
    people[0, 0] = round(n1 * narrow), n1 - round(n1 * narrow)
    people[0, 1] = round(n2 * wide), n2 - round(n2 * wide)
    told[0, 1] = round(n2 * said) * UNIT, (n2 - round(n2 * said)) * UNIT
    return HeightTally(people, told)


def figure(*about: float) -> minimality.WideClassGroup:
    (one,) = groups_in_wide_classes(two_kinds(*about), (np.zeros(1, dtype=np.int64),), 5)  # type: ignore[arg-type]
    return one


def test_who_is_left_is_what_was_too_much():
    """x = p + (p - c) n1 / n2."""
    one = figure(300, 300, 0.29, 0.91, 0.27)
    assert one.sensitive == 0
    assert one.true == pytest.approx(one.whole + (one.whole - one.narrow) * 300 / 300)
    assert one.surplus == pytest.approx(0.91 - 0.29)
    assert beyond_chance([one], 2) == [one]


def test_the_sensitive_value_is_the_one_with_the_most_evidence():
    """Of two values, the one is as much too rare as the other is too frequent: only the latter is
    evidence.
    """
    assert figure(300, 300, 1 - 0.29, 1 - 0.91, 1 - 0.27).sensitive == 1


def test_what_is_true_of_all_people_of_a_value_is_not_revealed_by_choosing():
    """Few were chosen: those left have the value as often as all of them, far more often than their
    classes say.
    """
    one = figure(5, 595, 0.6, 0.6, 0.2)
    assert one.surplus == pytest.approx(0, abs=0.01)
    assert beyond_chance([one], 2) == []


def test_those_who_stay_show_the_choice_where_most_are_left():
    """Nearly all people of a value are left, so they have the sensitive value as often as all of
    them; but of the few who stay in narrow classes hardly more have it than t allows.
    """
    one = figure(25, 200, 0.56, 0.99, 0.33)
    assert one.whole > 0.94
    assert one.surplus == pytest.approx(0.99 - 0.56)
    assert beyond_chance([one], 2) == [one]
    assert beyond_chance([figure(25, 200, 0.56, 0.99, 0.99)], 2) == []  # their classes say it


def test_few_people_left_are_chance():
    assert beyond_chance([figure(300, 2, 0.3, 1.0, 0.3)], 2) == []
    assert beyond_chance([figure(300, 20, 0.3, 1.0, 0.3)], 2) != []


def test_lots_are_seldom_more_than_chance():
    """Classes drawn by lot: of 200 tables of 20 values and 5 sensitive values hardly one has a
    line.
    """
    lines = 0
    for seed in range(200):
        draw = np.random.default_rng(seed)
        found = HeightTally(
            draw.multinomial(40, [0.2] * 5, size=(20, 2)).astype(np.int64),
            np.zeros((20, 2, 5), dtype=np.int64),
        )
        found.said[:, 1] = 8 * UNIT
        lines += bool(beyond_chance(groups_in_wide_classes(found, (np.arange(20),), 5), 5))
    assert lines <= 10


def test_nobody_narrow_or_nobody_wide_is_no_line():
    for n1, n2 in ((0, 50), (50, 0)):
        assert (
            groups_in_wide_classes(
                two_kinds(n1, n2, 0.5, 0.5, 0.5),
                (np.zeros(1, dtype=np.int64),),
                5,
            )
            == []
        )


def test_fewer_people_than_k_are_no_line():
    nodes = (np.zeros(1, dtype=np.int64),)
    assert groups_in_wide_classes(two_kinds(2, 2, 0.5, 0.5, 0.5), nodes, 5) == []
    assert len(groups_in_wide_classes(two_kinds(2, 3, 0.5, 1, 0.5), nodes, 5)) == 1
