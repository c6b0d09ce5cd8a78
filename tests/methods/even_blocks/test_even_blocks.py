"""Blocks that all have the table's distribution, and merging until every class holds."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import content, count_in, drawn, make_problem, people, town

from requirements import check_classes
from tclose_spark.errors import UnreachableError
from tclose_spark.kernels.widths import width
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods import even_blocks as layout
from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.dealing.numbering import NumberingModel
from tclose_spark.methods.even_blocks import EvenBlocks, merge_until_all_hold, plan_even_blocks

FIGURES = {"rows": "sum"}


def one_class(block: Block) -> tuple[np.ndarray, dict[str, float]]:
    return np.zeros(len(block.cell), dtype=np.int64), {"rows": len(block.cell)}


def put_into_blocks(blocks: EvenBlocks, rows):
    """The rows with their blocks, as tasks have them."""
    row, task = blocks.route(rows)
    settled = [
        (
            row[task == number],
            blocks.assign_classes(rows.take(row[task == number]), number, one_class, FIGURES),
        )
        for number in range(blocks.tasks)
    ]
    here = np.concatenate([sent[s.here] for sent, s in settled])
    classes = np.concatenate([s.classes for _, s in settled])
    assert content(rows.take(here)) == content(rows)
    return rows.take(here), np.unique(classes, return_inverse=True)[1]


def test_every_block_has_its_share_of_every_cell():
    problem, rows = make_problem(town(900), {"disease": {"t": "0.1"}, "grade": {"t": "0.1"}}, k=5)
    blocks = plan_even_blocks(problem.given(count_in(rows)), 200, 300)
    assert blocks.blocks == 5
    assert blocks.tasks == 3
    there, block = put_into_blocks(blocks, rows)
    assert sorted(np.bincount(block)) == sorted(blocks.block_rows)
    by_hash = [there.hash[block == b] for b in range(5)]
    assert all(
        np.all(hashes[1:] >= hashes[:-1]) for hashes in by_hash
    )  # nothing else orders what is free
    held = np.zeros((5, len(problem.attributes.cells)), dtype=np.int64)
    np.add.at(held, (block, there.cell), 1)
    shares = problem.attributes.cell_rows / 5
    assert np.all((held == np.floor(shares)) | (held == np.ceil(shares)))
    check_classes(problem, there, block)
    kept = NumberingModel.model_validate(
        json.loads(json.dumps(blocks.numbering.model.model_dump())),
    )
    again = EvenBlocks.of_model(kept, problem.attributes, 5)
    assert put_into_blocks(again, rows)[1].tolist() == block.tolist()


def test_near_rows_are_in_one_block():
    problem, rows = make_problem(town(2000), {"disease": {"t": "0.1"}}, k=5)
    blocks = plan_even_blocks(problem.given(count_in(rows)), 200, 300)
    there, block = put_into_blocks(blocks, rows)
    inside = [
        np.mean([np.var(codes[block == b]) for b in range(10)]) / np.var(codes)
        for codes in there.quasi
    ]
    assert min(inside) < 0.3  # cities, in whose order blocks are


def test_fewer_blocks_where_more_would_not_hold(monkeypatch):
    problem, rows = make_problem(town(300), {"disease": {"t": "0.001"}}, k=5)
    blocks = plan_even_blocks(problem.given(count_in(rows)), 20, 300)
    assert blocks.blocks < 15
    check_classes(problem, *put_into_blocks(blocks, rows))
    monkeypatch.setattr(layout, "MOST_ROWS", 50)
    with pytest.raises(
        UnreachableError,
        match=r"hold in blocks of [0-9]+ rows and more only.*at most 50;",
    ):
        plan_even_blocks(problem.given(count_in(rows)), 20, 300)


def test_a_block_has_k_rows_and_distinct_values():
    problem, rows = make_problem(town(60), {"disease": {"l": {"distinct": 4}}}, k=25)
    blocks = plan_even_blocks(problem.given(count_in(rows)), 2, 300)
    assert blocks.blocks == 1
    rare = town(64, seed=5)
    rare = [
        {**r, "disease": "flu" if i >= 4 else ["gout", "mumps", "ulcer", "gout"][i]}
        for i, r in enumerate(rare)
    ]
    problem, rows = make_problem(rare, {"disease": {"l": {"distinct": 2}}}, k=2)
    assert (
        plan_even_blocks(problem.given(count_in(rows)), 8, 300).blocks <= 4
    )  # four rows are not flu


def naive_merge(problem, block: Block, classes: list[int]) -> list[list[int]]:
    """Merging by its definition: the worst class that does not hold joins the one with which it
    loses least.
    """
    groups = {c: [i for i, d in enumerate(classes) if d == c] for c in sorted(set(classes))}
    dense, spec = Dense(problem.attributes, problem.spec.privacy.k), problem.attributes.sensitive

    def ratio(rows: list[int]) -> Fraction:
        worst = Fraction(0)
        for a in spec:
            if a.t is not None:
                counts = np.bincount(
                    problem.attributes.cells[block.cell[rows], a.column],
                    minlength=len(a.domain.values),
                )
                numerator = int(a.distance.numerators(Histograms.dense(counts[None, :]))[0])
                limit = int(a.t * a.distance.scale * len(block.cell) * len(rows))
                worst = max(
                    worst,
                    Fraction(numerator, limit) if limit else Fraction(10**9 if numerator else 0),
                )
        return worst

    def holds(rows: list[int]) -> bool:
        return dense.holds(np.bincount(block.cell[rows], minlength=len(problem.attributes.cells)))

    def lost(rows: list[int]) -> float:
        ends = block.quasi[rows]
        return len(rows) * sum(
            width(j, int(ends[:, j].min()), int(ends[:, j].max()), block.widths)
            for j in range(ends.shape[1])
        )

    while len(groups) > 1 and not all(map(holds, groups.values())):
        worst = max(
            (c for c in groups if not holds(groups[c])),
            key=lambda c: (ratio(groups[c]), -c),
        )
        near = min(
            (c for c in groups if c != worst),
            key=lambda c: (round(lost(groups[worst] + groups[c]) - lost(groups[c]), 9), c),
        )
        groups[min(worst, near)] = groups[worst] + groups[near]
        del groups[max(worst, near)]
    return sorted(sorted(rows) for rows in groups.values())


@drawn(40)
@given(
    people(least=8),
    st.sampled_from(
        [
            {"disease": {"t": "0.3"}},
            {
                "disease": {"t": "0.4", "l": {"distinct": 2}},
                "grade": {"distance": "ordered", "t": "0.25"},
            },
            {"grade": {"distance": "ordered"}},
        ],
    ),
    st.integers(2, 4),
    st.data(),
)
def test_merging_is_as_defined(records, sensitive, k, data):
    problem, rows = make_problem(records, sensitive, k=k)
    dense = Dense(problem.attributes, k)
    if not dense.holds(problem.attributes.cell_rows):
        return
    block, _ = dense.block(rows)
    drawn_classes = data.draw(st.lists(st.integers(0, 7), min_size=len(rows), max_size=len(rows)))
    _, classes = np.unique(drawn_classes, return_inverse=True)
    merged, gone = merge_until_all_hold(block, classes)
    check_classes(problem, rows, merged)
    assert gone == classes.max() - merged.max()
    found = sorted(np.flatnonzero(merged == c).tolist() for c in range(int(merged.max()) + 1))
    expected = naive_merge(problem, block, classes.tolist())
    assert len(found) == len(expected)
    assert {tuple(g) for g in found} == {tuple(g) for g in expected}
