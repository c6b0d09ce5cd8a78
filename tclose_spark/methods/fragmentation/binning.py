"""The bins that a run file sets for an ordered attribute."""

from __future__ import annotations

import numpy as np

from tclose_spark.errors import InputError
from tclose_spark.measures.distances.bins import by_edges, equal_mass, equal_width
from tclose_spark.runfile.attributes import Bins
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.domains import SensitiveDomain, number


def bin_of(domain: SensitiveDomain, bins: Bins) -> IntArray:
    """The bin of each value of an ordered attribute, shape (m,). Missing values have a bin of their own.

    Raises:
        InputError: if bins by width or by edges are set for values that are not numbers.
    """
    known = [i for i, value in enumerate(domain.values) if value is not None]
    if not known:
        return np.zeros(len(domain.values), dtype=np.int64)
    numbers = [parsed for i in known if (parsed := number(str(domain.values[i]))) is not None]
    if len(numbers) < len(known) and bins.equal_mass is None:
        raise InputError(
            f"attributes.sensitive_attributes.{domain.name}.bins: the values are no numbers; use equal_mass, or leave "
            "bins out"
        )
    if bins.equal_mass is not None:
        inside = equal_mass(domain.table[known], bins.equal_mass)
    elif bins.equal_width is not None:
        inside = equal_width(numbers, bins.equal_width)
    else:
        inside = by_edges(numbers, bins.edges or ())
    bin_numbers = np.zeros(len(domain.values), dtype=np.int64)
    bin_numbers[known] = inside + known[0]  # missing ones are the lowest or the highest
    if known[-1] + 1 < len(bin_numbers):
        bin_numbers[-1] = bin_numbers[-2] + 1
    return bin_numbers
