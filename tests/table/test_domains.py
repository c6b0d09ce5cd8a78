"""What the profile knows of the columns: domains, their order, and messages that name what has no
place in them.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import CITIES, drawn, make_problem, people, trees

from tclose_spark.errors import ConfigurationError, InputError, Offending
from tclose_spark.measures.distances.ground_distances import (
    EqualDistance,
    HierarchicalDistance,
    OrderedDistance,
    ground_distance,
)
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.table.domains import (
    Profile,
    by_value,
    categorical_domain,
    remaining_values,
    sensitive_domain,
)
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

DISEASES = Hierarchy.build(
    [("flu", "lung", "*"), ("asthma", "lung", "*"), ("ulcer", "stomach", "*")],
    "diseases",
)


def domain_of(
    counts: dict[str | None, int],
    tree: Hierarchy | None = None,
    is_text: bool = True,
    **asked: object,
):
    """The domain of a sensitive attribute called salary."""
    return sensitive_domain("salary", counts, SensitiveAttribute(**asked), tree, is_text)


def ordered(
    counts: dict[str | None, int],
    is_text: bool = True,
    **asked: object,
) -> tuple[str | None, ...]:
    """The values in order."""
    return domain_of(counts, None, is_text, distance="ordered", **asked).values


@pytest.mark.parametrize(
    ("values", "order"),
    [
        (["10", "9", "-1", "0.5"], ["-1", "0.5", "9", "10"]),
        (["1e3", "200", "3"], ["3", "200", "1e3"]),
        (["b", "a", "10", "9"], ["9", "10", "a", "b"]),
        (["007", "7", "08"], ["007", "7", "08"]),
        (
            [
                "2024-02-29",
                "+10000-01-01",
                "-0001-12-31",
                "9999-12-31",
                "-0044-03-15",
                "0000-05-01",
                "+123456-01-01",
            ],
            [
                "-0044-03-15",
                "-0001-12-31",
                "0000-05-01",
                "2024-02-29",
                "9999-12-31",
                "+10000-01-01",
                "+123456-01-01",
            ],
        ),
        (
            [
                "+10000-01-01 00:00:00",
                "2024-01-01 00:00:00.5",
                "2024-01-01 00:00:00",
                "-0044-03-15 12:00:00",
            ],
            [
                "-0044-03-15 12:00:00",
                "2024-01-01 00:00:00",
                "2024-01-01 00:00:00.5",
                "+10000-01-01 00:00:00",
            ],
        ),
        (["2024-02-29", "-0044-03-15", "soon"], ["-0044-03-15", "2024-02-29", "soon"]),
        ([], []),
    ],
)
def test_numbers_go_by_size_other_texts_by_letters(values, order):
    assert by_value(values) == order


def test_an_equal_distance_has_the_values_present_and_missing_last():
    domain = domain_of({"flu": 3, None: 2, "asthma": 1})
    assert (domain.values, domain.counts) == (("asthma", "flu", None), (1, 3, 2))
    assert domain.table.tolist() == [1, 3, 2]


@pytest.mark.parametrize(
    ("asked", "order"),
    [
        ({"order": "value"}, ("9", "10", "100")),
        ({"order": "frequency"}, ("10", "9", "100")),
        ({"order": ["100", "9", "10", "7"]}, ("100", "9", "10", "7")),
        ({"order": [100, 9, 10]}, ("100", "9", "10")),
    ],
)
def test_orders_of_a_domain(asked, order):
    assert ordered({"100": 2, "9": 2, "10": 7}, **asked) == order


def test_values_of_a_list_that_no_row_has_count_zero():
    domain = domain_of({"low": 3, "high": 1}, distance="ordered", order=["low", "mid", "high"])
    assert (domain.values, domain.counts) == (("low", "mid", "high"), (3, 0, 1))


def test_frequency_ties_go_by_value():
    assert ordered({"30": 1, "4": 1, "200": 1}, order="frequency") == ("4", "30", "200")


def test_a_list_may_write_the_numbers_of_a_column_in_its_own_way():
    assert ordered({"1.0": 3, "2.5": 1}, is_text=False, order=[2.5, 1, 7]) == ("2.5", "1.0", "7")


def test_a_list_of_a_text_column_is_taken_letter_by_letter():
    assert ordered({"01": 3, "1": 1}, order=["1", "01"]) == ("1", "01")
    assert ordered({"true": 3, "false": 1}, order=[False, True]) == ("false", "true")


def test_a_list_must_name_every_value_once():
    with pytest.raises(
        InputError,
        match=r"salary.order lacks 1 values of the table \(2 rows\)",
    ) as found:
        ordered({"9": 2, "10": 7}, order=["10"])
    assert found.value.values == Offending("salary", "missing from its order", {"9": 2})
    with pytest.raises(ConfigurationError, match=r"order holds '9' 2 times"):
        ordered({"9": 2}, order=["9", "9"])
    with pytest.raises(InputError, match=r"salary.order: a value is listed twice"):
        ordered({"9.0": 2}, is_text=False, order=[9, 9.0])


def test_a_list_may_not_name_a_number_twice_that_no_row_has():
    with pytest.raises(InputError, match=r"salary.order: a value is listed twice"):
        ordered({"9.0": 2}, is_text=False, order=[9, 8, 8.0])


def test_text_has_no_order_of_its_own():
    with pytest.raises(
        InputError,
        match="'salary' is text, which has no order of its own; give order: frequency or a list",
    ):
        ordered({"low": 2, "10": 7})


def test_dates_go_by_their_text():
    assert ordered({"2020-10-01": 1, "2020-09-30": 1}, is_text=False) == (
        "2020-09-30",
        "2020-10-01",
    )


def test_infinity_has_no_place_in_an_order():
    with pytest.raises(InputError, match="'salary' has infinite numbers"):
        ordered({"9.0": 1, "10.0": 1, "Infinity": 1, "-Infinity": 1}, is_text=False)


def test_texts_that_are_the_same_number_are_refused():
    with pytest.raises(InputError, match="'salary': different texts are the same number"):
        ordered({"30": 2, "30.0": 1, "40": 1})
    assert ordered({"30": 2, "30.0": 1}, order="frequency") == ("30", "30.0")


@pytest.mark.parametrize(
    ("missing", "order"),
    [("lowest", (None, "9", "10")), ("highest", ("9", "10", None))],
)
@pytest.mark.parametrize("by", ["value", "frequency", ["9", "10"]])
def test_missing_values_have_the_place_that_is_asked(missing, order, by):
    domain = domain_of({"10": 1, None: 4, "9": 1}, distance="ordered", missing=missing, order=by)
    assert domain.values == order
    assert domain.counts[order.index(None)] == 4


def test_missing_values_of_an_ordered_attribute_are_an_error_that_names_the_option():
    with pytest.raises(
        InputError,
        match=r"'salary' is missing in 4 rows .*\.salary\.missing: lowest or highest",
    ):
        ordered({"10": 1, None: 4})
    assert ordered({"10": 1}, missing="lowest") == ("10",)


def test_a_hierarchical_attribute_has_the_leaves_of_its_hierarchy():
    domain = domain_of({"ulcer": 2, "flu": 1}, DISEASES, distance="hierarchical", hierarchy="d.csv")
    assert (domain.values, domain.counts) == (("flu", "asthma", "ulcer"), (1, 0, 2))


def test_missing_values_of_a_hierarchical_attribute_are_an_error_that_names_the_option():
    with pytest.raises(
        InputError,
        match=r"'salary' is missing in 2 rows .*salary.missing: leaf \(a leaf of its own under the root\)",
    ):
        domain_of({"flu": 3, None: 2}, DISEASES, distance="hierarchical", hierarchy="d.csv")


LEAF = {"distance": "hierarchical", "hierarchy": "d.csv", "missing": "leaf"}


def test_missing_values_may_be_a_leaf_of_their_own():
    domain = domain_of({"flu": 3, None: 2, "ulcer": 1}, DISEASES.with_missing("d.csv"), **LEAF)
    assert (domain.values, domain.counts) == (("flu", "asthma", "ulcer", None), (3, 0, 1, 2))
    assert domain_of({"flu": 3}, DISEASES.with_missing("d.csv"), **LEAF).counts == (3, 0, 0, 0)
    with pytest.raises(InputError, match="its hierarchy lacks 1 value in 2 rows"):
        domain_of({"flu": 3, "(missing)": 2}, DISEASES.with_missing("d.csv"), **LEAF)


@drawn(100)
@given(trees(), st.data())
def test_distances_to_the_leaf_of_missing_values_are_those_of_the_definition(tree, data):
    """Li et al. 2007, 5.2: at each node, what its children give away stays below it at the cost of
    its height.
    """
    counts = st.fixed_dictionaries(
        {value: st.integers(0, 4) for value in (*tree.leaves, None)},
    ).filter(lambda found: any(found.values()))
    whole, part = data.draw(counts), data.draw(counts)
    asked = SensitiveAttribute.model_validate(LEAF)
    extended = tree.with_missing("d.csv")
    domain = sensitive_domain("salary", whole, asked, extended, True)
    places = {value: i for i, value in enumerate(domain.values)}
    histogram = np.zeros((1, len(places)), dtype=np.int64)
    for value, count in part.items():
        histogram[0, places[value]] = count
    distance = ground_distance("hierarchical", domain.table, domain.values, extended)
    n, s = sum(whole.values()), sum(part.values())
    found = Fraction(
        int(distance.numerators(Histograms.dense(histogram))[0]),
        distance.scale * n * s,
    )
    paths = {path[0]: path for path in tree.paths} | {
        None: (None, *[("missing", level) for level in range(1, tree.height)], "*"),
    }
    cost = Fraction(0)
    for level in range(1, tree.height + 1):
        extra = {(path[level:], path[level - 1 :]): Fraction(0) for path in paths.values()}
        for value, path in paths.items():
            extra[path[level:], path[level - 1 :]] += Fraction(part[value], s) - Fraction(
                whole[value],
                n,
            )
        for node in {above for above, _ in extra}:
            gains = [x for (above, _), x in extra.items() if above == node]
            cost += Fraction(level, tree.height) * min(
                sum(x for x in gains if x > 0),
                sum(-x for x in gains if x < 0),
            )
    assert found == cost


def test_a_hierarchical_attribute_has_no_place_for_missing_or_other_values():
    asked = {"distance": "hierarchical", "hierarchy": "d.csv"}
    with pytest.raises(InputError, match="'salary' is missing in 3 rows"):
        domain_of({"flu": 1, None: 3}, DISEASES, **asked)
    with pytest.raises(InputError, match=r"'salary': its hierarchy lacks 2 values in 8 rows"):
        domain_of({"flu": 1, "mumps": 3, "gout": 5}, DISEASES, **asked)


@pytest.mark.parametrize(
    ("asked", "hierarchy", "kind"),
    [
        ({}, None, EqualDistance),
        ({"distance": "ordered"}, None, OrderedDistance),
        ({"distance": "hierarchical", "hierarchy": "d.csv"}, DISEASES, HierarchicalDistance),
    ],
)
def test_has_the_distance_that_is_declared(asked, hierarchy, kind):
    attribute = SensitiveAttribute(**asked)
    counts = {"flu": 3, "ulcer": 2} if hierarchy else {"1": 3, "2": 2}
    domain = sensitive_domain("s", counts, attribute, hierarchy, True)
    distance = ground_distance(attribute.distance, domain.table, domain.values, hierarchy)
    assert isinstance(distance, kind)
    assert distance.table.sum() == 5


def test_a_category_has_its_values_in_order_and_counts_those_present():
    domain = categorical_domain("sex", {"m": 3, None: 2, "f": 1}, None)
    assert (domain.values, domain.present, domain.missing) == (("f", "m"), 2, 2)
    assert categorical_domain("zip", {"10": 1, "9": 1}, None).values == ("9", "10")


def test_a_category_with_a_hierarchy_has_its_leaves():
    domain = categorical_domain("city", {"Pisa": 3, "Lyon": 1, None: 7}, CITIES)
    assert (domain.values, domain.present, domain.missing) == (CITIES.leaves, 2, 7)


def test_a_value_that_the_hierarchy_lacks_travels_beside_the_message():
    with pytest.raises(
        InputError,
        match=r"quasi-identifier 'city': its hierarchy lacks 1 value in 4 rows; add a row for each$",
    ) as found:
        categorical_domain("city", {"Pisa": 3, "Oslo": 4}, CITIES)
    assert found.value.values == Offending("city", "missing from its hierarchy", {"Oslo": 4})
    assert found.value.exit_code == 2


@pytest.mark.parametrize("hierarchy", [None, CITIES])
def test_a_star_is_no_value(hierarchy):
    with pytest.raises(InputError, match=r"quasi-identifier 'city': the value '\*'"):
        categorical_domain("city", {"Pisa": 3, "*": 4}, hierarchy)


@pytest.mark.parametrize("value", ["{a, b}", "{}", "{a\nb}"])
def test_a_value_that_reads_like_a_set_is_refused_where_sets_are_published(value):
    with pytest.raises(
        InputError,
        match="quasi-identifier 'colour': a value in braces reads like a set",
    ):
        categorical_domain("colour", {"a": 1, value: 2}, None, sets=True)
    assert categorical_domain("colour", {"a": 1, "{a": 2, "a}": 1}, None, sets=True).present == 3
    assert categorical_domain("colour", {"a": 1, value: 2}, None).present == 2


@drawn(30)
@given(people(least=1))
def test_a_profile_survives_json(records):
    profile = make_problem(records, {"disease": {}, "grade": {"distance": "ordered"}})[0].profile
    again = Profile.from_json(profile.to_json())
    assert again == profile
    assert (again.cell_codes.tolist(), again.cell_table.tolist()) == (
        profile.cell_codes.tolist(),
        profile.cell_table.tolist(),
    )
    assert Profile.from_json(replace(profile, version=7).to_json()).version == 7


@drawn(200)
@given(
    st.dictionaries(
        st.none() | st.sampled_from(["9", "10", "-1", "0.5", "x", "2024-02-29", "0999-01-01"]),
        st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(any),
        min_size=1,
    ),
    st.sampled_from(["value", "frequency"]),
    st.sampled_from(["lowest", "highest"]),
)
def test_the_domain_of_what_is_left_is_that_of_a_table_of_it(rows, order, missing):
    if order == "value":
        rows = {
            value: n for value, n in rows.items() if value not in ("x", "2024-02-29", "0999-01-01")
        }
    left = {value: stay for value, (stay, _) in rows.items() if stay}
    if not left:
        return
    asked = {"distance": "ordered", "order": order, "missing": missing}
    whole = domain_of({value: stay + gone for value, (stay, gone) in rows.items()}, **asked)
    counts = np.array([left.get(value, 0) for value in whole.values])
    places = remaining_values(whole, counts, order)
    assert [whole.values[i] for i in places] == list(domain_of(left, **asked).values)
