"""Tables, trees and runs that several tests share: drawn by Hypothesis, or built from a few
records. No Spark.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import GroupCounts, Plan, PlanningInput
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.domains import Profile, QuasiDomain, categorical_domain, sensitive_domain
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.rows import Codec, Rows

Record = Mapping[str, Any]

CITIES = Hierarchy.build(
    [
        ("Pisa", "Tuscany", "Italy", "*"),
        ("Siena", "Tuscany", "Italy", "*"),
        ("Bari", "Apulia", "Italy", "*"),
        ("Lyon", "Rhone", "France", "*"),
        ("Nice", "Riviera", "France", "*"),
    ],
    "cities",
)


LI_FIGURE_1 = Hierarchy.build(
    [
        ("flu", "respiratory infection", "respiratory", "*"),
        ("pneumonia", "respiratory infection", "respiratory", "*"),
        ("bronchitis", "respiratory infection", "respiratory", "*"),
        ("pulmonary edema", "vascular lung", "respiratory", "*"),
        ("pulmonary embolism", "vascular lung", "respiratory", "*"),
        ("gastric ulcer", "stomach", "digestive", "*"),
        ("stomach cancer", "stomach", "digestive", "*"),
        ("gastritis", "stomach", "digestive", "*"),
        ("colitis", "colon", "digestive", "*"),
        ("colon cancer", "colon", "digestive", "*"),
    ],
    "diseases",
)
"""Li et al. 2007, Figure 1: the hierarchy of diseases."""


QUICK = "TCLOSE_TESTS_QUICK" in os.environ
"""Whether `make test` runs the tests."""


settings.register_profile("any machine", parent=settings.default, deadline=None)
settings.load_profile("any machine")  # a slow machine must not fail a test


def drawn(examples: int, quick: int | None = None) -> Callable[[Any], Any]:
    """Decorates a drawn test: so many examples, however many draws do not fit.

    quick: as many in `make test`, where all take seconds. `make test-more` draws all.
    """
    number = quick if QUICK and quick else examples
    of_test = settings(
        max_examples=number,
        suppress_health_check=[HealthCheck.filter_too_much],
    )
    return of_test if QUICK or quick is None else lambda test: pytest.mark.more(of_test(test))


@st.composite
def count_tables(draw: st.DrawFn, classes: int = 6, values: int = 8, most: int = 6) -> IntArray:
    """Counts of each class (a row) by value (a column). Every class has records; a value may be in
    no class.
    """
    m = draw(st.integers(1, values))
    counts = st.lists(st.integers(0, most), min_size=m, max_size=m).filter(any)
    return np.array(draw(st.lists(counts, min_size=1, max_size=classes)), dtype=np.int64)


@st.composite
def tree_rows(draw: st.DrawFn, leaves: int = 8, height: int = 3) -> list[tuple[str, ...]]:
    """Leaf-to-root paths of a drawn tree with all leaves at one depth, in any order."""
    paths = [(f"v{i}",) for i in range(draw(st.integers(1, leaves)))]
    for level in range(1, draw(st.integers(1, height))):
        below = sorted({path[-1] for path in paths})
        parents = draw(
            st.lists(st.integers(0, len(below) - 1), min_size=len(below), max_size=len(below)),
        )
        above = {label: f"{level}:{parent}" for label, parent in zip(below, parents, strict=True)}
        paths = [(*path, above[path[-1]]) for path in paths]
    return draw(st.permutations([(*path, "*") for path in paths]))


def trees(leaves: int = 8, height: int = 3) -> st.SearchStrategy[Hierarchy]:
    """Drawn hierarchies."""
    return tree_rows(leaves, height).map(lambda rows: Hierarchy.build(rows, "tree"))


@dataclass(frozen=True)
class Problem:
    """A run file, the profile of a table, and a sample of its rows."""

    spec: ReleaseSpec
    profile: Profile
    hierarchies: Mapping[str, Hierarchy]
    sample: Rows

    @property
    def attributes(self) -> ResolvedAttributes:
        """As methods see them."""
        return ResolvedAttributes.of(
            self.spec.attributes,
            self.profile,
            self.hierarchies,
            self.spec.privacy.n,
        )

    def given(
        self,
        counts: GroupCounts = lambda group_of, groups: np.zeros(groups, dtype=np.int64),
        log: Callable[[str], None] = lambda _: None,
    ) -> PlanningInput:
        """What its method plans from."""
        return PlanningInput(
            attributes=self.attributes,
            k=self.spec.privacy.k,
            settings=self.spec.method,
            sample=self.sample,
            counts=counts,
            log=log,
        )


@st.composite
def people(draw: st.DrawFn, least: int = 4, most: int = 40) -> list[Record]:
    """Records with a number, two categories (one with the hierarchy CITIES), a disease and a grade;
    quasi-identifiers may be missing.
    """
    one = st.fixed_dictionaries(
        {
            "age": st.none() | st.integers(20, 50),
            "sex": st.sampled_from(["female", "male", None]),
            "city": st.none() | st.sampled_from(CITIES.leaves),
            "disease": st.sampled_from(["flu", "gout", "mumps", "ulcer"]),
            "grade": st.integers(1, 5),
        },
    )
    return draw(st.lists(one, min_size=least, max_size=most))


def town(n: int, seed: int = 3) -> list[Record]:
    """People whose disease follows from their age and city: hard to hide."""
    draw = np.random.default_rng(seed)
    ages, cities = draw.integers(20, 80, n), draw.integers(0, 5, n)
    diseases = np.where(draw.random(n) < 0.6, (ages // 20 + cities) % 4, draw.integers(0, 4, n))
    names = ["flu", "gout", "mumps", "ulcer"]
    return [
        {
            "age": int(a),
            "sex": "f" if a % 2 else "m",
            "city": CITIES.leaves[c],
            "disease": names[d],
            "grade": int(a % 5) + 1,
        }
        for a, c, d in zip(ages, cities, diseases, strict=True)
    ]


QUASI: dict[str, dict[str, Any]] = {
    "age": {"type": "numeric"},
    "sex": {},
    "city": {"hierarchy": "cities.csv"},
}


def make_problem(
    records: Sequence[Record],
    sensitive: Mapping[str, Mapping[str, Any]],
    quasi: Mapping[str, Mapping[str, Any]] = QUASI,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    k: int = 2,
    **method: str,
) -> tuple[Problem, Rows]:
    """The problem that a run over these records has, and the records as codes. Their hashes are of
    their content.
    """
    spec = ReleaseSpec.model_validate(
        {
            "name": "people",
            "input": {"path": "people.csv"},
            "output": {"path": "build"},
            "attributes": {
                "quasi_identifiers": dict(quasi),
                "sensitive_attributes": {
                    n: {**asked, "t": asked.get("t") or "measure"} for n, asked in sensitive.items()
                },
            },
            "privacy": {"k": k},
            "method": {"name": "stack_and_deal", **method},
        },
    )
    trees = {"city": CITIES} if hierarchies is None else hierarchies
    profile = make_profile(records, spec, trees)
    codec = Codec.of(profile)
    digests = [
        hashlib.blake2b(repr(sorted(record.items())).encode(), digest_size=8).digest()
        for record in records
    ]
    hashes = np.frombuffer(b"".join(digests), dtype=np.uint64)
    kinds = {"integer": pa.int64(), "double": pa.float64(), "category": pa.string()}
    columns = [pa.array([r[d.name] for r in records], kinds[d.kind]) for d in profile.quasi]
    texts = [
        pa.array([as_text(r[d.name]) for r in records], pa.string()) for d in profile.sensitive
    ]
    rows = codec.encode(columns, texts, hashes)
    used = {name: tree for name, tree in trees.items() if name in quasi or name in sensitive}
    return Problem(spec, profile, used, rows.take(rows.sorted_by_hash())), rows


def make_profile(
    records: Sequence[Record],
    spec: ReleaseSpec,
    hierarchies: Mapping[str, Hierarchy],
) -> Profile:
    """The profile of records: numbers are int or float, categories are texts."""
    domains = []
    for name, asked in spec.attributes.quasi_identifiers.items():
        values = [record[name] for record in records]
        if asked.is_numeric:
            known = [value for value in values if value is not None] or [0]
            kind = "double" if any(isinstance(value, float) for value in known) else "integer"
            domains.append(
                QuasiDomain(
                    name=name,
                    kind=kind,
                    missing=values.count(None),
                    low=min(known),
                    high=max(known),
                    calendar=asked.calendar,
                ),
            )
        else:
            domains.append(categorical_domain(name, Counter(values), hierarchies.get(name)))
    sensitive = []
    for name, attribute in spec.attributes.sensitive_attributes.items():
        is_text = any(isinstance(record[name], str) for record in records)
        counts = Counter(as_text(record[name]) for record in records)
        sensitive.append(sensitive_domain(name, counts, attribute, hierarchies.get(name), is_text))
    cells = Counter(
        tuple(d.values.index(as_text(record[d.name])) for d in sensitive) for record in records
    )
    tuples, tuple_counts = zip(*sorted(cells.items()), strict=True)
    return Profile(
        rows=len(records),
        quasi=tuple(domains),
        sensitive=tuple(sensitive),
        cells=tuples,
        cell_counts=tuple_counts,
        distinct_rows=len(records),
        fingerprint="",
        version=None,
        repeated=(),
    )


def as_text(value: Any) -> str | None:
    """A sensitive value as the profile has it."""
    return None if value is None else str(value)


def count_in(rows: Rows) -> Any:
    """What answers a method's question for group counts, from these rows."""
    return lambda group_of, groups: np.bincount(group_of(rows), minlength=groups)


def content(rows: Rows, *more: IntArray) -> list[tuple[int, ...]]:
    """All that a row has, with `more`, sorted: rows that are alike cannot be told apart."""
    return sorted(
        zip(*[codes.tolist() for codes in (*rows.quasi, rows.cell, rows.hash, *more)], strict=True),
    )


def settle_all(
    plan: Plan,
    rows: Rows,
    batches: Iterable[IntArray] | None = None,
) -> tuple[Rows, IntArray]:
    """The rows as a run finishes them, each with its class: routed batch by batch, gathered by
    task, settled.

    Every row stays exactly once.
    """
    sent: list[list[IntArray]] = [[] for _ in range(plan.tasks)]
    for batch in [np.arange(len(rows))] if batches is None else batches:
        row, task = plan.route(rows.take(batch))
        assert set(task.tolist()) <= set(range(plan.tasks))
        for number in range(plan.tasks):
            sent[number].append(batch[row[task == number]])
    stayed, classes = [], []
    for number, parts in enumerate(sent):
        here = np.concatenate(parts)
        settled = plan.assign_classes(rows.take(here), number)
        assert set(settled.figures) == set(plan.figures)
        stayed.append(here[settled.here])
        classes.append(settled.classes)
    all_of_them = rows.take(np.concatenate(stayed))
    assert content(all_of_them) == content(rows)
    return all_of_them, np.concatenate(classes)
