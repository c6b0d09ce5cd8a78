"""docs/promise.md from its top to "What is promised": each sentence is held against the files of
finished releases, in plain Python.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise
from math import exp, log
from pathlib import Path
from typing import Any

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from people import list_again
from promise_page import LIMITS, promises
from scipy.optimize import linprog
from strategies import CITIES

from tclose_spark import pipeline

Record = Mapping[str, Any]
ROWS = 160


@dataclass(frozen=True)
class Finished:
    """A finished release, as a third party finds it; and the input's rows beside what is published
    of them.
    """

    output: Path
    asked: Mapping[str, Any]

    @property
    def certificate(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.output / "public/certificate.json").read_text())
        return found

    @property
    def rows(self) -> list[dict[str, Any]]:
        return records(self.output / "public/release")

    @property
    def linked(self) -> list[dict[str, Any]]:
        return records(self.output / "internal/linked")

    @property
    def input(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = pq.read_table(
            self.output.parent / "people.parquet",
        ).to_pylist()
        return found

    def columns(self, role: str) -> list[str]:
        return list(self.asked["attributes"].get(role, ()))

    @property
    def labels(self) -> list[str]:
        """The published columns of the quasi-identifiers."""
        own = [*self.columns("sensitive_attributes"), *self.columns("insensitive_attributes")]
        return [name for name in self.certificate["release"]["columns"] if name not in own]

    @property
    def classes(self) -> list[list[dict[str, Any]]]:
        found: dict[Any, list[dict[str, Any]]] = {}
        for row in self.rows:
            found.setdefault(tuple(row[name] for name in self.labels), []).append(row)
        return list(found.values())

    @property
    def public_text(self) -> str:
        """All that is public, and each value of the table on a line of its own."""
        folder = self.output / "public"
        texts = [
            path.read_text()
            for path in folder.rglob("*")
            if path.suffix in (".json", ".html", ".csv")
        ]
        return "\n".join([*texts, *(str(value) for row in self.rows for value in row.values())])


def records(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = deltalake.DeltaTable(str(folder)).to_pyarrow_table().to_pylist()
    return found


def counted(rows: Sequence[Record], name: str, domain: Sequence[Any]) -> list[Fraction]:
    """The distribution of a column over a domain of texts."""
    counts = Counter(None if row[name] is None else str(row[name]) for row in rows)
    assert set(counts) <= set(domain)
    return [Fraction(counts[value], len(rows)) for value in domain]


def ground_of(entry: Mapping[str, Any]) -> list[list[Fraction]]:
    """How far two values are from each other, by what the certificate says of an attribute."""
    domain = entry["domain"]["values"]
    if entry["distance"] == "equal":
        return [[Fraction(a != b) for b in domain] for a in domain]
    if entry["distance"] == "ordered":
        places = range(len(domain))
        return [[Fraction(abs(i - j), max(1, len(domain) - 1)) for j in places] for i in places]
    paths = {path[0]: path for path in entry["hierarchy"]["paths"]}
    height = len(next(iter(paths.values()))) - 1

    def apart(a: str, b: str) -> Fraction:
        return Fraction(next(h for h in range(height + 1) if paths[a][h:] == paths[b][h:]), height)

    return [[apart(a, b) for b in domain] for a in domain]


def moved(
    part: Sequence[Fraction],
    whole: Sequence[Fraction],
    ground: Sequence[Sequence[Fraction]],
) -> float:
    """The earth mover's distance, by linear programming."""
    m = len(part)
    sums = np.vstack([np.kron(np.eye(m), np.ones(m)), np.kron(np.ones(m), np.eye(m))])
    margins = [float(share) for share in (*part, *whole)]
    return float(linprog(np.array(ground, float).ravel(), A_eq=sums, b_eq=margins).fun)


def farthest(release: Finished, name: str, whole: Sequence[Record]) -> float:
    """The largest distance of a class from the whole, of an attribute."""
    entry = release.certificate["attributes"]["sensitive"][name]
    domain, ground = entry["domain"]["values"], ground_of(entry)
    of_whole = counted(whole, name, domain)
    return max(moved(counted(rows, name, domain), of_whole, ground) for rows in release.classes)


# --- releases, made once


@pytest.fixture(scope="module")
def released(
    write_run: Callable[..., Path],
    open_run: Callable[..., Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Finished]:
    """`released(table, quasi=.., ..)`: makes a release."""

    def make(table: pa.Table, *sets: str, **settings: Any) -> Finished:
        path = write_run(
            tmp_path_factory.mktemp("released"),
            table,
            **{**settings, "output": {"keep_linked": True, **settings.get("output", {})}},
        )
        pipeline.release(open_run(path, *sets))
        return Finished(path.parent / "out", yaml.safe_load(path.read_text()))

    return make


def patients() -> pa.Table:
    draw = np.random.default_rng(8)

    def pick(*values: Any) -> list[Any]:
        return [values[i] for i in draw.integers(len(values), size=ROWS)]

    return pa.table(
        {
            "person_id": [f"P-{7919 * i:07d}" for i in range(ROWS)],
            "age": pick(None, *range(20, 61)),
            "born": [
                date(1980, 1, 1) + timedelta(days=int(day))
                for day in draw.integers(4000, size=ROWS)
            ],
            "code": pick("A001", "A002", "B100", "B20"),
            "town": pick("Lyon", "Nice, old", "Pisa"),
            "city": pick(*CITIES.leaves),
            "disease": pick("flu", " flu", "gout", "ulcer", None),
            "pay": pick(900, 1000, 1200, 1500),
            "icd": pick("C00", "C01", "D10", "D11"),
            "region": pick("north", "south"),
            "score": pa.array(pick(1.5, float("nan"), None, -0.0), pa.float64()),
            "note": pick("left out"),
        },
    )


@pytest.fixture(scope="module")
def several(released: Callable[..., Finished]) -> Finished:
    """Three sensitive attributes, one of each distance; labels of all kinds; nothing suppressed."""
    return released(
        patients(),
        quasi={
            "age": {"type": "numeric", "round_to": 5},
            "born": {"type": "date"},
            "code": {"hierarchy": {"prefix": 2}},
            "town": {"generalization": "set"},
            "city": {"hierarchy": "cities.csv"},
        },
        sensitive={
            "disease": {
                "t": "0.4",
                "l": {"distinct": 2, "entropy": "1.5", "recursive": {"c": "3", "l": 2}},
                "text": {"strip": True},
            },
            "pay": {"distance": "ordered", "t": "0.3"},
            "icd": {"distance": "hierarchical", "hierarchy": {"prefix": [2, 1]}, "t": "0.4"},
        },
        direct_identifiers=["person_id"],
        insensitive_attributes=["region", "score"],
        drop_others=True,
        k=6,
        output={"export": ["parquet", "csv"]},
    )


LEFT = {
    "age": 7079,
    "code": "Z99.87",
    "band": 7092,
    "sex": "zzx",
    "icd": "QQ0",
    "grade": "failed",
    "region": "moon",
}
"""The one person who is like nobody else, and is suppressed. `grade` stands in an order of the run
file.
"""


@pytest.fixture(scope="module")
def hidden(released: Callable[..., Finished]) -> Finished:
    """Few rows are suppressed, and classes are compared with the released rows."""
    draw = np.random.default_rng(5)
    columns = {
        "age": [7060 + int(x) for x in draw.integers(18, size=240)],
        "code": [["A00", "A01", "B10", "B1"][x] for x in draw.integers(4, size=240)],
        "band": [7011 + 10 * int(x) for x in draw.integers(5, size=240)],
        "sex": [["f", "m"][x] for x in draw.integers(2, size=240)],
        "icd": [["C00", "C01", "D10", "D11"][x] for x in draw.integers(4, size=240)],
        "grade": [["good", "fair"][x] for x in draw.integers(2, size=240)],
        "region": [["north", "south"][x] for x in draw.integers(2, size=240)],
    }
    return released(
        pa.table({name: [*values, LEFT[name]] for name, values in columns.items()}),
        quasi={
            "age": {"type": "numeric"},
            "code": {"hierarchy": {"prefix": 1}},
            "band": {"type": "numeric", "hierarchy": {"order": 3}},
            "sex": {"hierarchy": {"groups": {"either": ["f", "m"]}, "other": "another"}},
        },
        sensitive={
            "icd": {"distance": "hierarchical", "hierarchy": {"prefix": [2, 1]}, "t": "0.7"},
            "grade": {"distance": "ordered", "order": ["good", "fair", "failed"], "t": "0.5"},
        },
        insensitive_attributes=["region"],
        k=5,
        privacy={"suppression_limit": "0.02", "of": "released"},
        method={"name": "t_incognito"},
    )


@pytest.fixture(scope="module")
def compared(released: Callable[..., Finished]) -> Finished:
    """Five rows are suppressed by a method that leaves out labels that are too coarse; of:
    input.
    """
    columns = {
        "city": [*["a", "b", "c"] * 40, *["d"] * 5],
        "age": [*[1, 2, 3] * 40, 99, 1, 50, 98, 3],
        "ill": ["y", "n", "y", "n", "y"] * 24 + ["n"] * 3 + ["y"] * 2,
    }
    return released(
        pa.table(columns),
        quasi={"city": {"generalization": "set"}, "age": {"type": "numeric", "coarsest": 5}},
        sensitive={"ill": {"t": "0.5"}},
        k=5,
        privacy={"suppression_limit": "0.05"},
        method={"name": "closeness_tree", "effort": "fast"},
    )


@pytest.fixture(scope="module")
def twice(released: Callable[..., Finished], tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Everybody has two rows, in the second version of a Delta table; k is chosen."""
    table = pa.table(
        {
            "patient_id": [f"P-{i // 2}" for i in range(80)],
            "age": [20 + i // 2 for i in range(80)],
            "disease": [["flu", "gout", "ulcer", "cold"][i % 4] for i in range(80)],
        },
    )
    folder = tmp_path_factory.mktemp("delta") / "people"
    for _ in range(2):
        deltalake.write_deltalake(str(folder), table, mode="overwrite")
    return released(
        table,
        quasi={"age": {"type": "numeric"}},
        sensitive={"disease": {"t": "0.5"}},
        direct_identifiers=["patient_id"],
        source={"path": str(folder), "format": "delta"},
        privacy={"k": "auto"},
    )


@pytest.fixture(scope="module")
def plain(finished: Path, conf: Path) -> Finished:
    return Finished(finished, yaml.safe_load(conf.read_text()))


@pytest.fixture(scope="module", params=["plain", "several", "hidden", "compared", "twice"])
def release(request: pytest.FixtureRequest) -> Finished:
    """Every release in turn."""
    found: Finished = request.getfixturevalue(request.param)
    return found


# --- a row is taken for a person


@promises(
    "A row is taken for a person, unless",
    "Other counts here are counts of rows.",
    "Repeated people.",
    "If one person has several",
)
def test_a_class_of_k_rows_may_hold_fewer_than_k_people(twice: Finished) -> None:
    k = twice.certificate["guarantees"]["k"]
    people: dict[str, set[int]] = {}
    for row in twice.linked:  # an age is one person's
        people.setdefault(row["age"], set()).add(row["age_raw"])
    assert k["achieved"] == min(map(len, twice.classes))
    assert min(map(len, people.values())) < k["achieved"]


@promises(
    "A note says which column groups rows like people.",
    "A note above the verdict says which column groups rows like people.",
)
def test_the_profile_notes_which_column_groups_rows_like_people(
    twice: Finished,
    several: Finished,
) -> None:
    profiles = [
        json.loads((each.output / "internal/run.json").read_text())["stages"]["profile"]
        for each in (twice, several)
    ]
    warned, other = ([*each["subjects"]["internal"], *each["warnings"]] for each in profiles)
    assert any("patient_id" in line for line in warned)
    assert not any("person_id" in line for line in other)


# --- k, t, l


@promises("k-anonymity.", "Every equivalence class has at least k rows.")
def test_every_equivalence_class_has_at_least_k_rows(release: Finished) -> None:
    sizes = [len(rows) for rows in release.classes]
    k = release.certificate["guarantees"]["k"]
    asked = release.asked["privacy"]["k"]
    assert min(sizes) == k["achieved"] >= k["required"] >= (2 if asked == "auto" else asked)


@promises("A class is the set of all rows that share their published")
def test_a_class_is_all_rows_that_share_the_published_quasi_identifiers(release: Finished) -> None:
    table = records(release.output / "internal/classes")
    assert sorted(row["size"] for row in table) == sorted(map(len, release.classes))
    assert release.certificate["release"]["classes"] == len(table)
    assert {tuple(row["quasi_identifiers"].values()) for row in table} == {
        tuple(rows[0][name] for name in release.labels) for rows in release.classes
    }


@promises(
    "t-closeness.",
    "In every class, the distribution of each sensitive attribute with a t is at most that t",
    "The distance is the earth mover's distance with the declared ground distance",
)
def test_in_every_class_the_earth_mover_s_distance_is_at_most_t(release: Finished) -> None:
    whole = (
        release.linked if release.asked["privacy"].get("of", "input") == "input" else release.rows
    )
    for name, asked in release.asked["attributes"]["sensitive_attributes"].items():
        told, distance = (
            release.certificate["guarantees"]["t"][name],
            asked.get("distance", "equal"),
        )
        assert (told["distance"], told["required_exact"]) == (distance, str(Fraction(asked["t"])))
        found = farthest(release, name, whole)
        assert found <= float(asked["t"]) + 1e-9
        assert found == pytest.approx(float(Fraction(told["achieved_exact"])))


@promises("Distances are compared in exact integers, so a t of 0.1")
def test_a_t_is_compared_exactly(
    plain: Finished,
    tclose: Callable[..., tuple[int, str, str]],
) -> None:
    told = plain.certificate["guarantees"]["t"]["disease"]
    whole = Counter(row["disease"] for row in plain.rows)
    apart = [
        sum(
            abs(Fraction(Counter(row["disease"] for row in rows)[v], len(rows)) - Fraction(n, 48))
            for v, n in whole.items()
        )
        for rows in plain.classes
    ]
    assert (
        Fraction(told["achieved_exact"]) == max(apart) / 2 == Fraction(3, 20) > Fraction(0.15)
    )  # the double is less
    asked = (
        "audit",
        plain.output / "public/release",
        "-q",
        "age,city",
        "-s",
        "disease:equal",
        "--no-attacks",
    )
    assert [tclose(*asked, "--t", t)[0] for t in ("0.15", "0.1499999999999999999999")] == [0, 1]
    assert told["required_exact"] == "1/5"


@promises("These options change what a class is compared with")
def test_suppression_and_nt_change_what_a_class_is_compared_with(
    compared: Finished,
    hidden: Finished,
) -> None:
    told = compared.certificate["guarantees"]["t"]["ill"]["achieved"]
    assert told == pytest.approx(farthest(compared, "ill", compared.linked))
    assert told != pytest.approx(farthest(compared, "ill", compared.rows))
    assert hidden.certificate["guarantees"]["t"]["icd"]["achieved"] == pytest.approx(
        farthest(hidden, "icd", hidden.rows),
    )
    for heading in ("Suppression of rows", "(n, t)-closeness"):  # of which that section is
        assert f"\n## {heading}" in LIMITS.read_text()


@promises(
    "l-diversity, if the run file requires it.",
    "It is distinct, entropy, recursive (c, l) or frequency",
)
def test_l_diversity_is_distinct_entropy_and_recursive(several: Finished, plain: Finished) -> None:
    told = several.certificate["guarantees"]["l"]
    assert list(told) == ["disease"]
    distinct, entropy = [], []
    for rows in several.classes:
        counts = sorted(Counter(row["disease"] for row in rows).values(), reverse=True)
        distinct.append(len(counts))
        entropy.append(exp(-sum(n / len(rows) * log(n / len(rows)) for n in counts)))
        assert counts[0] < 3 * sum(counts[1:])
    assert told["disease"]["distinct"] == {"required": 2, "achieved": min(distinct)}
    assert told["disease"]["entropy"]["achieved"] == pytest.approx(min(entropy))
    assert min(distinct) >= 2
    assert min(entropy) >= 1.5
    assert min(len({row["disease"] for row in rows}) for rows in plain.classes) >= 2


@promises(
    "beta-likeness, if the run file requires it.",
    "In every class, no value is more than 1 + beta times",
)
@pytest.mark.parametrize("of", ["input", "released"])
def test_no_value_is_much_more_frequent_than_in_the_table(
    of: str,
    released: Callable[..., Finished],
) -> None:
    asked = {"disease": {"beta": "2/3", "l": {"frequency": "1.5"}, "text": {"strip": True}}}
    privacy = {"suppression_limit": "0.2", "of": of}
    release = released(
        patients().select(["age", "city", "disease"]),
        quasi={"age": {"type": "numeric"}, "city": {"hierarchy": "cities.csv"}},
        sensitive=asked,
        privacy=privacy,
        method={"name": "t_incognito"},
    )
    whole = Counter(row["disease"] for row in (release.linked if of == "input" else release.rows))
    assert len(release.classes) > 1
    shares = [
        (Fraction(n, len(rows)), Fraction(whole[value], whole.total()))
        for rows in release.classes
        for value, n in Counter(row["disease"] for row in rows).items()
    ]
    guarantees = release.certificate["guarantees"]
    assert guarantees["beta"]["disease"]["achieved_exact"] == str(max(p / q for p, q in shares) - 1)
    assert max(p / q for p, q in shares) <= Fraction(5, 3)
    assert max(p for p, _ in shares) <= Fraction(2, 3)
    assert guarantees["l"]["disease"]["frequency"]["achieved"] == pytest.approx(
        float(1 / max(p for p, _ in shares)),
    )


# --- truth


def covers(label: Any, value: Any, paths: Mapping[str, Sequence[str]] | None) -> bool:
    """Whether a label covers a raw value, by the label's text."""
    if label == "*" or label == (None if value is None else str(value)):
        return True
    if label is None or value is None:
        return False
    if paths is not None:
        return label in paths[str(value)]
    if label.startswith("{"):
        return str(value) in {
            quoted or bare
            for quoted, bare in re.findall(r'"([^"]*)"|([^{},"]+?)(?=[,}])\s?', label)
        } | {part.strip() for part in label[1:-1].split(",")}
    low, high = label[1:-1].split(", ")
    kind = date.fromisoformat if isinstance(value, date) else float
    return bool(kind(low) <= (value if isinstance(value, date) else float(value)) <= kind(high))  # type: ignore[operator]


def paths_of(release: Finished, column: str) -> dict[str, list[str]] | None:
    """The hierarchy of a column: the owner's file, or the one that was built."""
    asked = release.asked["attributes"]["quasi_identifiers"][column].get("hierarchy")
    if asked is None:
        return None
    built = [
        release.output / f"internal/{folder}/{column}.csv"
        for folder in ("released_hierarchies", "hierarchies")
    ]
    file = (
        release.output.parent / asked
        if isinstance(asked, str)
        else next(path for path in built if path.exists())
    )
    paths = [line.split(";") for line in file.read_text().splitlines()]
    return {path[0]: path for path in paths}


@promises("Truth.", "Every published label covers the raw value of its row.")
def test_every_published_label_covers_the_raw_value_of_its_row(release: Finished) -> None:
    stay = [row for row in release.linked if not row.get("suppressed")]
    assert len(stay) == len(release.rows)
    for name in release.columns("quasi_identifiers"):
        paths = paths_of(release, name)
        lies = [row for row in stay if not covers(row[name], row[f"{name}_raw"], paths)]
        assert not lies
        assert len({row[name] for row in stay}) > 1 or release.certificate["warnings"]
        assert not covers("[1900, 1901]", 37, None)  # of what the test itself knows


def text(value: Any) -> str:
    """One text for all forms of a value that Python does not compare: NaN is one."""
    return repr(value)


@promises(
    "Sensitive and insensitive values are those of the input, with four exceptions.",
    "A column's `text` options change its values.",
)
def test_sensitive_and_insensitive_values_are_those_of_the_input(several: Finished) -> None:
    names = ["disease", "pay", "icd", "region", "score"]
    given = [{**row, "disease": row["disease"] and row["disease"].strip()} for row in several.input]
    expected, found = (
        Counter(tuple(text(row[n]) for n in names) for row in rows)
        for rows in (given, several.rows)
    )
    assert found == expected
    assert {text(row["score"]) for row in several.rows} == {"1.5", "nan", "None", "-0.0"}
    assert " flu" in {row["disease"] for row in several.input}


@promises("Every input row is published exactly once, or suppressed and counted.")
def test_every_input_row_is_published_exactly_once_or_suppressed_and_counted(
    release: Finished,
) -> None:
    quasi = release.columns("quasi_identifiers")
    own = [*release.columns("sensitive_attributes"), *release.columns("insensitive_attributes")]
    stripped = {"disease"} if "score" in own else set()

    def keys(rows: Sequence[Record], names: Sequence[str]) -> Counter[Any]:
        trimmed = [
            {n: row[n].strip() if n in stripped and row[n] else row[n] for n in row} for row in rows
        ]
        return Counter(tuple(text(row[n]) for n in names) for row in trimmed)

    raw = [{**row, **{name: row[f"{name}_raw"] for name in quasi}} for row in release.linked]
    as_read = [
        {**r, **{n: str(r[n]) for n in quasi if n == "band" and isinstance(raw[0][n], str)}}
        for r in release.input
    ]
    assert keys(as_read, [*quasi, *own]) == keys(raw, [*quasi, *own])
    left = [row for row in release.linked if row.get("suppressed")]
    stay = [row for row in release.linked if not row.get("suppressed")]
    assert keys(stay, [*release.labels, *own]) == keys(release.rows, [*release.labels, *own])
    assert release.certificate.get("suppressed", {"rows": 0})["rows"] == len(left)
    assert release.certificate["input"]["rows"] == len(release.rows) + len(left)


@promises("Text that does not match its encoding is rejected.")
def test_text_in_another_encoding_than_the_declared_one_is_refused(
    tmp_path: Path,
    run_file: Callable[..., Path],
    tclose: Callable[..., tuple[int, str, str]],
) -> None:
    lines = ["age,sex,disease", *(f"{20 + i},f,{'Rötel' if i % 2 else 'flu'}" for i in range(12))]
    (tmp_path / "people.csv").write_bytes("\n".join(lines).encode("latin-1"))
    options = {"header": True, "encoding": "UTF-8"}
    path = run_file(None, source={"path": "people.csv", "format": "csv", "options": options})
    code, _, err = tclose("profile", path)
    assert (code, "disease" in err, "encoding" in err) == (2, True, True)
    assert not (tmp_path / "out/public").exists()


# --- nothing but the release


def loss_of(release: Finished, name: str) -> float:
    """The mean loss of a quasi-identifier by the released labels; a suppressed row loses all."""
    entry = release.certificate["attributes"]["quasi_identifiers"][name]
    labels = [row[name] for row in release.rows]

    def ends(label: str) -> list[float]:
        moments = re.findall(r"\d{4}-\d\d-\d\d", label)
        return [date.fromisoformat(end).toordinal() for end in moments] or list(
            map(float, re.findall(r"[\d.]+", label)),
        )

    if "hierarchy" in entry:
        below = (
            dict(entry["leaves"]["below"])
            if "leaves" in entry
            else Counter(node for path in entry["hierarchy"]["paths"] for node in set(path[1:]))
        )
        leaves = entry["hierarchy"]["size"]
        losses = [1.0 if label == "*" else below.get(label, 0) / leaves for label in labels]
    elif entry["type"] in ("numeric", "date"):
        known = [end for label in labels if label not in (None, "*") for end in ends(label)]
        span = max(known) - min(known)
        losses = [
            1.0
            if x == "*"
            else 0.0
            if x is None or not span
            else (max(ends(x)) - min(ends(x))) / span
            for x in labels
        ]
    elif entry.get("generalization") == "set":
        parts = {x: re.findall(r'"[^"]*"|[^{},]+', x) if x and x[0] == "{" else [x] for x in labels}
        members = {
            x: {part.strip(' "') for part in found if part.strip()}
            for x, found in parts.items()
            if x != "*"
        }
        named = set().union(*members.values())
        losses = [
            1.0 if x == "*" else 0.0 if len(members[x]) < 2 else len(members[x]) / len(named)
            for x in labels
        ]
    else:
        losses = [float(label == "*") for label in labels]
    left = release.certificate.get("suppressed", {"rows": 0})["rows"]
    return (sum(losses) + left) / (len(labels) + left)


@promises("Information loss, which is measured on the published labels")
def test_the_information_loss_is_measured_on_the_published_labels(release: Finished) -> None:
    told = release.certificate["utility"]
    for name, loss in told["ncp_by_quasi_identifier"].items():
        assert loss == pytest.approx(loss_of(release, name), abs=1e-8), name
    assert told["ncp"] == pytest.approx(np.mean([*told["ncp_by_quasi_identifier"].values()]))


@promises(
    "Nothing but the release.",
    "Every figure in the public report and the certificate follows",
)
@pytest.mark.parametrize("name", ["several", "hidden"])
def test_every_figure_of_the_public_report_and_the_certificate_follows_from_the_released_rows(
    name: str,
    request: pytest.FixtureRequest,
    open_run: Callable[..., Any],
    tmp_path: Path,
) -> None:
    """With another profile of the raw quasi-identifiers, certificate and report are made again, and
    are the same.
    """
    release = request.getfixturevalue(name)
    sizes, told = [len(rows) for rows in release.classes], release.certificate["utility"]
    left = release.certificate["input"]["rows"] - sum(sizes)
    assert told["discernibility"] == sum(n * n for n in sizes) + left * (sum(sizes) + left)
    assert told["average_class_size"] == pytest.approx(np.mean(sizes))
    assert (told["smallest_class"], told["largest_class"]) == (min(sizes), max(sizes))
    copy = Path(shutil.copytree(release.output, tmp_path / "copy"))
    profile = json.loads((copy / "internal/profile.json").read_text())
    for domain in profile["quasi"]:
        domain |= {
            "low": -1000,
            "high": 100_000,
            "present": 77,
            "missing": 5,
            "spellings": 3,
            "values": ["secret"],
        }
    (copy / "internal/profile.json").write_text(json.dumps({**profile, "distinct_rows": 3}))
    list_again(copy)
    assert pipeline.verify(
        open_run(release.output.parent / "run.yaml", f"output.path={copy}"),
        finished=True,
    ).holds


@promises(
    "The exceptions to nothing but the release are:",
    "the number of suppressed rows, and the input's distribution if classes",
)
def test_the_input_s_distribution_is_reported_where_classes_are_compared_with_it(
    compared: Finished,
    hidden: Finished,
    several: Finished,
) -> None:
    assert compared.certificate["suppressed"]["rows"] == 5
    entry = compared.certificate["attributes"]["sensitive"]["ill"]
    assert entry["input"]["counts"] == [
        Counter(row["ill"] for row in compared.input)[v] for v in entry["domain"]["values"]
    ]
    assert 0 < hidden.certificate["suppressed"]["rows"] <= 4
    for other in (hidden, several):
        assert not any(
            "input" in entry for entry in other.certificate["attributes"]["sensitive"].values()
        )
    assert "suppressed" not in several.certificate


@promises("the version of the input (Delta or Iceberg)", "k, if the run file says `k: auto`;")
def test_the_version_of_the_input_and_a_k_that_was_chosen_are_reported(
    twice: Finished,
    several: Finished,
) -> None:
    assert twice.certificate["input"]["version"] == 1
    assert several.certificate["input"]["version"] is None
    k = twice.certificate["guarantees"]["k"]
    assert "chosen" in k
    assert k["required"] >= 2
    assert "chosen" not in several.certificate["guarantees"]["k"]


@promises(
    "warnings about the raw table, and about",
    "They contain column names and counts, but no values.",
)
def test_warnings_about_the_raw_table_hold_names_of_columns_and_no_values(
    release: Finished,
) -> None:
    words = {
        word for line in release.certificate["warnings"] for word in re.findall(r"[\w.-]+", line)
    }
    own = [*release.columns("quasi_identifiers"), *release.columns("sensitive_attributes")]
    values = {str(value) for row in release.input for name, value in row.items() if name in own}
    common = {
        "flu",
        "y",
        "n",
        "f",
        "m",
        "a",
        "b",
        "c",
        "d",
        "None",
        "north",
        "south",
        "1",
        "2",
        "3",
    }
    assert not {value for value in values - common if not value.isdigit()} & words


# --- nothing else


@promises("Nothing else.", "The public folder has no direct identifier, no column without a role")
def test_the_public_folder_has_no_direct_identifier_and_no_column_without_a_role(
    release: Finished,
) -> None:
    roles = ("quasi_identifiers", "sensitive_attributes", "insensitive_attributes")
    with_a_role = {name for role in roles for name in release.columns(role)}
    assert set(release.rows[0]) == with_a_role
    for path in (release.output / "public").rglob("*.parquet"):
        assert set(pq.ParquetFile(path).schema_arrow.names) == with_a_role
    told = json.loads((release.output / "public/certificate.json").read_text())["release"][
        "columns"
    ]
    assert set(told) == with_a_role
    for name in set(release.input[0]) - with_a_role:
        values = {str(row[name]) for row in release.input} - {"left out"}
        assert not values & set(re.findall(r"[\w -]+", release.public_text))


@promises(
    "The public folder has no direct identifier, no column without a role and no column "
    "statistics.",
    "Its rows are ordered by their released values only.",
)
def test_it_has_no_statistics_no_history_and_no_order_of_rows(release: Finished) -> None:
    public = release.output / "public"
    (log_file,) = (public / "release/_delta_log").iterdir()
    assert log_file.name == "00000000000000000000.json"
    actions = [json.loads(line) for line in log_file.read_text().splitlines()]
    assert {kind for action in actions for kind in action} == {"protocol", "metaData", "add"}
    assert "stats" not in log_file.read_text()
    for path in public.rglob("*.parquet"):
        file = pq.ParquetFile(path)
        for group in range(file.metadata.num_row_groups):
            columns = [
                file.metadata.row_group(group).column(i) for i in range(file.metadata.num_columns)
            ]
            assert not any(column.is_stats_set for column in columns), path.name
        order = [
            tuple((v is not None, v or "") for v in row.values())
            for row in file.read(release.labels).to_pylist()
        ]
        assert order == sorted(order)


def test_rows_of_one_class_lie_in_an_order_of_their_values(several: Finished) -> None:
    own = ["disease", "pay", "icd"]
    for rows in several.classes:
        seen = [tuple(row[name] for name in own) for row in rows]
        assert sum(x != y for x, y in pairwise(seen)) + 1 == len(set(seen))


@promises("File names are random on local disks")
def test_names_of_files_are_random(release: Finished) -> None:
    random = r"part-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}(\.snappy)?\.(parquet|csv)"
    names = [path.name for path in (release.output / "public").glob("release*/*.*")]
    assert names
    assert not [name for name in names if not re.fullmatch(random, name)]


# --- nothing of suppressed people


@promises(
    "Values of suppressed people.",
    "With `privacy.of: released`, no value that only suppressed rows have",
    "It appears in no domain and no hierarchy",
)
def test_no_value_that_only_suppressed_rows_have_is_published(hidden: Finished) -> None:
    left = [row for row in hidden.linked if row.get("suppressed")]
    stay = [row for row in hidden.linked if not row.get("suppressed")]
    told = hidden.certificate["attributes"]
    for name in (*hidden.columns("quasi_identifiers"), *hidden.columns("sensitive_attributes")):
        raw = f"{name}_raw" if f"{name}_raw" in left[0] else name
        alone = {str(row[raw]) for row in left} - {str(row[raw]) for row in stay}
        assert str(LEFT[name]) in alone
        if name != "grade":
            assert not [
                value for value in alone if re.search(rf"\b{re.escape(value)}", hidden.public_text)
            ]
    assert told["sensitive"]["icd"]["domain"]["values"] == ["C00", "C01", "D10", "D11"]
    assert "QQ" not in hidden.public_text
    assert "Z" not in {str(row["code"])[0] for row in hidden.rows}
    for name in ("code", "band"):
        assert told["quasi_identifiers"][name]["hierarchy"]["size"] == len(
            {row[f"{name}_raw"] for row in stay},
        )


@promises("A value that the run file lists, or a hierarchy file")
def test_a_value_that_the_run_file_itself_lists_may_stand_there(hidden: Finished) -> None:
    grade = hidden.certificate["attributes"]["sensitive"]["grade"]
    assert (grade["domain"]["values"], grade["unused"]["values"]) == (
        ["good", "fair", "failed"],
        ["failed"],
    )
    assert "failed" not in {row["grade"] for row in hidden.rows}


def test_the_releases_are_what_these_tests_need(
    several: Finished,
    hidden: Finished,
    compared: Finished,
) -> None:
    assert min(len(each.classes) for each in (several, hidden, compared)) > 1
    assert len(several.classes) > 5
    assert {len(each.rows) < len(each.input) for each in (hidden, compared)} == {True}
