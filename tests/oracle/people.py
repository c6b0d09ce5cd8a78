"""A judge of people in classes with code of its own: Python and fractions, from the release and the
raw people.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from oracle.distances import distance, shares

Row = Mapping[str, Any]


@dataclass(frozen=True)
class PeopleFound:
    """people: of the smallest class. in_several: people with rows in several classes. emd: over
    people, of the farthest class. distinct: the fewest values that people of a class have, one row
    each.
    """

    people: int
    most_rows: int
    smallest: int
    in_several: int
    emd: dict[str, Fraction]
    distinct: dict[str, int]


def judge_people(
    rows: Sequence[Row],
    person: Mapping[Any, str],
    key: str,
    quasi: Sequence[str],
    sensitive: Mapping[str, Any],
) -> PeopleFound:
    """rows: of the release. person: by the value of the column `key`. sensitive: by column equal,
    the values in order, or the paths of a hierarchy.
    """
    times = Counter(person[row[key]] for row in rows)
    classes: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        classes[tuple(row[name] for name in quasi)].append(row)
    places: dict[str, set[Any]] = defaultdict(set)
    for labels, members in classes.items():
        for row in members:
            places[person[row[key]]].add(labels)

    def weights(members: Sequence[Row], name: str) -> dict[Any, Fraction]:
        found: dict[Any, Fraction] = defaultdict(Fraction)
        for row in members:
            found[row[name]] += Fraction(1, times[person[row[key]]])
        return shares(found)

    def values(members: Sequence[Row], name: str) -> int:
        first: dict[str, Any] = {}
        for row in members:
            texts = tuple((row[one] is not None, str(row[one])) for one in sensitive)
            who = person[row[key]]
            if who not in first or texts < first[who][0]:
                first[who] = (texts, row[name])
        return len({value for _, value in first.values()})

    return PeopleFound(
        people=len(times),
        most_rows=max(times.values()),
        smallest=min(len({person[row[key]] for row in members}) for members in classes.values()),
        in_several=sum(len(found) > 1 for found in places.values()),
        emd={
            name: max(
                distance(weights(members, name), weights(rows, name), kind)
                for members in classes.values()
            )
            for name, kind in sensitive.items()
        },
        distinct={
            name: min(values(members, name) for members in classes.values()) for name in sensitive
        },
    )
