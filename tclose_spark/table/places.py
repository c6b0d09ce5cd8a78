"""The places of a numeric ordered attribute: bins of equal width, or equal steps. Some may have no
row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose_spark.errors import InputError
from tclose_spark.runfile.attributes import MOST_PLACES, EvenPlaces
from tclose_spark.runfile.quantities import parse_number
from tclose_spark.table.arrays import IntArray


@dataclass(frozen=True)
class Places:
    """of_value: the place of each value of a domain in order, ascending from 0, shape (m,).

    ends: of the places, ascending: place i of the numbers is from ends[i] to below ends[i + 1], the
        last one to the end itself if it is a bin. Missing values have a place of their own, before
        or after them.
    """

    of_value: IntArray
    ends: tuple[Fraction, ...]

    @property
    def size(self) -> int:
        """How many places there are. The first and the last one have rows."""
        return int(self.of_value[-1]) + 1

    def counts(self, table: IntArray) -> IntArray:
        """Rows of each place, shape (size,). table: by value, shape (m,)."""
        counts = np.zeros(self.size, dtype=np.int64)
        np.add.at(counts, self.of_value, table)
        return counts


def places_of(name: str, values: Sequence[str | None], settings: EvenPlaces) -> Places:
    """The places of an attribute's values, which are in order.

    >>> places = places_of("pay", ["0", "1", "4", "5", "9", "10"], EvenPlaces(equal_width=5))
    >>> places.of_value.tolist(), [str(end) for end in places.ends]
    ([0, 0, 2, 2, 4, 4], ['0', '2', '4', '6', '8', '10'])
    >>> places_of("pay", ["3", "4", "7"], EvenPlaces(step=1)).of_value.tolist()
    [0, 1, 4]

    Raises:
        InputError: if values are no numbers, or there are too many places.
    """
    known = [value for value in values if value is not None]
    key = f"attributes.sensitive_attributes.{name}.domain"
    try:
        numbers = [parse_number(value) for value in known]
    except ValueError:
        raise InputError(f"{key}: the values are no numbers; leave it out") from None
    if not numbers:
        return Places(np.zeros(len(values), dtype=np.int64), ())
    low = numbers[0]
    width = numbers[-1] - numbers[0]
    if settings.step is not None:
        last = width // settings.step
        if last >= MOST_PLACES:
            raise InputError(
                f"{key}.step: the range of the values has {last + 1:,} places of this width; "
                f"expected a larger step, for at most {MOST_PLACES:,}"
            )
        inside = [int((number - low) // settings.step) for number in numbers]
        ends = [low + i * settings.step for i in range(last + 2)]
    else:
        bins = settings.equal_width if width else 1
        assert bins is not None
        inside = [
            min(int((number - low) * bins // width), bins - 1) if width else 0 for number in numbers
        ]
        ends = [low + i * width / bins for i in range(bins + 1)]
    before = [0] if values[0] is None else []
    after = [inside[-1] + 1] if values[-1] is None else []
    of_value = [*before, *(place + len(before) for place in inside), *after]
    return Places(np.array(of_value, dtype=np.int64), tuple(ends))
