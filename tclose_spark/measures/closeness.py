"""The measures on the records themselves: sequences of values in, one number out, for tables that
fit in memory.

A table is given by columns: one sequence of labels for each quasi-identifier, one of values for a
sensitive attribute, all of one length. A missing value is None, NaN, NaT or NA; they are all one
value, which equals itself.

    t-closeness       Li, Li and Venkatasubramanian 2007, section 4
    (n, t)-closeness  Li, Li and Venkatasubramanian 2010; Weber, 2.2.3
    l-diversity       Machanavajjhala et al. 2007; Li et al. 2007, section 2;
                      Liang and Yuan (frequency)
    beta-likeness     Cao and Karras 2012
    k-anonymity       Samarati; Sweeney 2002

Which distance between values is meant is said by three arguments alike in all functions here:

    distance   "equal", "ordered" or "hierarchical" (Li et al. 2007, section 5)
    order      of an ordered distance: "value", ascending; "frequency", the table's most frequent
               value first, ties by value; or all values of the domain in their order, also those
               that no record has
    hierarchy  of a hierarchical distance: its leaves are the domain
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from tclose_spark.measures import diversity, likeness
from tclose_spark.measures.distances.ground_distances import ground_distance, maximum
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.runfile.distances import DISTANCES
from tclose_spark.runfile.quantities import parse_number
from tclose_spark.runfile.text import one_of
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

Order: TypeAlias = Literal["value", "frequency"] | Sequence[Any]
Number: TypeAlias = Fraction | float | str
Column: TypeAlias = Sequence[Any]


def earth_movers_distance(
    part: Column,
    whole: Column,
    distance: str = "equal",
    order: Order = "value",
    hierarchy: Hierarchy | None = None,
) -> Fraction:
    """The distance of the distribution of the values `part` from that of `whole`, 0 to 1, exactly.

    Both are the values of records, in any order. The domain is what either has, and what `order` or
    `hierarchy` lists.

    >>> earth_movers_distance([3, 4, 5], range(3, 12), distance="ordered")  # salaries (Li et al. 2007, 5.1)
    Fraction(3, 8)

    Raises:
        ValueError: if one has no records, or the distance is not one over these values (see the
            module).
    """
    return _greatest_distance(
        [_values(part, "part")],
        _values(whole, "whole"),
        (),
        distance,
        order,
        hierarchy,
    )


def equivalence_classes(quasi_identifiers: Sequence[Column]) -> list[list[int]]:
    """The records with equal labels in every quasi-identifier: places 0, 1, ... ascending, classes
    by their first record.

    quasi_identifiers: a sequence of labels for each, all of one length.

    >>> equivalence_classes([["2*", "3*", "2*"], ["f", "f", "f"]])
    [[0, 2], [1]]

    Raises:
        ValueError: if there is no quasi-identifier, one has no labels, or they are not of one
            length.
    """
    columns: list[list[Any]] = []
    for number, labels in enumerate(quasi_identifiers, start=1):
        name = f"quasi-identifier {number}"
        if isinstance(labels, str):
            raise ValueError(
                f"the {name} is a text; expected a sequence with its label of each record",
            )
        columns.append(_values(labels, name))
        _require_length(columns[-1], columns[0], name, "the quasi-identifier 1")
    if not columns:
        raise ValueError("there is no quasi-identifier; expected a sequence of labels for each")
    records_of: dict[tuple[Any, ...], list[int]] = {}
    for record, label in enumerate(zip(*columns, strict=True)):
        records_of.setdefault(label, []).append(record)
    return list(records_of.values())


def k_anonymity(quasi_identifiers: Sequence[Column]) -> int:
    """The largest k for which the table is k-anonymous: the size of its smallest class.

    >>> k_anonymity([["2*", "2*", "3*", "3*", "3*"]])
    2

    Raises:
        ValueError: see `equivalence_classes`.
    """
    return min(map(len, equivalence_classes(quasi_identifiers)))


def t_closeness(
    quasi_identifiers: Sequence[Column],
    sensitive: Column,
    distance: str = "equal",
    order: Order = "value",
    hierarchy: Hierarchy | None = None,
    reference: Column | None = None,
) -> Fraction:
    """The smallest t for which the table has t-closeness: the largest distance of a class from the
    whole table, exactly.

    reference: the values of the records whose distribution stands for the whole table's; None:
        those of the table.

    >>> t_closeness([["2*", "2*", "3*", "3*"]], ["flu", "flu", "flu", "gout"])
    Fraction(1, 4)

    Raises:
        ValueError: see `equivalence_classes`; if `sensitive` or `reference` has no values or
            `sensitive` another length; or if the distance is not one over these values (see the
            module).
    """
    parts = _classes_of(quasi_identifiers, sensitive)
    whole = (
        [value for part in parts for value in part]
        if reference is None
        else _values(reference, "reference")
    )
    return _greatest_distance(parts, whole, (), distance, order, hierarchy)


def distinct_l(quasi_identifiers: Sequence[Column], sensitive: Column) -> int:
    """The largest l for which the table has distinct l-diversity: the fewest different values of a
    class. None is one.

    >>> distinct_l([["2*", "2*", "3*", "3*"]], ["flu", "flu", "flu", "gout"])
    1

    Raises:
        ValueError: see `equivalence_classes`; if `sensitive` has another length.
    """
    return int(diversity.distinct(_histograms_of(quasi_identifiers, sensitive)).min())


def entropy_l(quasi_identifiers: Sequence[Column], sensitive: Column) -> float:
    """The largest l for which the table has entropy l-diversity: exp of the least entropy of a
    class, at least 1.

    In doubles, to be read: `diversity.entropy_margins` decides.

    Raises:
        ValueError: see `equivalence_classes`; if `sensitive` has another length.
    """
    return float(diversity.entropy_l(_histograms_of(quasi_identifiers, sensitive)).min())


def recursive_cl(quasi_identifiers: Sequence[Column], sensitive: Column, c: Number, l: int) -> bool:  # noqa: E741
    """Whether every class has recursive (c, l)-diversity: r_1 < c (r_l + r_(l+1) + ... + r_m), r
    its descending counts.

    c: as written, so 0.1 is one tenth.

    Raises:
        ValueError: see `equivalence_classes`; if `sensitive` has another length, c is not above 0
            or l below 1.
    """
    ratio = _number(c, "c")
    if ratio <= 0:
        raise ValueError(f"c is {c}; expected a number above 0")
    if l < 1:
        raise ValueError(f"l is {l}; expected a whole number of at least 1")
    return bool(
        (
            diversity.recursive_margins(_histograms_of(quasi_identifiers, sensitive), ratio, l) > 0
        ).all(),
    )


def frequency_l(quasi_identifiers: Sequence[Column], sensitive: Column) -> Fraction:
    """The largest l for which no value has more than 1 / l of a class: one over the largest share
    of a value.

    >>> frequency_l([["2*", "2*", "3*", "3*", "3*"]], ["flu", "gout", "flu", "flu", "gout"])
    Fraction(3, 2)

    Raises:
        ValueError: see `equivalence_classes`; if `sensitive` has another length.
    """
    classes = _histograms_of(quasi_identifiers, sensitive)
    most = np.maximum.reduceat(classes.counts, classes.starts).tolist()
    return min(Fraction(*pair) for pair in zip(classes.sizes.tolist(), most, strict=True))


def beta_likeness(quasi_identifiers: Sequence[Column], sensitive: Column) -> Fraction:
    """The smallest beta for which no value is more than 1 + beta times as frequent in a class as in
    the table.

    >>> beta_likeness([["2*", "2*", "3*", "3*"]], ["flu", "gout", "flu", "flu"])
    Fraction(1, 1)

    Raises:
        ValueError: see `equivalence_classes`; if `sensitive` has another length.
    """
    classes = _histograms_of(quasi_identifiers, sensitive)
    rises = likeness.largest_rises(classes.total(int(classes.values.max()) + 1), classes)
    return max(Fraction(*pair) for pair in zip(*rises, strict=True))


def nt_close_superset(
    part: Column,
    supersets: Sequence[Column],
    n: int,
    t: Number,
    distance: str = "equal",
    order: Order = "value",
    hierarchy: Hierarchy | None = None,
) -> int | None:
    """The place of the first superset that makes a class (n, t)-close; None if none does. Compare
    the result with None, because the first place is 0.

    A superset does if it has at least n records and the class is at most t away from it. The caller
    decides which supersets are natural. With the whole table as the only one and n its size, this
    is t-closeness.

    part: the values of the class's records.
    supersets: the values of the records of each natural superset. The domain is what any of them
        has, and what `order` or `hierarchy` lists; frequencies are those of the superset.
    t: as written, so 0.1 is one tenth.

    Raises:
        ValueError: if one has no records, a superset does not hold the records of the class, n is
            below 1, t is not 0 or above, or the distance is not one over these values (see the
            module).
    """
    limit = _number(t, "t")
    if limit < 0:
        raise ValueError(f"t is {t}; expected a number of at least 0")
    if n < 1:
        raise ValueError(f"n is {n}; expected a whole number of at least 1")
    records = _values(part, "part")
    wholes = [_values(superset, f"superset {place}") for place, superset in enumerate(supersets)]
    for place, whole in enumerate(wholes):
        if Counter(records) - Counter(whole):
            raise ValueError(
                f"superset {place} does not hold all records of the part: it is no superset",
            )
    everywhere = {value for whole in wholes for value in whole}
    for place, whole in enumerate(wholes):
        far = _greatest_distance([records], whole, everywhere, distance, order, hierarchy)
        if len(whole) >= n and far <= limit:
            return place
    return None


def _greatest_distance(
    parts: Sequence[list[Any]],
    whole: list[Any],
    more: Iterable[Any],
    distance: str,
    order: Order,
    hierarchy: Hierarchy | None,
) -> Fraction:
    """The largest distance of the parts from the whole, over a domain that also has the values
    `more`.
    """
    frequencies = Counter(whole)
    for value in (*more, *(value for part in parts for value in part)):
        frequencies.setdefault(value, 0)
    domain = _domain(frequencies, distance, order, hierarchy)
    code_of = {value: code for code, value in enumerate(domain)}
    table = np.array([frequencies[value] for value in domain], dtype=np.int64)
    classes = _histograms(parts, code_of)
    texts = [None if value is None else str(value) for value in domain]
    ground = ground_distance(distance, table, texts, hierarchy)
    return maximum(ground, ground.numerators(classes), classes.sizes)


def _domain(
    frequencies: Counter[Any],
    distance: str,
    order: Order,
    hierarchy: Hierarchy | None,
) -> list[Any]:
    """The values in the order of their codes, those without records too.

    Raises:
        ValueError: if the distance is not known, its arguments do not fit it, or it is not one over
            these values.
    """
    if distance not in DISTANCES:
        raise ValueError(f"unknown distance {distance!r}; expected {one_of(DISTANCES)}")
    kind = DISTANCES[distance]
    if hierarchy is not None and not kind.nested:
        raise ValueError(f"a hierarchy is given, but the distance is {distance}")
    declared = not isinstance(order, str)
    if not kind.ordered and (declared or order != "value"):
        raise ValueError(f"an order is given, but the distance is {distance}")
    if kind.ordered:
        return _declared(frequencies, order) if declared else _ordered(frequencies, order)
    if kind.nested:
        if hierarchy is None:
            raise ValueError(f"a {distance} distance needs a hierarchy")
        _require_all(frequencies, hierarchy.leaf_set, "hierarchy")
        return list(hierarchy.leaves)
    return list(frequencies)


def _ordered(frequencies: Counter[Any], order: Any) -> list[Any]:
    """The values ascending, or the most frequent first and ties ascending."""
    if order not in ("value", "frequency"):
        raise ValueError(
            f"unknown order {order!r}; expected value, frequency or the values in their order",
        )
    if None in frequencies:
        raise ValueError(
            "a value is missing, which has no place in an order; leave it out, or list the values "
            "in their order",
        )
    try:
        values = sorted(frequencies)
    except TypeError as error:
        raise ValueError(f"the values do not compare ({error}); list them in their order") from None
    return values if order == "value" else sorted(values, key=lambda value: -frequencies[value])


def _declared(frequencies: Counter[Any], order: Iterable[Any]) -> list[Any]:
    """The values of a declared order."""
    values = _values(order, "order")
    twice = [value for value, times in Counter(values).items() if times > 1]
    if twice:
        raise ValueError(f"the order lists {twice[0]!r} twice")
    _require_all(frequencies, set(values), "order")
    return values


def _require_all(values: Iterable[Any], domain: Container[Any], whose: str) -> None:
    missing = {value for value in values if value not in domain}
    if missing:
        raise ValueError(f"the {whose} lacks {len(missing)} of the values")


def _classes_of(quasi_identifiers: Sequence[Column], sensitive: Column) -> list[list[Any]]:
    """The sensitive values of each class."""
    classes = equivalence_classes(quasi_identifiers)
    values = _values(sensitive, "sensitive attribute")
    _require_length(
        values,
        range(sum(map(len, classes))),
        "sensitive attribute",
        "the quasi-identifiers",
    )
    return [[values[record] for record in records] for records in classes]


def _histograms_of(quasi_identifiers: Sequence[Column], sensitive: Column) -> Histograms:
    """The histogram of each class over the values in the order in which they come."""
    parts = _classes_of(quasi_identifiers, sensitive)
    domain = dict.fromkeys(value for part in parts for value in part)
    return _histograms(parts, {value: code for code, value in enumerate(domain)})


def _histograms(parts: Sequence[list[Any]], code_of: dict[Any, int]) -> Histograms:
    codes = np.array([code_of[value] for part in parts for value in part], dtype=np.int64)
    owner = np.repeat(np.arange(len(parts), dtype=np.int64), [len(part) for part in parts])
    return Histograms.tally(
        owner,
        codes,
        np.ones(len(codes), dtype=np.int64),
        len(parts),
        len(code_of),
    )


def _values(column: Iterable[Any], whose: str) -> list[Any]:
    """The values of a column, a missing one as None.

    Raises:
        ValueError: if there are none.
    """
    values = list(column)
    if not values:
        raise ValueError(f"the {whose} has no values")
    return [None if _is_missing(value) else value for value in values]


def _is_missing(value: Any) -> bool:
    """Whether a value is None or does not equal itself: NaN, NaT, and pandas' NA, which has no
    truth.
    """
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def _require_length(values: Sequence[Any], other: Sequence[Any], name: str, than: str) -> None:
    if len(values) != len(other):
        raise ValueError(
            f"the {name} has {len(values)} values, {than} {len(other)}; expected one of each for "
            "every record",
        )


def _number(number: Number, name: str) -> Fraction:
    """The number as it is written, so 0.1 is one tenth."""
    try:
        return parse_number(str(number))
    except ValueError:
        raise ValueError(f"{name} is {number!r}; expected a number") from None
