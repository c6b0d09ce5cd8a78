"""Tables of a class in another form than labels say nothing but the multisets of its parts: whoever
in the class has which value, the same is published.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from promise_page import promises

from tclose_spark.options.forms.maker import FormedTables
from tclose_spark.runfile.release_form import COUNT, GROUP, RELEASE, ReleaseForm
from tclose_spark.table.domains import QuasiDomain
from tclose_spark.table.fingerprint import RowHash
from tclose_spark.table.rows import Rows

DISEASES, PAYS = ("flu", "gout", "ulcer"), ("high", "low")
CELLS = np.array([[d, p] for d in range(3) for p in range(2)])
AGES = [31, 31, 40, 52, 23, 25, 26, 60, 61, 61, 61, 70]
CLASSES = [4, 4, 4, 4, 9, 9, 9, 1, 1, 1, 1, 1]
HELD = [0, 3, 5, 5, 1, 2, 4, 0, 0, 0, 3, 2]
"""The sensitive cell of each row."""
SPLIT, APART = (("disease",), ("pay",)), (("disease", "pay"),)
FORMS = [
    ReleaseForm(form=form, together=together)
    for form in ("anatomy", "permutation")
    for together in ((), SPLIT, APART)
]


def formed(form: ReleaseForm, secret: str = "secret") -> FormedTables:
    blocks = {
        name: [("disease", "pay").index(a) for a in of]
        for name, of in form.blocks(["disease", "pay"]).items()
    }
    keys = [
        RowHash.of(f"{secret} {i}", count)
        for i, count in enumerate((2, *map(len, blocks.values())))
    ]
    age = QuasiDomain(name="age", kind="integer", missing=0, low=23, high=70)
    return FormedTables(form=form, quasi=(age,), blocks=blocks, cells=CELLS, keys=tuple(keys))


def published(
    form: ReleaseForm,
    held: list[int],
    order: list[int] | None = None,
    secret: str = "secret",
) -> Any:
    """All tables as lists of columns, from rows in any order."""
    at = np.arange(len(AGES)) if order is None else np.array(order)
    tables, cell, ages = formed(form, secret), np.array(held)[at], np.array(AGES)[at]
    rows = Rows((ages,), cell, np.arange(len(at), dtype=np.uint64))
    raw = [pa.array(ages)]

    def values(cell: Any) -> list[pa.Array]:
        region = pa.array(np.where(np.array(AGES)[at] % 2, "odd", "even"))
        return [
            pa.array([DISEASES[CELLS[c][0]] for c in cell]),
            pa.array([PAYS[CELLS[c][1]] for c in cell]),
            region,
        ]

    place, labels = tables.number(rows, np.array(CLASSES)[at], raw, values(cell))
    of_rows = [column.take(pa.array(place)) for column in values(cell)]
    made = tables.tables(labels, of_rows, cell[place])
    return {name: [column.to_pylist() for column in columns] for name, columns in made.items()}


@promises(
    "Nothing else connects a person with a value.",
    "Only a person's sensitive values are hidden, among those of a class",
    "All else that is published of it follows",
    "If two people of a class exchanged their sensitive values",
    "This holds for an adversary who knows the method and the secret",
    "Only the class connects them with sensitive values.",
)
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_it_does_not_matter_who_of_a_class_has_which_value(form: ReleaseForm) -> None:
    draw, first = np.random.default_rng(1), published(form, HELD)
    for _ in range(20):
        held = np.array(HELD)
        for of_class in np.unique(CLASSES):
            rows = np.flatnonzero(np.array(CLASSES) == of_class)
            held[rows] = held[draw.permutation(rows)]
        assert published(form, held.tolist(), draw.permutation(len(AGES)).tolist()) == first


@promises("With `together`, the multisets of different blocks")
def test_blocks_are_not_connected_within_a_class() -> None:
    """Rows that swap their pay, and keep their disease, give the same tables; in one block they do
    not.
    """
    swapped = [*HELD]
    swapped[0], swapped[1] = 1, 2  # flu, high and gout, low become flu, low and gout, high
    for form in ("anatomy", "permutation"):
        apart, as_one = (ReleaseForm(form=form, together=blocks) for blocks in (SPLIT, APART))
        assert published(apart, HELD) == published(apart, swapped)
        assert published(as_one, HELD) != published(as_one, swapped)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_each_class_has_the_values_of_its_rows(form: ReleaseForm) -> None:
    tables = published(form, HELD)
    ages, group, region = (tables[RELEASE][i] for i in (0, 1, -1))
    assert region == [
        "odd" if age % 2 else "even" for age in ages
    ]  # what is not sensitive stays with its row
    wanted = {}
    for of_class in {*CLASSES}:
        rows = [i for i, c in enumerate(CLASSES) if c == of_class]
        wanted[tuple(sorted(AGES[i] for i in rows))] = [
            Counter(CELLS[HELD[i]][a] for i in rows) for a in (0, 1)
        ]
    for number in {*group}:
        of_class = tuple(sorted(age for age, g in zip(ages, group, strict=True) if g == number))
        assert _held(form, tables, number) == wanted.pop(of_class)
    assert not wanted


def _held(form: ReleaseForm, tables: Any, number: int) -> list[Counter[int]]:
    """The codes of disease and pay in a class, counted from the tables."""
    found: list[Counter[int]] = [Counter(), Counter()]
    blocks = form.blocks(["disease", "pay"])
    if not form.is_split:
        group, columns = tables[RELEASE][1], tables[RELEASE][2:4]
        for g, *values in zip(group, *columns, strict=True):
            for a, value in enumerate(values) if g == number else ():
                found[a][(DISEASES, PAYS)[a].index(value)] += 1
        return found
    for name, block in blocks.items():
        for g, *values, n in zip(*tables[name], strict=True):
            for attribute, value in zip(block, values, strict=True) if g == number else ():
                a = ("disease", "pay").index(attribute)
                found[a][(DISEASES, PAYS)[a].index(value)] += n
    return found


def test_all_arrangements_of_a_class_are_equally_likely() -> None:
    """Over many secrets, each of the 12 arrangements of flu, flu, gout, ulcer in four rows comes as
    often.
    """
    form, held = ReleaseForm(form="permutation"), [*HELD]
    held[:4] = [0, 0, 2, 4]
    draws, seen = 2_400, Counter[tuple[str, ...]]()
    for secret in range(draws):
        ages, group, disease, *_ = published(form, held, secret=str(secret))[RELEASE]
        number = group[ages.index(40)]
        seen[tuple(d for d, g in zip(disease, group, strict=True) if g == number)] += 1
    assert len(seen) == 12
    expected = draws / 12
    assert (
        sum((n - expected) ** 2 / expected for n in seen.values()) < 31.3
    )  # chi-squared, 11 degrees, one in 1,000


@promises("Classes of which the same is published")
def test_classes_of_which_the_same_is_published_are_one() -> None:
    tables = formed(ReleaseForm(form="anatomy"))
    cell, ages = np.array([0, 3, 3, 0, 0, 5]), np.array([20, 30, 20, 30, 20, 30])
    values = [
        pa.array([DISEASES[CELLS[c][0]] for c in cell]),
        pa.array([PAYS[CELLS[c][1]] for c in cell]),
    ]
    rows = Rows((ages,), cell, np.arange(6, dtype=np.uint64))
    values.append(pa.array(["x"] * 6))
    _, labels = tables.number(rows, np.array([0, 0, 1, 1, 2, 2]), [pa.array(ages)], values)
    assert sorted(Counter(labels[-1].to_pylist()).values()) == [2, 4]


def test_the_numbers_of_classes_depend_on_the_secret_and_are_exact_doubles() -> None:
    form = ReleaseForm(form="anatomy")
    one, other = (published(form, HELD, secret=secret)[RELEASE][1] for secret in ("one", "other"))
    assert not {*one} & {*other}
    assert len({*one}) == 3
    assert all(0 <= number < 2**53 for number in one)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_rows_are_in_the_order_of_what_their_tables_show(form: ReleaseForm) -> None:
    tables = published(form, HELD)
    rows = [*zip(tables[RELEASE][1], tables[RELEASE][0], strict=True)]
    assert rows == sorted(rows)
    for name in form.tables(["age"], ["disease", "pay"]):
        of_table = [*zip(*tables[name], strict=True)]
        assert [row[:-1] for row in of_table] == sorted({row[:-1] for row in of_table})


def test_the_columns_of_the_tables() -> None:
    released = pa.schema(
        [
            ("age", pa.int64()),
            (GROUP, pa.int64()),
            ("disease", pa.string()),
            ("pay", pa.string()),
            ("region", pa.string()),
        ],
    )
    anatomy = formed(ReleaseForm(form="anatomy", together=SPLIT)).schemas(released, 2)
    assert {name: schema.names for name, schema in anatomy.items()} == {
        RELEASE: ["age", GROUP, "region"],
        "sensitive_1": [GROUP, "disease", COUNT],
        "sensitive_2": [GROUP, "pay", COUNT],
    }
    assert formed(ReleaseForm(form="permutation")).schemas(released, 2) == {RELEASE: released}
