"""What a third party computes of a release, in plain Python: from its table, its certificate's
`attributes`, and the number of the input's rows.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import deltalake

from oracle import distances
from oracle.distances import Kind, shares
from oracle.labels import ends, members

Row = dict[str, Any]
Counts = Counter[str | None]
Labels = tuple[str | None, ...]


def as_spark_writes(value: Any) -> str | None:
    """The text of a value of Parquet, as Java writes it."""
    if value is None or isinstance(value, bool):
        return None if value is None else str(value).lower()
    if not isinstance(value, float):
        return str(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    first = len(digits) + int(exponent) - 1
    if value == 0 or -3 <= first < 7:
        plain = f"{Decimal(repr(value)).normalize():f}"
        return plain if "." in plain else f"{plain}.0"
    rest = "".join(map(str, digits[1:])) or "0"
    return f"{'-' * sign}{digits[0]}.{rest}E{first}"


def read_table(folder: Path) -> list[Row]:
    """The rows of a Delta table, without Spark."""
    rows: list[Row] = deltalake.DeltaTable(str(folder)).to_pyarrow_table().to_pylist()
    return rows


def certificate_of(output: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((output / "public/certificate.json").read_text())
    return found


def distance(entry: dict[str, Any], part: Counts, whole: Counts) -> Fraction:
    """The earth mover's distance of a class from a table, by an attribute's entry in the
    certificate.
    """
    kind: Kind = [*entry["domain"]["values"]] if entry["distance"] == "ordered" else "equal"
    if "places" in entry:
        place = places_of(entry)
        part, whole = (Counter(place[v] for v in counts.elements()) for counts in (part, whole))
        kind = [str(i) for i in range(entry["m"])]
    if entry["distance"] == "hierarchical":
        paths = entry["hierarchy"]["paths"]
        missing = [[None] * (len(paths[0]) - 1) + ["*"]] if entry["missing"] == "leaf" else []
        kind = {path[0]: path for path in [*paths, *missing]}
    return distances.distance(shares(part), shares(whole), kind)


def places_of(entry: dict[str, Any]) -> dict[str | None, str]:
    """The place of each value of a numeric attribute, by its entry in the certificate."""
    values = entry["domain"]["values"]
    numbers = {value: Fraction(value) for value in values if value is not None}
    low, high, rule = min(numbers.values()), max(numbers.values()), entry["places"]
    first, found = int(values[0] is None), {}
    for value, number in numbers.items():
        if "step" in rule:
            found[value] = math.floor((number - low) / Fraction(rule["step"]))
        else:
            edges = [
                low + (high - low) * i / rule["equal_width"] for i in range(rule["equal_width"])
            ]
            found[value] = (
                max(i for i, edge in enumerate(edges) if edge <= number) if high > low else 0
            )
    last = max(found.values()) + first
    places = {value: str(place + first) for value, place in found.items()}
    return places if None not in values else {**places, None: "0" if first else str(last + 1)}


def beta(part: Counts, whole: Counts) -> Fraction:
    """By how much a value is more frequent in a class than in the table, at most, as a multiple of
    the latter.
    """
    return (
        max(Fraction(part[v], part.total()) / Fraction(whole[v], whole.total()) for v in +part) - 1
    )


def recursive(part: Counts, c: Fraction, ell: int) -> bool:
    ranked = sorted(part.values(), reverse=True)
    return ranked[0] < c * sum(ranked[ell - 1 :])


def entropy(part: Counts) -> float:
    return math.exp(-sum(n / part.total() * math.log(n / part.total()) for n in part.values()))


def loss(entry: dict[str, Any], labels: Sequence[str | None]) -> Fraction:
    """Of the label, or the two bounds, of a row, by a quasi-identifier's entry in the
    certificate.
    """
    label = labels[0]
    if label is None or label == "*":
        return Fraction(label == "*")
    if "span" in entry:
        numbers = [end for text in labels if text is not None for end, _ in ends(text)]
        return min(Fraction(1), (max(numbers) - min(numbers)) / Fraction(entry["span"]))
    if "leaves" in entry:
        return Fraction(dict(entry["leaves"]["below"]).get(label, 0), entry["hierarchy"]["size"])
    if "hierarchy" in entry:
        below = [path for path in entry["hierarchy"]["paths"] if label in path]
        return Fraction(len(below) if label != below[0][0] else 0, entry["hierarchy"]["size"])
    several = len(members(label)) > 1
    return Fraction(len(members(label)), entry["named"]) if several else Fraction(0)


class ThirdParty:
    """A release as others see it."""

    def __init__(self, public: Path) -> None:
        self.certificate = json.loads((public / "certificate.json").read_text())
        self.rows = [
            {n: as_spark_writes(v) for n, v in row.items()}
            for row in read_table(public / "release")
        ]
        attributes = self.certificate["attributes"]
        self.sensitive, self.quasi = attributes["sensitive"], attributes["quasi_identifiers"]
        self.columns = {
            q: [f"{q}_min", f"{q}_max"] if entry.get("numeric_output") == "bounds" else [q]
            for q, entry in self.quasi.items()
        }
        release = self.certificate["release"]
        self.key = (
            [release["group"]]
            if "group" in release
            else [c for of in self.columns.values() for c in of]
        )
        self.tables = {name: read_table(public / name) for name in release.get("tables", {})}
        self.classes: dict[Labels, list[Row]] = {}
        for row in self.rows:
            self.classes.setdefault(tuple(row[column] for column in self.key), []).append(row)
        self.held = {
            s: {
                key: Counter({v: n for (v,), n in of.items()})
                for key, of in self._by_class([s]).items()
            }
            for s in self.sensitive
        }
        self.released = {s: sum(self.parts(s), Counter[str | None]()) for s in self.sensitive}
        self.whole = {s: self._compared_with(s) for s in self.sensitive}
        self.suppressed = self.certificate["input"]["rows"] - len(self.rows)

    def _compared_with(self, name: str) -> Counts:
        entry = self.sensitive[name]
        if "input" not in entry:
            return self.released[name]
        return Counter(dict(zip(entry["domain"]["values"], entry["input"]["counts"], strict=True)))

    def _by_class(self, names: Sequence[str]) -> dict[Labels, Counter[Labels]]:
        """The tuples of these attributes in each class, from their table of sensitive values if
        there is one.
        """
        if not self.tables:
            return {
                key: Counter(tuple(row[n] for n in names) for row in of)
                for key, of in self.classes.items()
            }
        found: dict[Labels, Counter[Labels]] = {key: Counter() for key in self.classes}
        (table,) = (rows for rows in self.tables.values() if {*names} <= rows[0].keys())
        for row in table:
            key, values = (
                tuple(as_spark_writes(row[c]) for c in columns) for columns in (self.key, names)
            )
            found[key][values] += row["count"]
        return found

    def parts(self, name: str) -> list[Counts]:
        """The counts of each class."""
        return [*self.held[name].values()]

    def guarantees(self, parts: dict[str, list[Counts]]) -> dict[str, Any]:
        """What classes reach, in the form of the certificate, with what is required left out."""
        smallest = min(part.total() for part in next(iter(parts.values())))
        found: dict[str, Any] = {"k": smallest, "t": {}, "l": {}, "beta": {}}
        for name, counts in parts.items():
            found["t"][name] = str(
                max(distance(self.sensitive[name], part, self.whole[name]) for part in counts),
            )
            if name in self.certificate["guarantees"].get("beta", {}):
                found["beta"][name] = str(max(beta(part, self.whole[name]) for part in counts))
            if self.certificate["attributes"]["sensitive"][name]["missing"] == "uninformative":
                counts = [
                    Counter({value: n for value, n in part.items() if value is not None})
                    for part in counts
                ]
            required = self.certificate["guarantees"]["l"].get(name, {})
            if "distinct" in required:
                found["l"][name, "distinct"] = min(len(+part) for part in counts)
            if "entropy" in required:
                found["l"][name, "entropy"] = round(min(map(entropy, counts)), 7)
            if "recursive" in required:
                c, ell = (
                    required["recursive"]["required"]["c"],
                    required["recursive"]["required"]["l"],
                )
                found["l"][name, "recursive"] = all(
                    recursive(part, Fraction(c), ell) for part in counts
                )
            if "frequency" in required:
                found["l"][name, "frequency"] = round(
                    min(part.total() / max(part.values()) for part in counts),
                    7,
                )
        return found

    def differences(self, parts: dict[str, list[Counts]]) -> dict[str, Any]:
        """The largest KL divergence and delta of a class, and how many lack a value, by sensitive
        attribute.
        """
        found = {}
        for name, counts in parts.items():
            whole = self.whole[name]
            logs = [
                {
                    v: math.log(Fraction(part[v], part.total()) / Fraction(whole[v], whole.total()))
                    for v in +part
                }
                for part in counts
            ]
            lacking = sum(len(+part) < len(+whole) for part in counts)
            delta = None if lacking else max(abs(log) for of in logs for log in of.values())
            far = max(
                sum(part[v] / part.total() * log for v, log in of.items())
                for part, of in zip(counts, logs, strict=True)
            )
            found[name] = (max(far, 0.0), delta, lacking)
        return found

    def losses(self) -> dict[str, Fraction]:
        """The mean loss of each quasi-identifier; a suppressed row loses 1."""
        rows = self.certificate["input"]["rows"]
        lost = {
            q: sum(loss(entry, [row[column] for column in self.columns[q]]) for row in self.rows)
            for q, entry in self.quasi.items()
        }
        return {q: Fraction(found + self.suppressed, rows) for q, found in lost.items()}

    def tuples(self, names: Sequence[str] = ()) -> Fraction:
        """How far the combinations of values of sensitive attributes (by default all) of the
        farthest class are from the released table's.
        """
        names = names or [*self.sensitive]
        together = [*self._by_class(names).values()]
        whole: Counter[Labels] = sum(together, Counter())
        return max(
            sum(
                abs(Fraction(part[v], part.total()) - Fraction(n, whole.total()))
                for v, n in whole.items()
            )
            / 2
            for part in together
        )


def reached(guarantees: dict[str, Any]) -> dict[str, Any]:
    """The certificate's guarantees in the form of `ThirdParty.guarantees`."""
    of_l = {}
    for name, kinds in guarantees["l"].items():
        for kind, entry in kinds.items():
            of_l[name, kind] = (
                entry["holds"] if kind == "recursive" else round(entry["achieved"], 7)
            )
    t, betas = (
        {name: entry["achieved_exact"] for name, entry in guarantees.get(key, {}).items()}
        for key in ("t", "beta")
    )
    return {"k": guarantees["k"]["achieved"], "t": t, "l": of_l, "beta": betas}


def measured(certificate: dict[str, Any]) -> dict[str, Any]:
    """The certificate's figures in the form of `ThirdParty.differences`."""
    found = {}
    for name, entry in certificate["information"]["attributes"].items():
        delta = entry["delta_disclosure"]
        found[name] = (entry["kl_divergence"], delta["largest"], delta["infinite"]["classes"])
    return found


def agree(said: dict[str, Any], found: dict[str, Any]) -> bool:
    """Whether figures by sensitive attribute are equal but for the rounding of the certificate, to
    nine digits.
    """
    return said.keys() == found.keys() and all(
        (one is None) == (other is None) and (one is None or math.isclose(one, other, abs_tol=2e-9))
        for name in said
        for one, other in zip(said[name], found[name], strict=True)
    )
