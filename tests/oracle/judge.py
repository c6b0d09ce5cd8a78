"""The verdict of the second implementation on a finished release: k, every t and l, (n, t),
disjoint regions, and whether the labels can be those of the input's rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from oracle.labels import covers, meet
from oracle.supersets import Twin
from oracle.third_party import Counts, ThirdParty, agree, as_spark_writes, measured, reached
from oracle.third_party import distance as distance_of

MOST_ROWS = 1500  # that are matched with the input's, which takes the square of their number
MOST_BOXES = 20_000  # that are tried around a class

Labels = tuple[str | None, ...]


def judge(public: Path, raw: pa.Table | None = None, insensitive: Sequence[str] = ()) -> list[str]:
    """What a release does not keep, one line each.

    raw: its input, whose values no `text` option changes. insensitive: its insensitive attributes.
    """
    party = ThirdParty(public)
    problems = [*_guarantees(party), *_overlaps(party), *_of_form(party, raw)]
    if raw is not None and len(party.rows) <= MOST_ROWS and raw.num_rows <= 2 * MOST_ROWS:
        problems += _uncovered(party, raw, insensitive)
    return problems


def _guarantees(party: ThirdParty) -> Iterator[str]:
    """Differences between what the certificate says and what is found, and broken requirements."""
    certificate = party.certificate
    parts = {
        name: party.parts(name)
        for name in party.sensitive
        if not _is_unlisted(party.sensitive[name])
    }
    smallest = min(map(len, party.classes.values()))
    if smallest < certificate["guarantees"]["k"]["required"]:
        yield f"a class has {smallest} rows"
    if not parts:
        return
    said, found = reached(certificate["guarantees"]), party.guarantees(parts)
    for key in ("t", "l", "beta"):
        said[key] = {
            name: it for name, it in said[key].items() if (name[0] if key == "l" else name) in parts
        }
        said[key] = {name: it for name, it in said[key].items() if name in found[key] or key != "l"}
    if said != found:
        yield f"the certificate says {said}, and the release has {found}"
    for name, entry in certificate["guarantees"]["t"].items():
        if (
            name in parts
            and entry["required_exact"]
            and Fraction(found["t"][name]) > Fraction(entry["required_exact"])
        ):
            yield (
                f"{name}: a class is {found['t'][name]} from the table, more than "
                f"{entry['required_exact']}"
            )
    for name, figure in found["beta"].items():
        if Fraction(figure) > Fraction(certificate["guarantees"]["beta"][name]["required_exact"]):
            yield f"{name}: a class has a beta of {figure}"
    figures = {name: it for name, it in measured(certificate).items() if name in parts}
    if not agree(figures, differences := party.differences(parts)):
        yield f"the certificate says {figures}, and the release has {differences}"
    for (name, kind), figure in found["l"].items():
        required = certificate["guarantees"]["l"][name][kind]["required"]
        if not figure if kind == "recursive" else figure < float(Fraction(str(required))) - 1e-7:
            yield f"{name}: a class has {kind} l {figure}, less than {required}"
    for name, entry in certificate["guarantees"].get("joint", {}).items():
        reached_together = party.tuples(entry["attributes"])
        if str(reached_together) != entry["achieved_exact"]:
            yield (
                f"{name}: a class is {reached_together} from the table, and the certificate says "
                f"{entry['achieved']}"
            )
        if entry["required_exact"] and reached_together > Fraction(entry["required_exact"]):
            yield (
                f"{name}: a class is {reached_together} from the table, more than "
                f"{entry['required_exact']}"
            )
    for name, entry in certificate["guarantees"].get("nt", {}).items():
        if name in parts:
            yield from _farther(party, name, entry)


def _of_form(party: ThirdParty, raw: pa.Table | None) -> Iterator[str]:
    """What another form than labels does not keep: the tables have the same classes with as many
    rows, rows and tables are in an order of what they show, no class has one value, and blocks have
    the tuples of the input.
    """
    release = party.certificate["release"]
    if "form" not in release:
        return
    for name in party.sensitive:
        if any(party.held[name][key].total() != len(rows) for key, rows in party.classes.items()):
            yield f"{name}: a class has more or fewer values than rows"
        if "group" in release and any(len(part) < 2 for part in party.held[name].values()):
            yield f"{name}: a class has one value"
    blocks = release.get("together") or [[*party.sensitive]]
    for block in blocks if raw is not None and {*party.sensitive} <= {*raw.column_names} else ():
        rows = [*party.rows]
        if party.tables:
            (table,) = (table for table in party.tables.values() if block[0] in table[0])
            rows = [
                {n: as_spark_writes(v) for n, v in row.items()}
                for row in table
                for _ in range(row["count"])
            ]
        if Counter(tuple(row[n] for n in block) for row in rows) != Counter(
            tuple(row[n] for n in block) for row in _texts(raw.select([*block]))
        ):
            yield f"{block}: the released tuples are not those of the input"


def _is_unlisted(entry: dict[str, Any]) -> bool:
    """Whether the certificate does not list an attribute's values, or has a distance that the
    oracle does not know.
    """
    return (
        entry["distance"] not in ("equal", "ordered", "hierarchical")
        or "values" not in entry["domain"]
        or "bins" in entry
        or "paths" not in entry.get("hierarchy", {"paths": 0})
    )


def _farther(party: ThirdParty, name: str, entry: dict[str, Any]) -> Iterator[str]:
    """The classes that no natural superset proves."""
    whole, required = party.whole[name], Fraction(entry["required_exact"])
    quasi = list(party.quasi.values())
    kinds = {"interval": "number"}
    classes: dict[Labels, Counts] = {}
    for key, rows in party.classes.items():
        classes[key] = Counter(row[name] for row in rows)
    axes = [
        (
            "tree" if "hierarchy" in q else kinds.get(q.get("numeric_output", ""), "set"),
            q.get("hierarchy", {}).get("paths", ()),
        )
        for q in quasi
    ]
    far = [
        key
        for key, part in classes.items()
        if distance_of(party.sensitive[name], part, whole) > required
    ]
    if (
        not far
        or any(len(columns) > 1 for columns in party.columns.values())
        or entry["distance"] == "hierarchical"
    ):
        return
    values = party.sensitive[name]["domain"]["values"]
    twin = Twin(classes, axes, values, entry["n"], required, entry["distance"])
    if len(classes) ** (2 * len(axes)) > MOST_BOXES:
        return
    for key in far:
        if not twin.provable(key):
            yield (
                f"{name}: no natural superset of {entry['n']} rows is within {required} of the "
                f"class {key}"
            )


def _overlaps(party: ThirdParty) -> Iterator[str]:
    """The classes that meet, where regions are said to be disjoint. Hierarchies that are not public
    may hide it.
    """
    if party.certificate.get("regions") != "disjoint" or any(
        map(_is_unknown, party.quasi.values()),
    ):
        return
    for one, other in combinations(party.classes, 2):
        if all(
            meet(a, b, entry)
            for a, b, entry in zip(
                _by_quasi(party, one),
                _by_quasi(party, other),
                party.quasi.values(),
                strict=True,
            )
        ):
            yield f"the regions of {one} and {other} meet"


def _by_quasi(party: ThirdParty, key: Labels) -> list[Labels]:
    """The label, or the two bounds, of each quasi-identifier in a class's labels."""
    labels = iter(key)
    return [tuple(next(labels) for _ in columns) for columns in party.columns.values()]


def _is_unknown(entry: dict[str, Any]) -> bool:
    """Whether the certificate does not say which values a label covers."""
    return "paths" not in entry.get("hierarchy", {"paths": 0}) or entry.get("missing") == "any"


def _uncovered(party: ThirdParty, raw: pa.Table, insensitive: Sequence[str]) -> Iterator[str]:
    """The released rows that no assignment of the input's rows covers: each row of the input once,
    with the same sensitive and insensitive values, and all its quasi-identifiers below the labels.
    """
    kept = [*([] if "form" in party.certificate["release"] else party.sensitive), *insensitive]
    quasi = [
        name
        for name, entry in party.quasi.items()
        if name in raw.column_names and not _is_unknown(entry)
    ]
    people = _texts(raw.select([*dict.fromkeys([*kept, *quasi])]))
    groups: dict[Any, tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))
    for side, rows in enumerate((party.rows, people)):
        for row in rows:
            groups[tuple(row[name] for name in kept)][side].append(row)
    lost = 0
    for released, here in groups.values():
        if not (released and here):
            lost += len(released)
            continue
        fits = np.ones((len(released), len(here)), dtype=bool)
        for name in quasi:
            fits &= _fits(party, name, released, here)
        lost += int((maximum_bipartite_matching(csr_matrix(fits), perm_type="column") < 0).sum())
    if lost:
        yield f"{lost} released rows cover no row of the input that is left"


def _fits(party: ThirdParty, name: str, released: Sequence[Any], people: Sequence[Any]) -> Any:
    """Whether the labels of released rows cover the values of people, shape (released, people)."""
    entry, columns = party.quasi[name], party.columns[name]
    rows = [tuple(row[column] for column in columns) for row in released]
    values = [row[name] for row in people]
    known = {
        (label, value): covers(label, value, entry) for label in {*rows} for value in {*values}
    }
    return np.array([[known[label, value] for value in values] for label in rows], dtype=bool)


def _texts(table: pa.Table) -> list[dict[str, str | None]]:
    """The rows of a table as the release writes their values: NaN is missing, -0.0 is 0."""

    def text(value: Any) -> str | None:
        if isinstance(value, float):
            value = None if value != value else value + 0.0
        return as_spark_writes(value)

    return [{name: text(value) for name, value in row.items()} for row in table.to_pylist()]
