"""The measures on plain lists and arrays: against the definitions, and what they refuse."""

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
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

ZONE = ["A", "A", "B", "B", "B", "A"]
AGE = [30, 30, 40, None, None, 40]
DISEASE = ["flu", "gout", "flu", "flu", "ulcer", "flu"]


def test_records_with_equal_labels_are_one_class():
    assert equivalence_classes([ZONE]) == [[0, 1, 5], [2, 3, 4]]
    assert equivalence_classes([ZONE, AGE]) == [[0, 1], [2], [3, 4], [5]]
    assert equivalence_classes((tuple(ZONE), np.array([1, 1, 2, 2, 2, 2]))) == [
        [0, 1],
        [2, 3, 4],
        [5],
    ]


def test_missing_labels_are_equal_to_each_other():
    nan = float("nan")
    assert equivalence_classes([[None, nan, np.float32("nan"), float("nan"), "*"]]) == [
        [0, 1, 2, 3],
        [4],
    ]
    assert equivalence_classes([np.array([nan, 1.0, nan])]) == [[0, 2], [1]]
    assert equivalence_classes([pd.Series([nan, 1.0, None])]) == [[0, 2], [1]]
    assert equivalence_classes([pd.Series(["a", pd.NA, None], dtype="string")]) == [[0], [1, 2]]
    assert equivalence_classes([np.array(["NaT", "2020-01-01", "NaT"], dtype="datetime64[D]")]) == [
        [0, 2],
        [1],
    ]
    assert equivalence_classes([[pd.NaT, pd.NA, None, Decimal("NaN"), nan]]) == [[0, 1, 2, 3, 4]]


def test_numbers_that_are_equal_are_one_label_and_texts_are_not_numbers():
    assert equivalence_classes([[1, 1.0, np.int64(1), "1"]]) == [[0, 1, 2], [3]]


def test_k_is_the_size_of_the_smallest_class():
    assert k_anonymity([ZONE]) == 3
    assert k_anonymity([ZONE, AGE]) == 1
    assert k_anonymity([[7]]) == 1


def test_equal_distance_counts_what_must_move():
    assert earth_movers_distance(["a", "a", "b"], ["a", "b", "c"]) == Fraction(1, 3)
    assert earth_movers_distance([None, None], [None, "x", "x", "x"]) == Fraction(3, 4)
    assert earth_movers_distance([1, "a", (2, 3)], ["a", (2, 3), 1]) == 0


def test_the_domain_is_that_of_both():
    assert earth_movers_distance(["a"], ["b"]) == 1
    assert earth_movers_distance([1], [2, 3], "ordered") == Fraction(3, 4)
    assert earth_movers_distance([2, 3], [1], "ordered") == Fraction(3, 4)


def test_ordered_by_value_ranks_the_values_and_not_their_gaps():
    assert earth_movers_distance([14, 88], [14, 27, 88, 101], "ordered") == Fraction(1, 6)
    assert earth_movers_distance(["b"], ["a", "b", "c"], "ordered") == Fraction(1, 3)
    assert earth_movers_distance([10, 9], [9, 10, 100], "ordered", "value") == Fraction(1, 2) * (
        Fraction(1, 6) + Fraction(1, 3)
    )


def test_ordered_by_frequency_takes_that_of_the_whole_and_breaks_ties_by_value():
    # Frequencies of the whole: 3 twice, then 1 and 2, then 9, which it lacks; the part's own would
    # put 9 first.
    whole, part = [3, 2, 1, 3], [9, 9, 9, 1]
    assert earth_movers_distance(part, whole, "ordered", "frequency") == earth_movers_distance(
        part,
        whole,
        "ordered",
        [3, 1, 2, 9],
    )
    orders = {
        order: earth_movers_distance(part, whole, "ordered", order)
        for order in [(3, 2, 1, 9), (9, 3, 1, 2), (1, 2, 3, 9)]
    }
    assert earth_movers_distance(part, whole, "ordered", [3, 1, 2, 9]) not in orders.values()


def test_a_declared_order_holds_values_without_records_and_missing_ones():
    assert earth_movers_distance(
        ["low"],
        ["low", "high"],
        "ordered",
        ["low", "middle", "high"],
    ) == Fraction(1, 2)
    assert earth_movers_distance(
        ["low"],
        ["low", "middle"],
        "ordered",
        ["low", "middle", "high"],
    ) == Fraction(1, 4)
    assert earth_movers_distance(
        ["low"],
        ["low", "middle"],
        "ordered",
        ["low", "middle"],
    ) == Fraction(1, 2)
    assert earth_movers_distance(
        [None],
        [None, 1, 1],
        "ordered",
        np.array([None, 1, 2]),
    ) == Fraction(1, 3)


def test_a_hierarchical_distance_is_as_far_as_the_common_ancestor_is_high():
    far = {
        other: earth_movers_distance(["Pisa"], [other], "hierarchical", hierarchy=CITIES)
        for other in CITIES.leaves
    }
    assert far == {"Pisa": 0, "Siena": Fraction(1, 3), "Bari": Fraction(2, 3), "Lyon": 1, "Nice": 1}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"part": []}, "the part has no values"),
        ({"whole": []}, "the whole has no values"),
        (
            {"distance": "euclid"},
            "unknown distance 'euclid'; expected equal, ordered or hierarchical",
        ),
        ({"distance": "ordered", "order": "size"}, "unknown order 'size'"),
        ({"distance": "ordered", "part": ["a", 1]}, "the values do not compare .*; list them"),
        ({"distance": "ordered", "part": [Decimal("NaN")]}, "a value is missing"),
        ({"distance": "ordered", "part": [pd.NaT]}, "a value is missing"),
        ({"distance": "ordered", "part": [None]}, "a value is missing"),
        ({"distance": "ordered", "whole": [1.5, math.nan]}, "a value is missing"),
        ({"distance": "ordered", "order": "frequency", "part": [None]}, "a value is missing"),
        ({"distance": "ordered", "order": [1, 3]}, "the order lacks 1 of the values"),
        ({"distance": "ordered", "order": [7, 8]}, "the order lacks 3 of the values"),
        ({"distance": "ordered", "order": [1, 2, 3, 2]}, "the order lists 2 twice"),
        ({"distance": "ordered", "order": []}, "the order has no values"),
        (
            {"distance": "ordered", "hierarchy": CITIES},
            "a hierarchy is given, but the distance is ordered",
        ),
        ({"hierarchy": CITIES}, "a hierarchy is given, but the distance is equal"),
        ({"order": "frequency"}, "an order is given, but the distance is equal"),
        ({"order": [1, 2, 3]}, "an order is given, but the distance is equal"),
        ({"distance": "hierarchical"}, "a hierarchical distance needs a hierarchy"),
        ({"distance": "hierarchical", "hierarchy": CITIES}, "the hierarchy lacks 3 of the values"),
        (
            {
                "distance": "hierarchical",
                "hierarchy": CITIES,
                "part": ["Pisa", "Rome"],
                "whole": ["Bari"],
            },
            "the hierarchy lacks 1 of the values$",
        ),
        (
            {"distance": "hierarchical", "hierarchy": CITIES, "part": [None], "whole": ["Bari"]},
            "the hierarchy lacks 1 of the values$",
        ),
        (
            {"distance": "hierarchical", "hierarchy": CITIES, "part": ["Italy"], "whole": ["Bari"]},
            "the hierarchy lacks 1 of the values$",
        ),
    ],
)
def test_a_distance_that_is_none_over_these_values_is_refused(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        earth_movers_distance(**{"part": [1, 2], "whole": [1, 2, 3], **arguments})


def test_t_is_the_largest_distance_of_a_class():
    # A: flu 2, gout 1; B: flu 2, ulcer 1; the table: flu 4, gout 1, ulcer 1.
    assert t_closeness([ZONE], DISEASE) == Fraction(1, 6)
    assert t_closeness([ZONE, AGE], DISEASE) == Fraction(1, 3)
    assert t_closeness([["*"] * 6], DISEASE) == 0
    assert t_closeness([["A", "A", "B", "B"]], [1, 2, 3, 4], "ordered") == Fraction(1, 3)
    assert t_closeness([["A", "A", "B", "B"]], [1, 2, 3, 4], "ordered", [1, 3, 2, 4]) == Fraction(
        1,
        6,
    )
    cities = ["Pisa", "Siena", "Lyon", "Nice"]
    assert t_closeness(
        [["A", "A", "B", "B"]],
        cities,
        "hierarchical",
        hierarchy=CITIES,
    ) == Fraction(1, 2)


def test_t_of_a_reference_table():
    assert t_closeness(
        [["A", "A"]],
        ["flu", "gout"],
        reference=["flu", "flu", "flu", "gout"],
    ) == Fraction(1, 4)
    assert t_closeness([["A", "A"]], [1, 9], "ordered", reference=[2]) == Fraction(1, 2)
    assert t_closeness([["A", "B"]], [1, 3], "ordered", reference=[1, 2, 2]) == Fraction(2, 3)


@drawn(60)
@given(
    st.lists(
        st.tuples(st.sampled_from("AB"), st.sampled_from([None, 1, 2]), st.integers(0, 3)),
        min_size=1,
        max_size=20,
    ),
)
def test_table_measures_are_those_of_its_classes(records):
    zone, age, value = zip(*records, strict=True)
    parts = {}
    for record in records:
        parts.setdefault(record[:2], []).append(record[2])
    for distance in ("equal", "ordered"):
        assert t_closeness([zone, age], value, distance) == max(
            earth_movers_distance(p, value, distance) for p in parts.values()
        )
    assert k_anonymity([zone, age]) == min(map(len, parts.values()))
    assert distinct_l([zone, age], value) == min(len(set(p)) for p in parts.values())
    shares = [[n / len(p) for n in Counter(p).values()] for p in parts.values()]
    assert entropy_l([zone, age], value) == pytest.approx(
        min(math.prod(x**-x for x in each) for each in shares),
    )
    ranked = [sorted(Counter(p).values(), reverse=True) for p in parts.values()]
    assert recursive_cl([zone, age], value, 2, 2) == all(
        counts[0] < 2 * sum(counts[1:]) for counts in ranked
    )


def test_l_is_that_of_the_least_diverse_class():
    assert distinct_l([["A", "A", "A", "B", "B"]], ["x", "y", None, "x", "y"]) == 2
    assert distinct_l([["A", "A", "B"]], ["x", "y", "x"]) == 1
    assert entropy_l([["A", "A", "A", "B", "B"]], ["x", "y", "z", "x", "y"]) == pytest.approx(2)
    assert entropy_l([["A"]], ["x"]) == 1


def test_recursive_diversity_is_strict_and_reads_c_as_written():
    values = ["x"] * 3 + ["y"] * 2 + ["z"] * 8
    # r = (8, 3, 2): 8 < c (3 + 2) and 8 < c 2
    one = [["*"] * 13]
    assert not recursive_cl(one, values, Fraction(8, 5), 2)
    assert recursive_cl(one, values, "1.61", 2)
    assert not recursive_cl(one, values, 1.6, 2)
    assert recursive_cl(one, values, 5, 3)
    assert not recursive_cl(one, values, 4, 3)
    assert not recursive_cl(one, values, 1000, 4)


CLASS = [3, 4, 5]
REGION = [3, 4, 5, 6]
TABLE = [3, 4, 5, 6, 7, 8, 9, 10, 11]


def test_nt_closeness_takes_the_first_superset_large_and_near_enough():
    assert nt_close_superset(CLASS, [REGION, TABLE], 4, Fraction(1, 4)) == 0
    assert nt_close_superset(CLASS, [TABLE, REGION], 4, Fraction(1, 4)) == 1
    assert nt_close_superset(CLASS, [REGION, TABLE], 5, Fraction(1, 4)) is None
    assert nt_close_superset(CLASS, [REGION, TABLE], 5, Fraction(2, 3)) == 1
    assert nt_close_superset(CLASS, [REGION, TABLE], 10, 1) is None
    assert nt_close_superset(CLASS, [REGION], 4, "0.24999") is None
    assert nt_close_superset(CLASS, [], 1, 1) is None


def test_nt_closeness_takes_t_as_written():
    # As doubles .3 is less than three tenths.
    assert earth_movers_distance([1] * 4 + [2], [1] * 5 + [2] * 5) == Fraction(3, 10)
    assert nt_close_superset([1] * 4 + [2], [[1] * 5 + [2] * 5], 10, 0.3) == 0


def test_nt_closeness_has_one_domain_for_all_supersets():
    # From 3, 4, 5 to 3, 4, 5, 6: 1/12 + 2/12 + 3/12, over 8 in the table's domain but over 3 in its
    # own.
    assert earth_movers_distance(CLASS, REGION, "ordered") == Fraction(1, 6)
    assert nt_close_superset(CLASS, [REGION, TABLE], 4, Fraction(1, 16), "ordered") == 0
    assert nt_close_superset(CLASS, [REGION, TABLE], 4, Fraction(1, 17), "ordered") is None
    assert nt_close_superset(CLASS, [REGION], 4, Fraction(1, 16), "ordered", TABLE) == 0
    assert nt_close_superset(CLASS, [REGION], 4, Fraction(1, 16), "ordered") is None
    tree = Hierarchy.build([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")], "tree")
    assert nt_close_superset(["a"], [["a", "b"]], 2, 0.25, "hierarchical", hierarchy=tree) == 0


@drawn(60)
@given(
    st.lists(st.tuples(st.sampled_from("ABC"), st.integers(0, 4)), min_size=1, max_size=20),
    st.fractions(0, 1),
)
def test_nt_closeness_to_the_whole_table_alone_is_t_closeness(records, t):
    zone, value = zip(*records, strict=True)
    parts = [[v for z, v in records if z == zone_] for zone_ in sorted(set(zone))]
    for distance in ("equal", "ordered"):
        verdicts = [
            nt_close_superset(part, [value], len(value), t, distance) == 0 for part in parts
        ]
        assert all(verdicts) == (t_closeness([zone], value, distance) <= t)


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"part": []}, "the part has no values"),
        ({"supersets": [TABLE, []]}, "superset 1 has no values"),
        ({"supersets": [TABLE, [3, 4, 6, 7]]}, "superset 1 does not hold all records of the part"),
        ({"part": [3, 3]}, "superset 0 does not hold all records of the part"),
        ({"n": 0}, "n is 0; expected a whole number of at least 1"),
        ({"t": -0.1}, "t is -0.1; expected a number of at least 0"),
        ({"t": math.nan}, "t is nan; expected a number"),
        ({"t": "small"}, "t is 'small'; expected a number"),
        ({"distance": "ordered", "order": [3, 4, 5]}, "the order lacks 6 of the values"),
        ({"distance": "near", "n": 100}, "unknown distance 'near'"),
    ],
)
def test_nt_closeness_refuses_what_is_no_class_superset_or_threshold(changed, complaint):
    with pytest.raises(ValueError, match=complaint):
        nt_close_superset(**{"part": CLASS, "supersets": [TABLE], "n": 2, "t": 0.5, **changed})


@pytest.mark.parametrize(
    "measure",
    [
        lambda quasi, sensitive: t_closeness(quasi, sensitive),
        lambda quasi, sensitive: distinct_l(quasi, sensitive),
        lambda quasi, sensitive: entropy_l(quasi, sensitive),
        lambda quasi, sensitive: recursive_cl(quasi, sensitive, 2, 2),
    ],
    ids=["t", "distinct", "entropy", "recursive"],
)
@pytest.mark.parametrize(
    ("quasi", "sensitive", "complaint"),
    [
        (
            [ZONE],
            DISEASE[:5],
            "the sensitive attribute has 5 values, the quasi-identifiers 6; expected one of each "
            "for every record",
        ),
        ([ZONE], [*DISEASE, "flu"], "the sensitive attribute has 7 values"),
        ([ZONE], [], "the sensitive attribute has no values"),
        ([], DISEASE, "there is no quasi-identifier"),
    ],
)
def test_columns_that_are_no_table_are_refused(measure, quasi, sensitive, complaint):
    with pytest.raises(ValueError, match=complaint):
        measure(quasi, sensitive)


@pytest.mark.parametrize("measure", [equivalence_classes, k_anonymity])
@pytest.mark.parametrize(
    ("quasi", "complaint"),
    [
        ([], "there is no quasi-identifier"),
        ([[]], "the quasi-identifier 1 has no values"),
        ([ZONE, []], "the quasi-identifier 2 has no values"),
        ([ZONE, AGE, AGE[:4]], "the quasi-identifier 3 has 4 values, the quasi-identifier 1 6"),
        (["zone", "age"], "the quasi-identifier 1 is a text; expected a sequence"),
        (pd.DataFrame({"zone": ZONE}), "the quasi-identifier 1 is a text"),
    ],
)
def test_labels_that_are_no_columns_are_refused(measure, quasi, complaint):
    with pytest.raises(ValueError, match=complaint):
        measure(quasi)


def test_a_reference_without_values_is_refused():
    with pytest.raises(ValueError, match="the reference has no values"):
        t_closeness([ZONE], DISEASE, reference=[])


@pytest.mark.parametrize(
    ("c", "level", "complaint"),
    [
        (0, 2, "c is 0; expected a number above 0"),
        (2, 0, "l is 0; expected a whole number"),
        ("x", 2, "c is 'x'; expected a number"),
    ],
)
def test_recursive_diversity_refuses_what_is_no_c_or_l(c, level, complaint):
    with pytest.raises(ValueError, match=complaint):
        recursive_cl([ZONE], DISEASE, c, level)
