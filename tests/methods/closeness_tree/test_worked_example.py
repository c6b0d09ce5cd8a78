"""The worked example of docs/methods/closeness_tree.md: twenty people of two zips."""

from __future__ import annotations

import numpy as np
import pytest
from strategies import make_problem

from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.closeness_tree.carve.tree import grow
from tclose_spark.methods.closeness_tree.classes import put_into_classes
from tclose_spark.methods.closeness_tree.effort import FAST_BLOCK, GROWTHS

Held = set[tuple[tuple[str, ...], int, int]]


@pytest.fixture
def block() -> Block:
    records = [
        {"zip": z, "disease": d}
        for z, flu in (("A", 6), ("B", 2))
        for d in ["flu"] * flu + ["gout"] * (10 - flu)
    ]
    problem, _ = make_problem(
        records,
        {"disease": {"t": "0.1"}},
        {"zip": {"generalization": "set"}},
        k=5,
    )
    return Dense(problem.attributes, problem.spec.privacy.k).block(problem.sample)[0]


def held(block: Block, classes: np.ndarray) -> Held:
    """(zips, people with flu, people with gout) of each class."""
    disease = block.requirement.codes[block.cell, 0]
    found = set()
    for number in range(int(classes.max()) + 1):
        here = classes == number
        zips = tuple("AB"[code] for code in np.unique(block.quasi[here, 0]))
        found.add((zips, *np.bincount(disease[here], minlength=2).tolist()))
    return found


def test_the_tree_carves_where_a_split_would_break_t(block: Block) -> None:
    assert held(block, grow(block).leaf) == {(("A",), 3, 4), (("B",), 2, 3), (("A", "B"), 3, 5)}


def test_the_exchange_moves_rows_to_classes_that_cover_them(block: Block) -> None:
    classes, _ = put_into_classes(block, GROWTHS[0], FAST_BLOCK)
    assert held(block, classes) == {(("A",), 4, 4), (("B",), 2, 4), (("A", "B"), 2, 4)}
    disease, wide = (
        block.requirement.codes[block.cell, 0],
        np.isin(classes, _of_both(block, classes)),
    )
    assert disease[wide & (block.quasi[:, 0] == 0)].tolist() == [
        0,
        0,
    ]  # the people of A who are left: flu, both


def _of_both(block: Block, classes: np.ndarray) -> list[int]:
    return [
        c
        for c in range(int(classes.max()) + 1)
        if len(np.unique(block.quasi[classes == c, 0])) == 2
    ]
