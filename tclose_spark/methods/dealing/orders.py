"""Orders of the stack for several sensitive attributes (Gowda 2023, ch. 5, has one: by descending multiplicity).

Any order deals every tuple evenly. The order changes the cumulative counts of each attribute. They stay near their
ideal if neighbouring tuples in the stack are similar. The portfolio has serpentines, which take one attribute after
another up and down in turn, and blocks of the first attribute with the next one from end to end inside each block.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from tclose_spark.measures.distances.multiplicity import MultiplicityMatrix
from tclose_spark.methods.dealing.stacks import Stack, stack_by_frequency, stack_by_value

BLOCKS = (2, 4, 8, 16, 32, 64)
MOST_PERMUTED = 3  # attributes of which all orders are tried; of more, each of them first and each other one last
LARGE = 20_000  # cells from which on each order takes long: then each attribute is last once, in one number of blocks
BLOCKS_OF_LARGE = (8,)


def orders(matrix: MultiplicityMatrix, names: tuple[str, ...]) -> Iterator[tuple[str, Stack]]:
    """The portfolio of (name, stack), with the paper's order first. names: of the attributes."""
    yield "frequency", stack_by_frequency(matrix.counts)
    large = len(matrix.counts) > LARGE
    for lead in _each_last(len(names)) if large else _leads(len(names)):
        named = ", ".join(names[a] for a in lead)
        yield f"serpentine of {named}", serpentine(matrix, lead)
        for blocks in BLOCKS_OF_LARGE if large else BLOCKS:
            if len(lead) > 1 and blocks < matrix.domains[lead[0]]:
                yield (
                    f"{blocks} blocks of {names[lead[0]]}, serpentine of {', '.join(names[a] for a in lead[1:])}",
                    serpentine(matrix, lead, blocks),
                )
    if len(names) > 1:
        yield "value", stack_by_value(matrix.counts)


def _leads(attributes: int) -> list[tuple[int, ...]]:
    """Orders of the attributes: all of a few, otherwise each pair of a first and a last one."""
    if attributes <= MOST_PERMUTED:
        return list(permutations(range(attributes)))
    pairs = permutations(range(attributes), 2)
    return [(first, *(a for a in range(attributes) if a not in (first, last)), last) for first, last in pairs]


def _each_last(attributes: int) -> list[tuple[int, ...]]:
    return [(*(a for a in range(attributes) if a != last), last) for last in range(attributes)]


def serpentine(matrix: MultiplicityMatrix, lead: tuple[int, ...], blocks: int | None = None) -> Stack:
    """Tuples by the attributes of `lead`, each up and down in turn. With `blocks`, the first attribute is in blocks of
    even mass, and its values decide last

    >>> tuples = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> stack = serpentine(MultiplicityMatrix(tuples, np.ones(4, dtype=np.int64), (2, 2)), (0, 1))
    >>> tuples[stack.order].tolist()
    [[0, 0], [0, 1], [1, 1], [1, 0]]
    """
    digits = [matrix.codes[:, a] for a in lead]
    if blocks is not None:
        marginal = matrix.marginal(lead[0])
        block = (np.cumsum(marginal) - (marginal + 1) // 2) * blocks // matrix.rows
        digits = [np.maximum(block, 0)[digits[0]], *digits[1:], digits[0]]
    order = np.arange(len(matrix.counts))
    group = np.zeros(len(order), dtype=np.int64)  # of tuples alike in the digits so far, numbered along the stack
    for digit in digits:
        turned = np.where(group % 2 == 0, digit, -digit)
        order = np.lexsort((turned, group))
        new = np.append(True, (group[order][1:] != group[order][:-1]) | (digit[order][1:] != digit[order][:-1]))
        group[order] = np.cumsum(new) - 1
    return Stack(order, matrix.counts)
