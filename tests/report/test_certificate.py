"""The certificate and the report follow from the release and the run file alone: both are computed
again here, by code of its own.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from importlib import resources
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import deltalake
import jsonschema
import numpy as np
import pyarrow as pa
import pytest
import yaml
from some_certificate import certificate_with
from some_figures import figures_with
from strategies import CITIES

from tclose_spark import pipeline
from tclose_spark.api.release import Release
from tclose_spark.checks.classes.partial_figures import SIZES
from tclose_spark.cli.console import show_release
from tclose_spark.measures.distances.bins import group_values
from tclose_spark.measures.distances.transport import transport_plan
from tclose_spark.report.certificate.schema import FILE, certificate_schema_text
from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.html import render_report
from tclose_spark.requirements.judge import judged_attribute
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.table.writing import listing

ROWS = 160
LOWEST, HIGHEST = 3_141, 1_234_567  # one person's income each
METHODS: dict[str, dict[str, Any]] = {
    "closeness_tree": {"name": "closeness_tree", "effort": "fast"},
    "stack_and_deal": {"name": "stack_and_deal"},
    "fragmentation": {"name": "fragmentation"},
    "microaggregation": {"name": "microaggregation", "algorithm": 2},
    "t_mondrian": {"name": "t_mondrian"},
    "t_incognito": {"name": "t_incognito"},
    "suppression of the input": {"name": "every_k", "by": 1, "suppress": 15, "any_t": True},
    "suppression of the released": {"name": "every_k", "by": 1, "suppress": 15, "any_t": True},
}
LIMITS = {
    "t_incognito": {"k": 4, "suppression_limit": "0.1"},
    "suppression of the input": {"k": 12, "suppression_limit": "0.1"},
    "suppression of the released": {"k": 12, "suppression_limit": "0.1", "of": "released"},
}
QUASI = {
    "income": {"type": "numeric", "round_to": 50_000},
    "age": {"type": "numeric", "weight": "2"},
    "height": {"type": "numeric", "round_to": "0.5", "numeric_output": "bounds"},
    "city": {"hierarchy": "cities.csv"},
    "sex": {},
    "site": {"generalization": "set"},
}
SENSITIVE: dict[str, dict[str, Any]] = {
    "disease": {"t": "0.7"},
    "mood": {
        "distance": "ordered",
        "order": ["never", "low", "middle", "high", "always"],
        "missing": "lowest",
        "t": "measure",
    },
    "pay": {"distance": "ordered", "t": "0.7"},
    "ward": {
        "distance": "ordered",
        "order": "frequency",
        "missing": "highest",
        "t": "0.7",
        "text": {"strip": True},
    },
    "home": {"distance": "hierarchical", "hierarchy": "cities.csv", "missing": "leaf", "t": "0.7"},
}


def people() -> pa.Table:
    """Records with every form of label, every distance, and missing values."""
    draw = np.random.default_rng(11)

    def pick(*values: Any) -> list[Any]:
        return [values[i] for i in draw.integers(len(values), size=ROWS)]

    return pa.table(
        {
            "income": [LOWEST, HIGHEST, *draw.integers(20_000, 400_000, ROWS - 2).tolist()],
            "age": [None, None, *draw.integers(20, 60, ROWS - 2).tolist()],
            "height": [round(1.5 + i * 7 % 50 / 100, 2) for i in range(ROWS)],
            "city": pick(None, *CITIES.leaves),
            "sex": pick("f", "m", "f", "m", None),
            "site": pick("north", "south", "a, b"),
            "disease": pick("flu", "flu", "FLU", "gout", None),
            "mood": pick("low", "middle", "high", None),
            "pay": pick(900, 1000, 2000, 10_000),
            "ward": pick("w1", "w2", "w2 ", "w2", "w3", " w3", None),
            "home": pick("Pisa", "Siena", "Lyon", None),
        },
    )


# --- what a third party knows: the released columns, by their text


def text(value: Any) -> str | None:
    return None if value is None else str(value)


def read_release(folder: Path) -> dict[str, list[str | None]]:
    table = deltalake.DeltaTable(str(folder / "public/release")).to_pyarrow_table()
    return {name: [text(value) for value in table[name].to_pylist()] for name in table.column_names}


def read_paths(file: Path) -> list[list[str]]:
    return sorted(line.split(";") for line in file.read_text().splitlines())


def ends(label: str) -> list[Fraction]:
    return [Fraction(part) for part in label.strip("[]").split(", ")]


def members(label: str) -> list[str]:
    return (
        next(csv.reader([label[1:-1]], skipinitialspace=True)) if label.startswith("{") else [label]
    )


def losses(
    labels: list[tuple[str | None, ...]],
    asked: dict[str, Any],
    paths: list[list[str]],
) -> list[Fraction]:
    """Of each row, from the labels of one quasi-identifier: one text, or two bounds."""
    said = [label for row in labels for label in row if label not in (None, "*")]
    numbers = (
        [end for label in said for end in ends(label)] if asked.get("type") == "numeric" else []
    )
    named = {member for label in said for member in members(label)}

    def of(row: tuple[str | None, ...]) -> Fraction:
        if row[0] is None or row[0] == "*":
            return Fraction(row[0] == "*")
        if numbers:
            mine = [end for label in row if label is not None for end in ends(label)]
            return (max(mine) - min(mine)) / (max(numbers) - min(numbers))
        if paths:
            leaves = [path for path in paths if row[0] in path]
            return Fraction(len(leaves) if row[0] not in {p[0] for p in paths} else 0, len(paths))
        return (
            Fraction(len(members(row[0])), len(named))
            if asked.get("generalization") == "set" and len(members(row[0])) > 1
            else Fraction(0)
        )

    return [of(row) for row in labels]


def domain_of(
    asked: dict[str, Any],
    whole: Counter[str | None],
    paths: list[list[str]],
) -> list[str | None]:
    """The domain in order, from the run file and the released values."""
    order, known = (
        asked.get("order", "value"),
        sorted(
            (v for v in whole if v is not None),
            key=lambda v: (v if not v.isdigit() else "", len(v), v),
        ),
    )
    if asked.get("distance") == "hierarchical":
        return [
            *[path[0] for path in CITIES.paths],
            *([None] if asked["missing"] == "leaf" else []),
        ]
    values: list[str | None] = (
        order
        if isinstance(order, list)
        else sorted(known, key=lambda v: -whole[v])
        if order == "frequency"
        else known
    )
    if None in whole:
        values = [None, *values] if asked.get("missing") == "lowest" else [*values, None]
    return list(values)


def distance(
    entry: dict[str, Any],
    part: Counter[str | None],
    whole: Counter[str | None],
) -> Fraction:
    """Of a class from the table, by what a certificate says of the attribute."""
    n, s = whole.total(), part.total()
    excess = {v: Fraction(part[v], s) - Fraction(whole[v], n) for v in entry["domain"]["values"]}
    if entry["distance"] == "equal":
        return sum(map(abs, excess.values()), Fraction(0)) / 2
    if entry["distance"] == "ordered":
        running = [abs(sum(list(excess.values())[: i + 1])) for i in range(entry["m"] - 1)]
        return sum(running, Fraction(0)) / (entry["m"] - 1)
    paths: list[list[Any]] = list(entry["hierarchy"]["paths"])
    height = len(paths[0]) - 1
    paths += [[None] * height + ["*"]] if entry["missing"] == "leaf" else []
    cost = Fraction(0)
    for level in range(1, height + 1):
        children: dict[tuple[str, ...], dict[tuple[str, ...], Fraction]] = {}
        for path in paths:
            below = children.setdefault(tuple(path[level:]), {})
            below[tuple(path[level - 1 :])] = (
                below.get(tuple(path[level - 1 :]), Fraction(0)) + excess[path[0]]
            )
        for below in children.values():
            gives, takes = (
                sum(max(x, 0) for x in below.values()),
                sum(max(-x, 0) for x in below.values()),
            )
            cost += Fraction(level, height) * min(gives, takes)
    return cost


def counted(parts: Sequence[Counter[str | None]]) -> dict[str, int]:
    """How many classes these are, and their rows."""
    return {"classes": len(parts), "rows": sum(part.total() for part in parts)}


class Found:
    """All that is computed again, from the release and a run file with its hierarchies; and, where
    rows are suppressed, from what the certificate has beside them: how many, and the input's
    distribution if classes are compared with it.
    """

    def __init__(self, folder: Path) -> None:
        self.run = yaml.safe_load((folder / "run.yaml").read_text())
        self.release = read_release(folder / "out")
        fields = deltalake.DeltaTable(str(folder / "out/public/release")).schema().fields
        spark = {"integer": "int", "long": "bigint"}
        self.types = {field.name: spark.get(field.type.type, field.type.type) for field in fields}
        self.quasi, self.sensitive = (
            self.run["attributes"][f"{role}"]
            for role in ("quasi_identifiers", "sensitive_attributes")
        )
        self.paths = read_paths(folder / "cities.csv")
        self.columns = {
            q: [f"{q}_min", f"{q}_max"] if a.get("numeric_output") == "bounds" else [q]
            for q, a in self.quasi.items()
        }
        self.labels = [column for pair in self.columns.values() for column in pair]
        self.rows = len(self.release["sex"])
        certificate = json.loads((folder / "out/public/certificate.json").read_text())
        self.input_rows = certificate["input"]["rows"]
        self.suppressed = self.input_rows - self.rows
        self.inputs = {
            name: dict(zip(entry["domain"]["values"], entry["input"]["counts"], strict=True))
            for name, entry in certificate["attributes"]["sensitive"].items()
            if "input" in entry
        }
        keys = list(zip(*(self.release[column] for column in self.labels), strict=True))
        places: dict[tuple[str | None, ...], list[int]] = {}
        for row, key in enumerate(keys):
            places.setdefault(key, []).append(row)
        self.classes = places
        self.loss = {
            q: losses(
                list(zip(*(self.release[c] for c in self.columns[q]), strict=True)),
                a,
                self.paths if a.get("hierarchy") else [],
            )
            for q, a in self.quasi.items()
        }
        self.whole = {s: Counter(self.release[s]) for s in self.sensitive}
        self.table = {s: +Counter(self.inputs.get(s, self.whole[s])) for s in self.sensitive}
        self.left = {s: self.table[s] - self.whole[s] for s in self.inputs}
        self.parts = {
            s: [Counter(self.release[s][row] for row in rows) for rows in places.values()]
            for s in self.sensitive
        }

    def attribute(self, name: str) -> dict[str, Any]:
        """What a certificate has to say of a sensitive attribute."""
        asked = self.sensitive[name]
        domain = domain_of(asked, self.table[name], self.paths)
        unused = [value for value in domain if not self.whole[name][value]]
        single = [part for part in self.parts[name] if len(part) == 1]
        entry = {
            "distance": asked.get("distance", "equal"),
            "m": len(domain),
            "domain": {"size": len(domain), "values": domain},
            "unused": {"size": len(unused), "values": unused},
            "missing": "value" if "distance" not in asked else asked.get("missing", "error"),
            "homogeneous": counted(single),
        }
        if name in self.inputs:
            entry["input"] = {
                "size": len(domain),
                "counts": [self.table[name][value] for value in domain],
            }
        if entry["distance"] == "ordered":
            order = asked.get("order", "value")
            entry["order"] = "list" if isinstance(order, list) else order
        if "text" in asked:
            entry["text"] = asked["text"]
        if entry["distance"] == "hierarchical":
            entry["hierarchy"] = {"size": len(self.paths), "paths": self.paths}
        return entry

    def label_form(self, name: str) -> dict[str, Any]:
        """What a certificate has to say of a quasi-identifier."""
        asked = {key: value for key, value in self.quasi[name].items() if key != "hierarchy"}
        entry = {"type": "categorical", **asked}
        said = [
            label
            for column in self.columns[name]
            for label in self.release[column]
            if label not in (None, "*")
        ]
        if entry["type"] == "numeric":
            numbers = [end for label in said for end in ends(label)]
            rounded = (
                {"round_to": str(Fraction(str(asked["round_to"])))} if "round_to" in asked else {}
            )
            return {
                "numeric_output": "interval",
                **entry,
                **rounded,
                "span": str(max(numbers) - min(numbers)),
            }
        if "hierarchy" in self.quasi[name]:
            return {**entry, "hierarchy": {"size": len(self.paths), "paths": self.paths}}
        named = (
            {"named": len({member for label in said for member in members(label)})}
            if "generalization" in asked
            else {}
        )
        return {"generalization": "suppress", **entry, **named}

    def regions_lie_apart(self) -> bool:
        """Whether no two classes cover a person in common, pair by pair."""
        named = [dict(zip(self.labels, key, strict=True)) for key in self.classes]
        split = [
            {q: [labels[c] for c in columns] for q, columns in self.columns.items()}
            for labels in named
        ]
        return not any(
            all(self.meet(q, a[q], b[q]) for q in self.quasi) for a, b in combinations(split, 2)
        )

    def meet(self, name: str, one: Sequence[str | None], other: Sequence[str | None]) -> bool:
        """Whether labels of a quasi-identifier, or two bounds each, have a value in common."""
        if "*" in one or "*" in other:
            return True
        if None in one or None in other:
            return one == other
        if self.quasi[name].get("type") == "numeric":
            (a, *_, b), (c, *_, d) = (
                [end for label in labels for end in ends(str(label))] * 2 for labels in (one, other)
            )
            return a <= d and c <= b
        if "hierarchy" in self.quasi[name]:
            first, second = (
                {path[0] for path in self.paths if label in path} for label in (one[0], other[0])
            )
        else:
            first, second = set(members(str(one[0]))), set(members(str(other[0])))
        return bool(first & second)

    def warnings(self) -> list[str]:
        alike = (
            "differ from another by case, blanks, width or Unicode normal form only, and count as "
            "values of their own"
        )
        starred = {q: self.release[self.columns[q][0]].count("*") for q in self.quasi}
        most = {q: n for q, n in starred.items() if 2 * n > self.rows}
        found = []
        for bare in dict.fromkeys(q == "sex" for q in most):
            names = [q for q in most if (q == "sex") is bare]
            least = min(most[q] for q in names)
            share = (
                "all"
                if least == self.rows
                else f"{'at least ' * (len(names) > 1)}{least} of {self.rows}"
            )
            remedy = (
                "give it a hierarchy or generalization: set, or leave it out"
                if bare
                else "if left out, the other quasi-identifiers may keep more"
            )
            found.append(f"{', '.join(names)}: the published value is * in {share} rows; {remedy}")
        others = {
            "disease": [
                f"disease: 1 of {len(self.whole['disease'])} values {alike}, for t and for l",
            ],
            "mood": [
                "mood: 2 of the 6 values of its order are in no row; they can make distances "
                "smaller",
            ],
        }
        for name, counts in self.whole.items():
            if len(counts) / self.rows > 1 / 2:
                finds = (
                    "an adversary who knows a person's value finds the record and its other columns"
                )
                found.append(
                    f"{name}: nearly unique, {len(counts)} values in {self.rows} rows; {finds}",
                )
            found += others.get(name, [])
        if self.ncp > 0.5:
            found.append(f"the table is nearly useless: NCP is {self.ncp:.4f}; {self.remedy()}")
        lost, alone = self.loss["income"], people()["income"].to_pylist()[2:]
        if not self.suppressed:
            times = math.floor((HIGHEST - LOWEST) / (max(alone) - min(alone)))
            # a mean of floats may be above .245 where the fraction is not
            closer = sum(min(Fraction(1), times * one) for one in lost) / len(lost)
            found.append(
                "income: fewer than 4 rows have numbers far from all others, without which its "
                f"range is at least {times} times smaller; on that range, its loss is "
                f"{float(closer):.2g} instead of {float(sum(lost) / len(lost)) + 1e-9:.2g}; if "
                "they are codes for missing values, name them in missing_values",
            )
        return found

    def remedy(self) -> str:
        reached = {name: self.closeness(name, self.parts[name]) for name in self.sensitive}
        limited = {
            name: (Fraction(one["achieved_exact"]), Fraction(one["required_exact"]))
            for name, one in reached.items()
            if one["required_exact"] is not None
        }
        name = max(limited, key=lambda name: limited[name][0] / limited[name][1])
        achieved, t = limited[name]
        if achieved < Fraction(9, 10) * t:
            return (
                "no t is near its limit; fewer quasi-identifiers or a smaller k may preserve more"
            )
        figures = f"{float(achieved):.4f} of {float(t):g}"
        return (
            f"t of {name} is binding ({figures}); a larger t or fewer quasi-identifiers may "
            "preserve more"
        )

    @property
    def ncp(self) -> float:
        return float(
            sum(sum(loss) + self.suppressed for loss in self.loss.values())
            / (len(self.loss) * self.input_rows),
        )

    @property
    def weighted_ncp(self) -> float:
        weights = {q: Fraction(asked.get("weight", 1)) for q, asked in self.quasi.items()}
        lost = sum(weights[q] * (sum(loss) + self.suppressed) for q, loss in self.loss.items())
        return float(lost / (sum(weights.values()) * self.input_rows))

    def closeness(self, name: str, parts: Sequence[Counter[str | None]]) -> dict[str, Any]:
        asked, entry = self.sensitive[name], self.attribute(name)
        t = None if asked["t"] == "measure" else Fraction(asked["t"])
        worst = max(distance(entry, part, self.table[name]) for part in parts)
        required = {
            "required": t if t is None else float(t),
            "required_exact": t if t is None else str(t),
        }
        return {
            "distance": entry["distance"],
            **required,
            "achieved": float(worst),
            "achieved_exact": str(worst),
        }

    def diversity(self, name: str, parts: Sequence[Counter[str | None]]) -> dict[str, Any]:
        asked, found = self.sensitive[name].get("l", {}), {}
        if "distinct" in asked:
            found["distinct"] = {
                "required": asked["distinct"],
                "achieved": min(len(part) for part in parts),
            }
        if "entropy" in asked:
            least = min(
                math.exp(-sum(n / part.total() * math.log(n / part.total()) for n in part.values()))
                for part in parts
            )
            found["entropy"] = {"required": float(asked["entropy"]), "achieved": least}
        return found

    def tuples(self, names: Sequence[str]) -> tuple[Counter[Any], list[Counter[Any]]]:
        """The rows of each combination of values, in the release and in each class."""
        rows = list(zip(*(self.release[name] for name in names), strict=True))
        return Counter(rows), [
            Counter(rows[row] for row in places) for places in self.classes.values()
        ]

    def together(self, names: Sequence[str]) -> dict[str, Any]:
        """How far the combinations of the farthest class are, and how near a class of its size can
        be.
        """
        whole, classes = self.tuples(names)
        far = [
            (
                sum(
                    abs(Fraction(c[v], c.total()) - Fraction(n, self.rows))
                    for v, n in whole.items()
                )
                / 2,
                -c.total(),
            )
            for c in classes
        ]
        reached, size = max(far)[0], -max(far)[1]
        full = {v: n * size // self.rows for v, n in whole.items()}
        parts = sorted(
            (Fraction(n * size, self.rows) - full[v] for v, n in whole.items()),
            reverse=True,
        )
        near = 1 - (sum(full.values()) + sum(parts[: size - sum(full.values())])) / Fraction(size)
        distance = {"achieved": float(reached), "achieved_exact": str(reached)}
        return {"attributes": [*names], **distance, "size": size, "least": str(near)}

    def alone(self, pair: Sequence[str]) -> dict[str, Any]:
        """The rows whose pair of values no other row has."""
        whole, classes = self.tuples(pair)
        single = [sum(n == 1 for n in counts.values()) for counts in (whole, *classes)]
        return {"attributes": [*pair], "table": single[0], "class": sum(single[1:])}

    def differences(self, name: str) -> dict[str, Any]:
        """How much more and how much less frequent values are in classes."""
        entry, whole, parts = self.attribute(name), self.table[name], self.parts[name]
        logs = [
            {v: math.log(n / part.total() / (whole[v] / whole.total())) for v, n in part.items()}
            for part in parts
        ]
        lacking = [part for part in parts if len(part) < len(whole)]
        far = [
            sum(part[v] / part.total() * x for v, x in of.items())
            for part, of in zip(parts, logs, strict=True)
        ]
        delta = None if lacking else max(abs(x) for of in logs for x in of.values())
        found: dict[str, Any] = {
            "kl_divergence": max(far),
            "delta_disclosure": {"largest": delta, "infinite": counted(lacking)},
        }
        if entry["distance"] == "equal":
            return found
        present = [value for value in entry["domain"]["values"] if whole[value]]
        group: dict[str | None, Any] = {
            value: 3 * i // len(present) for i, value in enumerate(present)
        }
        if entry["distance"] == "hierarchical":
            level = max(
                i for i in range(len(self.paths[0])) if len({*(path[i] for path in self.paths)}) > 1
            )
            group = {path[0]: path[level] for path in self.paths}
        several = len({group.get(value) for value in present}) > 1
        alike = [
            part for part in parts if several and len({group.get(value) for value in part}) == 1
        ]
        return {**found, "similar": counted(alike)}

    def guarantees(
        self,
        smallest: int,
        parts: dict[str, Sequence[Counter[str | None]]],
    ) -> dict[str, Any]:
        """What is required of classes, or of the suppressed rows as one, and what they reach."""
        return {
            "k": {"required": self.run["privacy"]["k"], "achieved": smallest},
            "t": {name: self.closeness(name, parts[name]) for name in self.sensitive},
            "l": {
                name: found
                for name in self.sensitive
                if (found := self.diversity(name, parts[name]))
            },
        }

    def left_out(self) -> dict[str, Any]:
        """The certificate's section of what is left out, where anything may be."""
        privacy = self.run["privacy"]
        if "suppression_limit" not in privacy:
            return {}
        limit, of = Fraction(privacy["suppression_limit"]), privacy.get("of", "input")
        counted = {"rows": self.suppressed, "share": self.suppressed / self.input_rows}
        entry = {**counted, "limit": float(limit), "limit_exact": str(limit), "of": of}
        if of == "input":
            entry["guarantees"] = self.guarantees(
                self.suppressed,
                {name: [part] for name, part in self.left.items()},
            )
            entry["certain"] = [name for name, part in self.left.items() if len(part) == 1]
        return {"suppressed": entry}

    def certificate(self) -> dict[str, Any]:
        sizes = [len(rows) for rows in self.classes.values()]
        names = [*self.sensitive]
        growth = [self.together(names[:several]) for several in range(1, len(names) + 1)]
        together = {key: growth[-1][key] for key in ("achieved", "achieved_exact")}
        return {
            "verdict": "holds",
            "unprotected": {"mood": self.attribute("mood")["homogeneous"]},
            "release": {
                "name": "small",
                "rows": self.rows,
                "classes": len(sizes),
                "columns": list(self.release),
            },
            "counts": "Counts are rows. A person with several rows counts several times.",
            "input": {"rows": self.input_rows, "version": None},
            "regions": "disjoint" if self.regions_lie_apart() else "overlapping",
            "guarantees": self.guarantees(min(sizes), self.parts),
            **self.left_out(),
            "attributes": {
                "sensitive": {name: self.attribute(name) for name in self.sensitive},
                "quasi_identifiers": {name: self.label_form(name) for name in self.quasi},
            },
            "information": {
                "attributes": {name: self.differences(name) for name in names},
                "tuples": {"distance": "equal", **together, "growth": growth},
                "alone": [self.alone(pair) for pair in combinations(names, 2)],
            },
            "utility": {
                "ncp": self.ncp,
                "ncp_by_quasi_identifier": {
                    q: float((sum(loss) + self.suppressed) / self.input_rows)
                    for q, loss in self.loss.items()
                },
                "ncp_weighted": self.weighted_ncp,
                "average_class_size": self.rows / len(sizes),
                "smallest_class": min(sizes),
                "largest_class": max(sizes),
                "discernibility": sum(size**2 for size in sizes)
                + self.suppressed * self.input_rows,
            },
            "evidence": {"labels_checked": self.rows},
            "allow_unique": [],
            "warnings": self.warnings(),
        }

    def extremes(self) -> dict[str, list[dict[str, Any]]]:
        """The ten largest and the ten smallest classes, NULL first."""
        shown = [
            {
                "size": len(rows),
                "labels": dict(zip(self.labels, key, strict=True)),
                "emd": {
                    name: float(
                        distance(self.attribute(name), self.parts[name][place], self.table[name]),
                    )
                    for name in self.sensitive
                },
            }
            for place, (key, rows) in enumerate(self.classes.items())
        ]
        shown.sort(
            key=lambda entry: [(label is not None, label) for label in entry["labels"].values()],
        )
        return {
            "largest": sorted(shown, key=lambda entry: -entry["size"])[:10],
            "smallest": sorted(shown, key=lambda entry: entry["size"])[:10],
        }

    def figures(self) -> dict[str, Any]:
        """What the page shows of all classes."""
        return {
            "columns": {
                name: {"type": self.types[name], "missing": sum(value is None for value in values)}
                for name, values in self.release.items()
            },
            "extremes": self.extremes(),
            "spreads": {
                "sizes": self.sizes(),
                "emd": {s: self.distances(s) for s in self.sensitive},
                "guess": {s: in_twentieths(self.parts[s], likeliest) for s in self.sensitive},
                "gain": {
                    s: in_twentieths(self.parts[s], partial(self.gain, s)) for s in self.sensitive
                },
                "precision": {q: self.precision(q) for q in self.quasi},
            },
            "worst": {s: self.worst(s) for s in self.sensitive},
        }

    def sizes(self) -> list[dict[str, int]]:
        sizes = [len(rows) for rows in self.classes.values()]
        places = [max(i for i, least in enumerate(SIZES) if least <= size) for size in sizes]
        return [
            {
                "from": SIZES[i],
                "to": SIZES[i + 1] - 1,
                "classes": places.count(i),
                "rows": sum(size for size, place in zip(sizes, places, strict=True) if place == i),
            }
            for i in range(min(places), max(places) + 1)
        ]

    def gain(self, name: str, part: Counter[str | None]) -> Fraction:
        table = self.table[name]
        return max(
            Fraction(n, part.total()) - Fraction(table[v], table.total()) for v, n in part.items()
        )

    def distances(self, name: str) -> list[dict[str, Any]]:
        t = self.sensitive[name]["t"]
        width = Fraction(1, 100) if t == "measure" else Fraction(t) / 40
        entry = self.attribute(name)
        reached = [distance(entry, part, self.table[name]) for part in self.parts[name]]
        return in_bins([math.ceil(d / width) for d in reached], self.parts[name], float(width))

    def precision(self, name: str) -> list[dict[str, Any]]:
        asked = self.quasi[name]
        edges = [Fraction(d) * Fraction(10) ** e for e in range(-6, 9) for d in (1, 2, 5)]
        found: dict[tuple[int, str], list[int]] = {}
        for rows in self.classes.values():
            said = [self.release[column][rows[0]] for column in self.columns[name]]
            if said[0] is None:
                key = (-1, "missing (published as NULL)")
            elif said[0] == "*":
                key = (10_000, "* (nothing)")
            elif asked.get("hierarchy"):
                level = min(path.index(said[0]) for path in self.paths if said[0] in path)
                key = (level, f"level {level} of its hierarchy" if level else "the value")
            else:
                numbers = asked.get("type") == "numeric"
                numeric = [end for label in said for end in ends(str(label))] if numbers else []
                wide = (
                    max(numeric) - min(numeric) if numbers else Fraction(len(members(str(said[0]))))
                )
                place = next(i for i, edge in enumerate(edges) if wide <= edge)
                most = f"{float(edges[place]):,.6f}".rstrip("0").rstrip(".")
                name_of = f"up to {most} wide" if numbers else f"a set of up to {most}"
                key = (
                    (0, "the value")
                    if wide == 0 or (not numbers and wide == 1)
                    else (place + 1, name_of)
                )
            sums = found.setdefault(key, [0, 0])
            sums[0] += 1
            sums[1] += len(rows)
        return [
            {"precision": key[1], "classes": n, "rows": rows}
            for key, (n, rows) in sorted(found.items())
        ]

    def worst(self, name: str) -> dict[str, Any]:
        """The farthest class; of equally far ones the smallest, then the first by labels."""
        entry, settings = (
            self.attribute(name),
            SensitiveAttribute.model_validate(self.sensitive[name]),
        )
        by_rank = {
            (
                -distance(entry, part, self.table[name]),
                part.total(),
                tuple((label is not None, label or "") for label in key),
            ): (key, part)
            for key, part in zip(self.classes, self.parts[name], strict=True)
        }
        (_, (labels, part)) = min(by_rank.items())
        tree = CITIES.with_missing("cities.csv") if settings.distance == "hierarchical" else None
        judged = judged_attribute(name, settings, dict(self.table[name]), tree, name != "pay")
        counts = np.array([part[value] for value in entry["domain"]["values"]])
        moves = transport_plan(judged.distance, counts).moves
        excess = [
            Fraction(part[v], part.total())
            - Fraction(self.table[name][v], self.table[name].total())
            for v in entry["domain"]["values"]
        ]
        ordered = entry["distance"] == "ordered"
        return {
            "labels": dict(zip(self.labels, labels, strict=True)),
            "size": part.total(),
            "emd": float(distance(entry, part, self.table[name])),
            "values": entry["m"],
            "groups": [
                vars(g)
                for g in group_values(judged.values, counts, judged.distance.table, ordered, tree)
            ],
            "moved": float(sum(max(x, Fraction(0)) for x in excess)),
            "moves": [
                {
                    "from": judged.values[move.source],
                    "to": judged.values[move.target],
                    **{key: float(getattr(move, key)) for key in ("mass", "distance", "cost")},
                }
                for move in sorted(moves, key=lambda move: -move.cost)[:8]
            ],
            "more_moves": max(0, len(moves) - 8),
        }


def in_bins(
    places: Sequence[int],
    parts: Sequence[Counter[str | None]],
    width: float,
) -> list[dict[str, Any]]:
    return [
        {
            "bin": i,
            "to": round(i * width, 12),
            "classes": places.count(i),
            "rows": sum(
                part.total() for part, place in zip(parts, places, strict=True) if place == i
            ),
        }
        for i in sorted(set(places))
    ]


def in_twentieths(
    parts: Sequence[Counter[str | None]],
    share: Callable[[Counter[str | None]], Fraction],
) -> list[dict[str, Any]]:
    return in_bins([math.ceil(share(part) * 20) for part in parts], parts, 1 / 20)


def likeliest(part: Counter[str | None]) -> Fraction:
    return Fraction(max(part.values()), part.total())


def flat(tree: Any, path: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], Any]:
    """The leaves of a document, by path."""
    if isinstance(tree, dict | list) and tree:
        parts = tree.items() if isinstance(tree, dict) else enumerate(tree)
        return {
            key: leaf for step, part in parts for key, leaf in flat(part, (*path, step)).items()
        }
    return {path: tree}


@pytest.fixture(scope="module", params=METHODS)
def folder(
    request: pytest.FixtureRequest,
    every_k_installed: None,
    write_run: Callable[..., Path],
    open_run: Callable[..., Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A finished run by each method, beside its run file and hierarchy."""
    place = tmp_path_factory.mktemp(request.param.replace(" ", "_"))
    sensitive = dict(SENSITIVE)
    if request.param != "fragmentation":  # which makes no l
        sensitive["disease"] = {**sensitive["disease"], "l": {"distinct": 2}}
    privacy = LIMITS.get(request.param)
    run = write_run(
        place,
        people(),
        quasi=QUASI,
        sensitive=sensitive,
        k=4,
        privacy=privacy,
        method=METHODS[request.param],
    )
    pipeline.release(open_run(run))
    return place


def test_everything_public_is_computed_again_from_the_release_and_the_run_file(
    folder: Path,
) -> None:
    found, certificate = (
        Found(folder),
        json.loads((folder / "out/public/certificate.json").read_text()),
    )
    page = (folder / "out/public/report.html").read_text()
    expected = found.certificate()
    # no figures of the data: the tool, the moment, the method's settings and its package; and a
    # hash of the rows, and how many expectations there are
    for path in (
        ("tool",),
        *([("brought",)] if "brought" in certificate else []),
        ("issued",),
        ("method",),
        ("release", "fingerprint"),
        ("evidence", "expectations_evaluated"),
    ):
        section, of = expected, certificate
        for step in path[:-1]:
            section, of = section[step], of[step]
        section[path[-1]] = of[path[-1]]
    told, again = flat(certificate), flat(expected)
    assert set(told) == set(again)
    for path, value in told.items():
        assert (
            value == pytest.approx(again[path], abs=1e-7)
            if isinstance(value, float)
            else value == again[path]
        ), path
    assert (
        render_report(Certificate.read(certificate), figures_with(**found.figures())) == page
    )  # of which all figures are computed again now
    assert len(found.classes) > 1


def test_the_certificate_is_as_its_schema_says(folder: Path) -> None:
    schema = json.loads(
        resources.files("tclose_spark").joinpath("report/certificate.schema.json").read_text(),
    )
    certificate = json.loads((folder / "out/public/certificate.json").read_text())
    assert FILE.read_text() == certificate_schema_text(), (
        "make it anew: python -m tclose_spark.report.certificate.schema"
    )
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(certificate, schema)
    for section in ("release", "guarantees", "utility", "evidence"):
        brought = section == "guarantees"  # has sections of requirements of other packages
        with pytest.raises(
            jsonschema.ValidationError,
            match="not of type 'object'" if brought else "unexpected",
        ):
            jsonschema.validate(
                {**certificate, section: {**certificate[section], "more": 1}},
                schema,
            )
        with pytest.raises(jsonschema.ValidationError, match="required property"):
            jsonschema.validate(
                {key: part for key, part in certificate.items() if key != section},
                schema,
            )


def test_a_third_party_computes_the_distances_from_certificate_and_release(folder: Path) -> None:
    certificate, found = (
        json.loads((folder / "out/public/certificate.json").read_text()),
        Found(folder),
    )
    for name, entry in certificate["attributes"]["sensitive"].items():
        worst = max(distance(entry, part, found.table[name]) for part in found.parts[name])
        assert str(worst) == certificate["guarantees"]["t"][name]["achieved_exact"], name


def test_the_distribution_that_classes_are_compared_with(folder: Path) -> None:
    """Where that is the input's, and not all of it released, the certificate tells it."""
    found, raw = Found(folder), people()
    whole = {
        s: Counter(
            None if v is None else str(v).strip() if s == "ward" else str(v)
            for v in raw[s].to_pylist()
        )
        for s in found.sensitive
    }
    of_input = found.suppressed > 0 and found.run["privacy"].get("of", "input") == "input"
    assert {s: found.table[s] == whole[s] for s in whole} == dict.fromkeys(
        whole,
        of_input or not found.suppressed,
    )
    assert set(found.inputs) == (set(whole) if of_input else set())
    left = 11 if found.run["method"]["name"] == "t_incognito" else 15
    assert found.suppressed == (left if "suppression_limit" in found.run["privacy"] else 0)


def test_the_range_of_a_rounded_column_cannot_be_solved_from_what_is_public(folder: Path) -> None:
    certificate, found = (
        json.loads((folder / "out/public/certificate.json").read_text()),
        Found(folder),
    )
    lengths = [
        ends(label)[-1] - ends(label)[0]
        for label in found.release["income"]
        if label not in (None, "*")
    ]
    suppressed = found.release["income"].count("*")
    loss = certificate["utility"]["ncp_by_quasi_identifier"]["income"]
    solved = float(sum(lengths)) / (found.input_rows * loss - suppressed - found.suppressed)
    # It suppresses both extremes.
    span = 400_000 if found.run["method"]["name"] == "t_incognito" else 1_250_000
    assert solved == pytest.approx(span, rel=1e-6)
    inside = json.loads((folder / "out/internal/run.json").read_text())["stages"]["verify"][
        "figures"
    ]["by_input"]
    by_input = (
        sum(min(Fraction(1), length / (HIGHEST - LOWEST)) for length in lengths)
        + suppressed
        + found.suppressed
    )
    assert inside["ncp_by_quasi_identifier"]["income"] == pytest.approx(
        float(by_input / found.input_rows),
        abs=1e-8,
    )
    public = "".join(
        (folder / "out/public" / name).read_text() for name in ("certificate.json", "report.html")
    )
    assert not [
        number
        for number in (LOWEST, HIGHEST, HIGHEST - LOWEST)
        if str(number) in public or f"{number:,}" in public
    ]


# --- lists that are too long for a document


@pytest.mark.parametrize("items", [[], ["a", None], [f"value {i}" for i in range(1000)]])
def test_a_short_list_is_whole(items: Sequence[Any]) -> None:
    assert listing(items) == {"size": len(items), "values": items}


def test_a_long_list_is_its_size_and_a_hash() -> None:
    items = [None, *(f"é {i}" for i in range(1000))]
    written = "[null," + ",".join(f'"é {i}"' for i in range(1000)) + "]"
    assert listing(items) == {"size": 1001, "sha256": hashlib.sha256(written.encode()).hexdigest()}


def test_paths_are_named_so() -> None:
    assert listing([("Pisa", "*")], "paths") == {"size": 1, "paths": [["Pisa", "*"]]}


# --- what the console shows of it


def shown(capsys: pytest.CaptureFixture[str], certificate: dict[str, Any]) -> tuple[list[str], str]:
    """The lines on stdout, without the blanks that align them, and stderr."""
    written = certificate_with(certificate).to_json()
    release = SimpleNamespace(certificate=written, path="out", internal_path="out", codebook=[])
    show_release(cast(Release, release))
    out, err = capsys.readouterr()
    return [" ".join(line.split()) for line in out.splitlines()], err


def test_the_console_is_amber_where_an_attribute_is_unprotected(
    capsys: pytest.CaptureFixture[str],
) -> None:
    t = {"distance": "equal", "required": None, "achieved": 0.587}
    income = {"classes": 579, "rows": 8404}
    certificate: dict[str, Any] = {
        "verdict": "holds",
        "unprotected": {"income": income},
        "release": {"name": "survey", "rows": 9000, "classes": 900, "fingerprint": "f"},
        "guarantees": {"k": {"required": 5, "achieved": 5}, "t": {"income": t}, "l": {}},
        "attributes": {"sensitive": {"income": {"homogeneous": income}}},
        "utility": {"ncp": 0.2},
        "warnings": ["sex: the published value is * in all rows"],
    }
    lines, err = shown(capsys, certificate)
    people = "for 8,404 rows, in 579 classes of one value"
    assert lines[:2] == [
        "survey: the release holds",
        "but income is unprotected: nothing limits what a class reveals about it; certain "
        f"{people}",
    ]
    assert f"income is certain {people}" in lines
    assert err.strip() == "note: sex: the published value is * in all rows"
    assert not [line for line in lines if "suppressed" in line]
    lines, err = shown(capsys, {**certificate, "unprotected": {}, "warnings": []})
    assert not [line for line in lines if "unprotected" in line]
    assert f"income is certain {people}" in lines
    assert err == ""


def test_the_console_counts_what_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    t = {"distance": "equal", "required": 0.2, "achieved": 0.1}
    suppressed: dict[str, Any] = {"rows": 1000, "share": 0.1, "limit": 0.125, "of": "released"}
    certificate: dict[str, Any] = {
        "verdict": "holds",
        "unprotected": {},
        "release": {"name": "survey", "rows": 9000, "classes": 900, "fingerprint": "f"},
        "input": {"rows": 10_000},
        "guarantees": {"k": {"required": 5, "achieved": 5}, "t": {"income": t}, "l": {}},
        "suppressed": suppressed,
        "attributes": {"sensitive": {"income": {"homogeneous": {"classes": 0, "rows": 0}}}},
        "utility": {"ncp": 0.2},
        "warnings": [],
    }
    lines, _ = shown(capsys, certificate)
    assert [line for line in lines if "suppressed" in line] == [
        "suppressed rows 1,000 of 10,000, limit 0.125",
    ]
    k = {"required": 5, "achieved": 1000}
    suppressed["guarantees"] = {"k": k, "t": {"income": {**t, "achieved": 0.15}}, "l": {}}
    lines, _ = shown(capsys, certificate)
    assert "t of income, suppressed requested 0.2, achieved 0.150000" in lines
