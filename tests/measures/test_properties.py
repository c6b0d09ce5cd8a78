"""What the papers prove of the measures (Li et al. 2007, section 4), on drawn tables; and that a
distance is one.
"""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import CITIES, drawn

from tclose_spark.measures.closeness import (
    distinct_l,
    earth_movers_distance,
    entropy_l,
    equivalence_classes,
    k_anonymity,
    nt_close_superset,
    recursive_cl,
    t_closeness,
)
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

VALUES = [*CITIES.leaves]
FLAT = Hierarchy.build([(value, "*") for value in VALUES], "flat")
DISTANCES = {
    "equal": {"distance": "equal"},
    "by value": {"distance": "ordered"},
    "by a list": {"distance": "ordered", "order": VALUES},
    "hierarchical": {"distance": "hierarchical", "hierarchy": CITIES},
}
EVERY_DISTANCE = pytest.mark.parametrize("asked", DISTANCES.values(), ids=DISTANCES)
# With one domain for all pairs of tables: ranks of values would depend on the pair.
EVERY_METRIC = pytest.mark.parametrize(
    "asked",
    [DISTANCES["equal"], DISTANCES["by a list"], DISTANCES["hierarchical"]],
    ids=["equal", "ordered", "hierarchical"],
)

columns = st.lists(st.sampled_from(VALUES), min_size=1, max_size=12)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list], list]:
    """Two or three quasi-identifiers and a sensitive attribute."""
    width = draw(st.integers(2, 3))
    record = st.tuples(*[st.sampled_from([None, "a", "b", "c"])] * width, st.sampled_from(VALUES))
    *quasi, sensitive = zip(*draw(st.lists(record, min_size=1, max_size=25)), strict=True)
    return [list(labels) for labels in quasi], list(sensitive)


@st.composite
def generalized(draw: st.DrawFn, quasi: list[list]) -> list[list]:
    """One quasi-identifier with its labels replaced by more general ones: equal labels stay
    equal.
    """
    column = draw(st.integers(0, len(quasi) - 1))
    general = {
        label: draw(st.sampled_from(["x", "y", "*"])) for label in dict.fromkeys(quasi[column])
    }
    return [
        [general[label] for label in labels] if i == column else labels
        for i, labels in enumerate(quasi)
    ]


@EVERY_DISTANCE
@drawn(80)
@given(st.data())
def test_generalization_property(asked, data):
    quasi, sensitive = data.draw(tables())
    general = data.draw(generalized(quasi))
    assert t_closeness(general, sensitive, **asked) <= t_closeness(quasi, sensitive, **asked)
    assert k_anonymity(general) >= k_anonymity(quasi)


@EVERY_DISTANCE
@drawn(80)
@given(st.data())
def test_subset_property(asked, data):
    quasi, sensitive = data.draw(tables())
    left_out = data.draw(st.integers(0, len(quasi) - 1))
    fewer = [labels for i, labels in enumerate(quasi) if i != left_out]
    assert t_closeness(fewer, sensitive, **asked) <= t_closeness(quasi, sensitive, **asked)
    assert k_anonymity(fewer) >= k_anonymity(quasi)


@drawn(80)
@given(st.data())
def test_diversity_has_both_properties_too(data):
    quasi, sensitive = data.draw(tables())
    for less in (data.draw(generalized(quasi)), quasi[1:]):
        assert distinct_l(less, sensitive) >= distinct_l(quasi, sensitive)
        assert entropy_l(less, sensitive) >= entropy_l(quasi, sensitive) - 1e-9
        assert recursive_cl(less, sensitive, 2, 2) >= recursive_cl(quasi, sensitive, 2, 2)


@drawn(80)
@given(tables())
def test_a_more_general_class_is_a_union_of_classes(table):
    quasi, _ = table
    finer, coarser = equivalence_classes(quasi), equivalence_classes(quasi[:1])
    assert sorted(record for records in finer for record in records) == list(range(len(quasi[0])))
    assert all(sum(set(records) <= set(union) for union in coarser) == 1 for records in finer)


@EVERY_DISTANCE
@drawn(80)
@given(columns, columns, columns)
def test_fact_2_a_merged_class_is_at_most_the_weighted_mean_away(asked, one, other, rest):
    whole = one + other + rest
    first, second, merged = (
        earth_movers_distance(part, whole, **asked) for part in (one, other, one + other)
    )
    assert (
        merged
        <= (len(one) * first + len(other) * second) / (len(one) + len(other))
        <= max(first, second)
    )


@EVERY_DISTANCE
@drawn(80)
@given(tables())
def test_one_class_of_all_is_at_distance_zero(asked, table):
    _, sensitive = table
    assert t_closeness([["*"] * len(sensitive)], sensitive, **asked) == 0


@EVERY_METRIC
@drawn(80)
@given(columns, columns)
def test_a_distance_is_symmetric(asked, p, q):
    assert earth_movers_distance(p, q, **asked) == earth_movers_distance(q, p, **asked)


@EVERY_METRIC
@drawn(80)
@given(columns, columns)
def test_a_distance_is_zero_for_equal_distributions_only(asked, p, q):
    alike = all(Fraction(p.count(v), len(p)) == Fraction(q.count(v), len(q)) for v in VALUES)
    assert (earth_movers_distance(p, q, **asked) == 0) == alike
    assert earth_movers_distance(p, p[::-1] * 3, **asked) == 0


@EVERY_METRIC
@drawn(100)
@given(columns, columns, columns)
def test_a_detour_is_never_shorter(asked, p, q, r):
    direct = earth_movers_distance(p, r, **asked)
    assert direct <= earth_movers_distance(p, q, **asked) + earth_movers_distance(q, r, **asked)


@EVERY_DISTANCE
@drawn(80)
@given(columns, columns)
def test_fact_1_a_distance_lies_between_zero_and_one(asked, p, q):
    assert 0 <= earth_movers_distance(p, q, **asked) <= earth_movers_distance(p, q) <= 1


@EVERY_METRIC
@pytest.mark.parametrize(("p", "q"), [("Pisa", "Nice"), ("Nice", "Pisa")])
def test_values_that_are_farthest_apart_are_at_distance_one(asked, p, q):
    assert earth_movers_distance([p], [q], **asked) == 1


@drawn(80)
@given(columns, columns)
def test_a_hierarchy_of_height_one_is_the_equal_distance(p, q):
    assert earth_movers_distance(p, q, "hierarchical", hierarchy=FLAT) == earth_movers_distance(
        p,
        q,
    )


@drawn(80)
@given(columns, columns, st.permutations(VALUES))
def test_an_order_and_its_reverse_are_one_distance(p, q, order):
    assert earth_movers_distance(p, q, "ordered", order) == earth_movers_distance(
        p,
        q,
        "ordered",
        order[::-1],
    )


@drawn(80)
@given(columns, columns, st.sampled_from([1, 2]))
def test_two_values_are_ordered_as_they_are_equal(p, q, height):
    pair = [
        [VALUES[0] if value in VALUES[:height] else VALUES[1] for value in column]
        for column in (p, q)
    ]
    assert earth_movers_distance(*pair, "ordered") == earth_movers_distance(*pair)


@EVERY_DISTANCE
@pytest.mark.parametrize("times", [10, 100])
@drawn(25)
@given(st.data())
def test_a_replicated_table_is_as_safe(asked, times, data):
    quasi, sensitive = data.draw(tables())
    again = [labels * times for labels in quasi], sensitive * times
    assert t_closeness(*again, **asked) == t_closeness(quasi, sensitive, **asked)
    for records in equivalence_classes(quasi):
        part = [sensitive[record] for record in records]
        assert earth_movers_distance(
            part * times,
            sensitive * times,
            **asked,
        ) == earth_movers_distance(part, sensitive, **asked)


@pytest.mark.parametrize("times", [10, 100])
@drawn(25)
@given(tables(), st.fractions(Fraction(1, 4), 4), st.integers(1, 3))
def test_a_replicated_table_is_as_diverse_and_as_often_more_anonymous(times, table, c, level):
    quasi, sensitive = table
    again = [labels * times for labels in quasi], sensitive * times
    assert distinct_l(*again) == distinct_l(quasi, sensitive)
    assert entropy_l(*again) == pytest.approx(entropy_l(quasi, sensitive), rel=1e-12)
    assert recursive_cl(*again, c, level) == recursive_cl(quasi, sensitive, c, level)
    assert k_anonymity(again[0]) == times * k_anonymity(quasi)


@EVERY_DISTANCE
@drawn(60)
@given(columns, columns, columns, st.fractions(0, 1), st.integers(2, 20))
def test_nt_closeness_holds_for_larger_t_and_smaller_n(asked, part, more, rest, t, n):
    supersets = [part + more, part + more + rest]
    if nt_close_superset(part, supersets, n, t, **asked) is not None:
        assert nt_close_superset(part, supersets, n - 1, t, **asked) is not None
        assert nt_close_superset(part, supersets, n, min(t * 2, Fraction(1)), **asked) is not None
