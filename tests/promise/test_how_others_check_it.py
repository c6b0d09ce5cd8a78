"""How others check it: all figures are computed again, from the release and the certificate
alone.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from oracle.labels import ends, members
from oracle.third_party import ThirdParty, as_spark_writes, certificate_of, reached, read_table
from promise_page import promises
from strategies import CITIES

from tclose_spark import pipeline
from tclose_spark.io.run import Run


@pytest.fixture(scope="module")
def party(left_out: Path) -> ThirdParty:
    return ThirdParty(left_out / "public")


@promises(
    "`attributes` in the certificate, with the number of input rows",
    "The certificate holds what a third party needs to recompute every distance, every l and "
    "every loss",
)
def test_a_third_party_computes_every_figure_again(party: ThirdParty) -> None:
    certificate, losses = party.certificate, party.losses()
    parts = {name: party.parts(name) for name in party.sensitive}
    assert reached(certificate["guarantees"]) == party.guarantees(parts)
    left = {name: [party.whole[name] - party.released[name]] for name in party.sensitive}
    assert reached(certificate["suppressed"]["guarantees"]) == party.guarantees(left)
    for name, counts in parts.items():
        single = [part.total() for part in counts if len(part) == 1]
        assert party.sensitive[name]["homogeneous"] == {"classes": len(single), "rows": sum(single)}
    assert certificate["information"]["tuples"]["achieved_exact"] == str(party.tuples())
    utility, sizes = certificate["utility"], [len(rows) for rows in party.classes.values()]
    weights = {q: Fraction(entry.get("weight", 1)) for q, entry in party.quasi.items()}
    assert utility == {
        "ncp": pytest.approx(float(sum(losses.values()) / len(losses))),
        "ncp_by_quasi_identifier": {q: pytest.approx(float(lost)) for q, lost in losses.items()},
        "ncp_weighted": pytest.approx(
            float(sum(weights[q] * losses[q] for q in losses) / sum(weights.values())),
        ),
        "average_class_size": len(party.rows) / len(sizes),
        "smallest_class": min(sizes),
        "largest_class": max(sizes),
        "discernibility": sum(n * n for n in sizes)
        + party.suppressed * certificate["input"]["rows"],
    }
    assert all(0 < lost < 1 for lost in losses.values())
    assert max(len(counts) for counts in parts.values()) > 10


@promises("for a sensitive attribute, the ground distance")
def test_what_is_given_of_a_sensitive_attribute(party: ThirdParty) -> None:
    paths = sorted([*path] for path in CITIES.paths)
    given = {
        name: (
            entry["distance"],
            entry["domain"]["values"],
            entry["unused"]["values"],
            entry["missing"],
        )
        for name, entry in party.sensitive.items()
    }
    assert given == {
        "disease": ("equal", ["anthrax", "flu", "gout", None], ["anthrax"], "value"),
        "mood": (
            "ordered",
            [None, "never", "low", "middle", "high", "always"],
            ["never", "always"],
            "lowest",
        ),
        "dose": ("ordered", ["0.25", "2.5", "1.0E7"], [], "error"),
        "home": ("hierarchical", [*CITIES.leaves, None], ["Bari", "Nice"], "leaf"),
        "flag": ("equal", ["false", "true"], [], "value"),
    }
    for entry in party.sensitive.values():
        assert entry["m"] == entry["domain"]["size"] == len(entry["domain"]["values"])
    assert party.sensitive["home"]["hierarchy"] == {"size": 5, "paths": paths}


@promises("for a quasi-identifier, its type, its settings, its hierarchy, and the range")
def test_what_is_given_of_a_quasi_identifier(party: ThirdParty) -> None:
    def span(*columns: str) -> str:
        said = [row[column] for row in party.rows for column in columns]
        numbers = [end for label in said if label not in (None, "*") for end, _ in ends(label)]
        return str(max(numbers) - min(numbers))

    interval = {"type": "numeric", "numeric_output": "interval"}
    paths = sorted([*path] for path in CITIES.paths)
    named = {member for row in party.rows if row["site"] != "*" for member in members(row["site"])}
    given = {name: entry for name, entry in party.quasi.items() if name != "code"}
    assert given == {
        "age": {**interval, "weight": "2", "span": span("age")},
        "income": {**interval, "round_to": "500", "span": span("income")},
        "height": {
            "type": "numeric",
            "numeric_output": "bounds",
            "span": span("height_min", "height_max"),
        },
        "score": {**interval, "range": ["0", "100"], "span": "100"},
        "city": {"type": "categorical", "hierarchy": {"size": 5, "paths": paths}},
        "sex": {"type": "categorical", "generalization": "suppress"},
        "site": {"type": "categorical", "generalization": "set", "named": len(named)},
    }


@promises("A hierarchy that the tool built is represented by its size")
def test_a_hierarchy_that_was_built_is_its_size_and_the_leaves_below_labels(
    party: ThirdParty,
) -> None:
    codes = ["A00", "A01", "B10", "B11"]
    published = {row["code"] for row in party.rows} - {*codes, None}
    below = sorted(
        [label, sum(code.startswith(label.strip("*")) for code in codes)] for label in published
    )
    assert below
    assert party.quasi["code"] == {
        "type": "categorical",
        "hierarchy": {"size": 4},
        "leaves": {"size": len(below), "below": below},
    }


@promises(
    "the input's counts in the order of the domain",
    "Values are written as text the way Spark writes them.",
)
def test_the_input_s_counts_in_the_order_of_the_domain(party: ThirdParty, left_out: Path) -> None:
    raw = read_table(left_out / "internal/linked")
    assert len(raw) == certificate_of(left_out)["input"]["rows"]
    for name, entry in party.sensitive.items():
        counts = Counter(as_spark_writes(row[name]) for row in raw)
        assert entry["input"] == {
            "size": entry["m"],
            "counts": [counts[value] for value in entry["domain"]["values"]],
        }


@promises(
    "A floating-point number has the fewest digits that identify it, as Spark writes it on Java "
    "19 or later.",
)
def test_floating_point_numbers_have_the_fewest_digits(make_run: Callable[..., Run]) -> None:
    """Java 17 writes the first as 9.9999998E10."""
    weight = pa.array([1e11, 0.1, 2e-3] * 20, pa.float32())
    table = pa.table({"age": range(60), "weight": weight})
    certificate = pipeline.release(
        make_run(table, quasi={"age": {"type": "numeric"}}, sensitive={"weight": {}}),
    )
    (entry,) = certificate["attributes"]["sensitive"].values()
    assert set(entry["domain"]["values"]) == {"1.0E11", "0.1", "0.002"}


@promises("NULL means missing.")
def test_null_is_missing(party: ThirdParty, left_out: Path) -> None:
    raw = [row for row in read_table(left_out / "internal/linked") if not row["suppressed"]]
    for name in ("disease", "mood", "home"):
        assert party.released[name][None] == sum(row[name] is None for row in raw) > 0
    assert None in party.sensitive["home"]["domain"]["values"]
    missing = {row["sex_raw"] for row in raw if row["sex"] is None}
    assert missing == {None}


MANY = 1_001


@pytest.fixture(scope="module")
def long_lists(
    write_run: Callable[..., Path],
    open_run: Callable[..., Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A finished output whose lists are too long for a certificate."""
    folder = tmp_path_factory.mktemp("long")
    codes = [f"é{i:04d}" for i in range(MANY)]
    (folder / "codes.csv").write_text("".join(f"{code};{code[:3]};*\n" for code in reversed(codes)))
    table = {"code": codes, "pay": [i * 8 % MANY for i in range(MANY)], "illness": codes}
    quasi = {"code": {"hierarchy": "codes.csv"}}
    many = {"entropy": "20", "recursive": {"c": 3, "l": 2}}
    sensitive = {
        "pay": {"distance": "ordered", "l": many},
        "illness": {"distance": "hierarchical", "hierarchy": "codes.csv"},
    }
    path = write_run(folder, pa.table(table), quasi=quasi, sensitive=sensitive, k=50)
    pipeline.release(open_run(path))
    return path.parent


@promises("Lists of more than 1,000 values, and hierarchies of more than 1,000 leaves")
def test_long_lists_are_sizes_and_hashes(long_lists: Path, party: ThirdParty) -> None:
    def hashed(items: list[Any]) -> dict[str, Any]:
        text = json.dumps(items, separators=(",", ":"), ensure_ascii=False)
        return {"size": len(items), "sha256": hashlib.sha256(text.encode("utf-8")).hexdigest()}

    attributes = certificate_of(long_lists / "out")["attributes"]
    paths = [[f"é{i:04d}", f"é{i:04d}"[:3], "*"] for i in range(MANY)]
    assert attributes["sensitive"]["pay"]["domain"] == hashed([str(i) for i in range(MANY)])
    assert attributes["sensitive"]["illness"]["hierarchy"] == hashed(paths)
    assert attributes["quasi_identifiers"]["code"]["hierarchy"] == hashed(paths)
    assert "values" in party.sensitive["mood"]["domain"]


@promises("The third party then needs the run file and its hierarchies.")
def test_with_the_files_of_the_run_the_figures_follow_again(long_lists: Path) -> None:
    paths = [line.split(";") for line in (long_lists / "codes.csv").read_text().splitlines()]
    found = ThirdParty(long_lists / "out/public")
    values = {"pay": [str(i) for i in range(MANY)], "illness": [path[0] for path in paths]}
    tree = {"size": MANY, "paths": paths}
    for name, entry in found.sensitive.items():
        entry["domain"]["values"] = values[name]
    found.sensitive["illness"]["hierarchy"] = found.quasi["code"]["hierarchy"] = tree
    parts = {name: found.parts(name) for name in values}
    assert reached(found.certificate["guarantees"]) == found.guarantees(parts)
    assert found.certificate["utility"]["ncp"] == pytest.approx(float(found.losses()["code"]))
