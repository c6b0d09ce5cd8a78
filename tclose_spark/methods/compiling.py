"""Compiles the kernels of all methods, by using each method on a few synthetic records.

A kernel is compiled for the types of its arrays. These do not depend on the table or the settings,
so a few records stand for every release.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numba.core import event

from tclose_spark.errors import ConfigurationError
from tclose_spark.kernels.canary import stores_are_compiled
from tclose_spark.kernels.progress import CompiledKernels
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import PlanningInput, method_of
from tclose_spark.runfile.attributes import Attributes
from tclose_spark.runfile.registry import read_settings
from tclose_spark.table.domains import Profile, QuasiDomain, categorical_domain, sensitive_domain
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.rows import Rows

RECORDS = 240
K = 3
TREE = Hierarchy.build(
    [("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*")],
    "letters",
)
ORDERED = {"distance": "ordered", "t": "0.5"}
SENSITIVE: Mapping[str, Mapping[str, Any]] = {
    "number": ORDERED,
    "word": {"t": "0.5"},
    "letter": {"distance": "hierarchical", "hierarchy": "letters.csv", "t": "0.5"},
}
METHODS: tuple[Mapping[str, Any], ...] = (
    {"name": "closeness_tree", "effort": "balanced"},
    {"name": "stack_and_deal"},
    {"name": "stack_and_deal", "deal": "layered"},
    {"name": "fragmentation", "sizing": "measured"},
    {"name": "microaggregation", "algorithm": 1},
    {"name": "microaggregation", "algorithm": 2},
    {"name": "microaggregation", "algorithm": 3},
    {"name": "sabre"},
    {"name": "t_mondrian"},
    {"name": "closeness_tree", "overlap": "none"},
)


def compile_kernels(say: Callable[[str], None]) -> int:
    """How many kernels were compiled because the cache lacked them; `say` takes a line after each
    method.

    Raises:
        ConfigurationError: if this version of numba compiles kernels incorrectly.
    """
    with event.install_listener("numba:compile", CompiledKernels()) as compiled:
        if not stores_are_compiled():
            raise ConfigurationError(
                f"numba {numba.__version__} compiles kernels incorrectly: stores into arrays of a "
                "structure were lost; install a version of numba that requirements/ lists",
            )
        for number, method in enumerate(METHODS, 1):
            _use(method)
            say(
                f"compile    {number} of {len(METHODS)}: {method['name']}, kernels compiled so "
                f"far: {compiled.kernels}",
            )
    return int(compiled.kernels)


def _use(method: Mapping[str, Any]) -> None:
    """Plans a release of the synthetic records and carries out every task."""
    settings = read_settings(method)
    attributes = Attributes.model_validate(
        {
            "quasi_identifiers": {
                "size": {"type": "numeric"},
                "letters": {"hierarchy": "letters.csv"},
            },
            "sensitive_attributes": SENSITIVE,
        },
    )
    draw = np.random.default_rng(1)
    codes = draw.integers(0, 4, (RECORDS, len(SENSITIVE)))
    cells, cell, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    sensitive = []
    for column, (name, attribute) in zip(
        codes.T,
        attributes.sensitive_attributes.items(),
        strict=True,
    ):
        values: Counter[str | None] = Counter(
            "1234"[v] if name == "number" else "abcd"[v] for v in column
        )
        tree = TREE if name == "letter" else None
        sensitive.append(sensitive_domain(name, values, attribute, tree, is_text=name != "number"))
    quasi = draw.integers(0, 4, (2, RECORDS))
    profile = Profile(
        rows=RECORDS,
        quasi=(
            QuasiDomain(name="size", kind="integer", missing=0, low=0, high=3),
            categorical_domain("letters", Counter("abcd"[v] for v in quasi[1]), TREE),
        ),
        sensitive=tuple(sensitive),
        cells=tuple(tuple(c) for c in cells.tolist()),
        cell_counts=tuple(counts.tolist()),
        distinct_rows=RECORDS,
        fingerprint="",
        version=None,
        repeated=(),
    )
    rows = Rows(tuple(quasi), cell.reshape(-1), draw.integers(0, 2**63, RECORDS).astype(np.uint64))
    given = PlanningInput(
        attributes=ResolvedAttributes.of(attributes, profile, {"letters": TREE, "letter": TREE}),
        k=K,
        settings=settings,
        sample=rows.take(rows.sorted_by_hash()),
        counts=lambda group_of, groups: np.bincount(group_of(rows), minlength=groups),
    )
    plan = method_of(settings).make_plan(given)
    row, task = plan.route(rows)
    for number in range(plan.tasks):
        plan.assign_classes(rows.take(row[task == number]), number)
