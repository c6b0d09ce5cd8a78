"""Microaggregation by the papers' words, row by row: what kernels are held to."""

from __future__ import annotations

import numpy as np

from tclose_spark.kernels.widths import NUMBER, width
from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.holding import add_cell, closeness_ratio, holds, work_space


def distance(block: Block, a: int, b: int) -> float:
    """The sum of the widths of the labels that cover two rows."""
    total = 0.0
    for j in range(block.quasi.shape[1]):
        x, y = int(block.quasi[a, j]), int(block.quasi[b, j])
        total += width(j, min(x, y), max(x, y), block.widths)
    return total


def from_average(block: Block, left: list[int]) -> list[float]:
    """How far each row left is from their average."""
    far = [0.0] * len(left)
    for j in range(block.quasi.shape[1]):
        codes = block.quasi[left, j].tolist()
        counts = np.bincount(codes, minlength=int(block.widths.domains[j]))
        if block.widths.kinds[j] == NUMBER:
            place = block.widths.place[j]
            missing = bool(block.widths.missing[j])
            known = range(int(missing), len(counts))
            mean = sum((counts[c] * place[c] for c in known), 0.0) / max(
                sum(int(counts[c]) for c in known),
                1,
            )
            steps = [1.0 if missing and c == 0 else abs(place[c] - mean) for c in codes]
        else:
            most = int(np.argmax(counts))
            steps = [width(j, min(c, most), max(c, most), block.widths) for c in codes]
        far = [f + s for f, s in zip(far, steps, strict=True)]
    return far


def seeds_and_classes(block: Block, stop, choose) -> np.ndarray:
    """MDAV: from a seed the class that `choose(left by distance, distances)` takes, until
    `stop(left)`.
    """
    left, classes, number, seed_before = (
        list(range(len(block.cell))),
        np.full(len(block.cell), -1),
        0,
        None,
    )
    while not stop(left):
        far = (
            from_average(block, left)
            if seed_before is None
            else [distance(block, seed_before, i) for i in left]
        )
        seed = left[int(np.argmax(far))]
        near = {i: distance(block, seed, i) for i in left}
        chosen = choose(sorted(left, key=lambda i: (near[i], i)), len(left))
        classes[chosen] = number
        left = [i for i in left if i not in set(chosen)]
        number, seed_before = number + 1, seed if number % 2 == 0 else None
    classes[left] = number
    return classes


def mdav(block: Block) -> np.ndarray:
    k = block.requirement.k
    return seeds_and_classes(block, lambda left: len(left) < 2 * k, lambda near, _: near[:k])


def refined(block: Block) -> np.ndarray:
    """Algorithm 2, each row outside looked at in turn."""
    k, requirement = block.requirement.k, block.requirement

    def counts_of(rows: list[int]) -> np.ndarray:
        counts = np.zeros(requirement.tables.shape, dtype=np.int64)
        for row in rows:
            add_cell(counts, block.cell[row], 1, requirement)
        return counts

    def ratio(rows: list[int]) -> float:
        return closeness_ratio(counts_of(rows), k, requirement, work_space(requirement))

    def choose(near: list[int], _: int) -> list[int]:
        members, outside = near[:k], near[k:]
        while outside and not holds(counts_of(members), k, requirement, work_space(requirement)):
            row = outside.pop(0)
            swapped = [[*members[:i], row, *members[i + 1 :]] for i in range(k)]
            best = min(swapped, key=ratio)
            if ratio(best) < ratio(members):
                members = best
        return members

    return seeds_and_classes(block, lambda left: len(left) < 2 * k, choose)


def of_buckets(block: Block, bucket: np.ndarray, classes: int) -> np.ndarray:
    """Algorithm 3."""
    held, made = np.bincount(bucket), 0

    def choose(near: list[int], _: int) -> list[int]:
        nonlocal made
        chosen: list[int] = []
        for b in range(len(held)):
            many = 2 if held[b] > classes - made else 1
            chosen += [i for i in near if bucket[i] == b][:many]
            held[b] -= many
        made += 1
        return chosen

    return seeds_and_classes(block, lambda left: not left, choose)


def clusters(problem, cell: np.ndarray, size: int) -> tuple[list[int], int]:
    """Clusters of equal size, row by row: (the cluster of each row, the number of classes).
    Diseases are as far apart as the height of their lowest common ancestor of three, and grades as
    their places.
    """
    attributes, paths = (
        problem.attributes,
        {path[0]: path for path in problem.hierarchies["disease"].paths},
    )
    disease, grade = problem.profile.sensitive
    most = len(grade.values) - 1

    def far(a: int, b: int) -> float:
        x, y = attributes.cells[a].tolist(), attributes.cells[b].tolist()
        ways = [paths[disease.values[c]] for c in (x[0], y[0])]
        height = next(h for h, (up, other) in enumerate(zip(*ways, strict=True)) if up == other)
        return (height / 3) ** 2 + ((x[1] - y[1]) / most) ** 2

    left = sorted(range(len(cell)), key=lambda i: (cell[i], i))
    classes = max(len(cell) // size, 1)
    buckets, bucket = len(cell) // classes, [-1] * len(cell)
    rows = np.bincount(cell)
    seed = int(rows.argmax())
    for b in range(buckets):
        room = classes + (len(cell) - buckets * classes if b == buckets // 2 else 0)
        seed = int(cell[max(left, key=lambda i: far(int(cell[i]), seed))])
        near = sorted(left, key=lambda i: far(int(cell[i]), seed))[:room]
        for i in near:
            bucket[i] = b
        left = [i for i in left if i not in set(near)]
    return bucket, classes
