"""Rows that a method leaves out: counted and named, published nowhere, and lost or doubled by
nobody unnoticed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from strategies import CITIES

from tclose_spark import pipeline
from tclose_spark.engine.tables import collect, read_delta
from tclose_spark.errors import ConfigurationError, DamagedStagingError, GuaranteeError, InputError
from tclose_spark.io.run import Run

ROWS, LEFT = 96, 12
DISEASES = ["flu", "gout", None]
PEOPLE = pa.table(
    {
        "age": [20 + i // 2 for i in range(ROWS)],
        "weight": [None if i % 16 == 0 else 50.5 + i % 7 for i in range(ROWS)],
        "sex": [["f", "m", None][i // 2 % 3] for i in range(ROWS)],
        "city": [None if i % 31 == 0 else CITIES.leaves[i % 5] for i in range(ROWS)],
        # of the twelve oldest, who are left out, one has what nobody else has
        "disease": ["anthrax" if i == ROWS - 1 else DISEASES[i % 3] for i in range(ROWS)],
        "pay": [900 + i % 4 * 100 for i in range(ROWS)],
        "region": [["east", None, "west", "west"][i % 4] for i in range(ROWS)],
    },
)
ROLES: dict[str, Any] = {
    "quasi": {
        "age": {"type": "numeric", "numeric_output": "bounds"},
        "weight": {"type": "numeric"},
        "sex": {},
        "city": {"hierarchy": "cities.csv"},
    },
    "sensitive": {"disease": {"t": "0.3"}, "pay": {"distance": "ordered", "t": "0.3"}},
    "insensitive_attributes": ["region"],
    "k": 6,
    "privacy": {"suppression_limit": "0.125"},
    "output": {"keep_linked": True},
}


def toy(**settings: Any) -> dict[str, Any]:
    return {"name": "every_k", "any_t": True, "suppress": LEFT, **settings}


@pytest.fixture(autouse=True, scope="module")
def installed(every_k_installed: None) -> None:
    """All these runs are of the toy method."""


@pytest.fixture(scope="module", params=["input", "released"])
def finished(
    request: pytest.FixtureRequest,
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
    tmp_path_factory: pytest.TempPathFactory,
) -> Run:
    """A finished release that lacks a row in eight."""
    run = open_run(
        write_run(tmp_path_factory.mktemp("left"), PEOPLE, method=toy(), **ROLES),
        f"privacy.of={request.param}",
    )
    pipeline.release(run)
    return run


def rows_of(run: Run, *place: str) -> list[dict[str, Any]]:
    folder = run.public.path().rsplit("/", 1)[0]
    rows: list[dict[str, Any]] = collect(
        read_delta(run.session, f"{folder}/{'/'.join(place)}"),
    ).to_pylist()
    return rows


def certificate_of(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run.public.read("certificate.json"))
    return found


def test_what_stays_is_released_and_nothing_else(finished: Run) -> None:
    released, kept = rows_of(finished, "public", "release"), ["disease", "pay", "region"]
    stay = PEOPLE.slice(0, ROWS - LEFT).select(kept).to_pylist()
    assert Counter(tuple(row[name] for name in kept) for row in released) == Counter(
        tuple(row.values()) for row in stay
    )
    certificate = certificate_of(finished)
    assert (certificate["release"]["rows"], certificate["input"]["rows"]) == (ROWS - LEFT, ROWS)
    assert certificate["evidence"]["labels_checked"] == ROWS - LEFT
    assert certificate["release"]["classes"] == len(rows_of(finished, "internal", "classes")) == 14


def test_what_is_left_out_is_counted_and_named(finished: Run) -> None:
    told, page = certificate_of(finished)["suppressed"], finished.public.read("report.html")
    counted = {
        "rows": 12,
        "share": 0.125,
        "limit": 0.125,
        "limit_exact": "1/8",
        "of": finished.spec.privacy.of,
    }
    if finished.spec.privacy.of == "input":
        assert told["guarantees"]["k"] == {"required": 6, "achieved": 12}
        assert told["guarantees"]["t"]["pay"]["achieved_exact"] == "0"
        # of 96 rows 32 flu, 32 gout, 31 missing, 1 anthrax; of the twelve 4, 4, 3 and 1
        assert told["guarantees"]["t"]["disease"]["achieved_exact"] == "7/96"
        assert told["certain"] == []
    else:
        assert told == counted
    assert {key: told[key] for key in counted} == counted
    assert "Suppressed rows" in page
    assert "12, 0.125 of the input" in page.replace("&#39;", "'")


def test_the_input_s_distribution_is_public_only_where_classes_are_compared_with_it(
    finished: Run,
) -> None:
    disease = certificate_of(finished)["attributes"]["sensitive"]["disease"]
    of_input = finished.spec.privacy.of == "input"
    public = b"".join(
        path.read_bytes() for path in Path(finished.public.path()).rglob("*") if path.is_file()
    )
    assert (b"anthrax" in public) == of_input
    assert disease["domain"]["values"] == (
        ["anthrax", "flu", "gout", None] if of_input else ["flu", "gout", None]
    )
    assert disease["unused"]["values"] == (["anthrax"] if of_input else [])
    assert disease.get("input") == ({"size": 4, "counts": [1, 32, 32, 31]} if of_input else None)


def test_the_linked_table_has_every_input_row(finished: Run) -> None:
    linked = rows_of(finished, "internal", "linked")
    quasi = list(ROLES["quasi"])
    assert Counter(tuple(row[f"{name}_raw"] for name in quasi) for row in linked) == Counter(
        tuple(row.values()) for row in PEOPLE.select(quasi).to_pylist()
    )
    left = [row for row in linked if row["suppressed"]]
    assert sorted(row["age_raw"] for row in left) == PEOPLE["age"].to_pylist()[-LEFT:]
    assert {
        row[name] for row in left for name in ("age_min", "age_max", "weight", "sex", "city")
    } == {None}
    assert Counter((row["disease"], row["pay"], row["region"]) for row in left) == Counter(
        tuple(row.values())
        for row in PEOPLE.slice(ROWS - LEFT).select(["disease", "pay", "region"]).to_pylist()
    )


def test_the_run_s_record_and_the_recheck(finished: Run) -> None:
    stages = json.loads(finished.internal.read("run.json"))["stages"]
    assert stages["plan"]["plan"]["most_suppressed"] == LEFT
    assert stages["anonymize"]["method"] == {"rows": ROWS}
    assert json.loads(finished.internal.read("minimality.json"))["measured"] is True
    assert pipeline.verify(finished, finished=True).holds


# --- what goes wrong


@pytest.fixture
def run_of(run_file: Callable[..., Path]) -> Callable[..., Path]:
    """`run_of(suppress=.., limit=.., of=..)`: the run file of the toy."""

    def write(limit: str = "0.125", of: str = "input", **settings: Any) -> Path:
        privacy = {"suppression_limit": limit, "of": of}
        return run_file(
            PEOPLE,
            **{**ROLES, "privacy": privacy, "output": {}},
            method=toy(**settings),
        )

    return write


def nothing_public(folder: Path) -> bool:
    return not list(folder.glob("out/public/*"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"suppress": LEFT + 1}, "13 are suppressed, and privacy.suppression_limit allows 12"),
        (
            {"limit": "0", "of": "released"},
            "12 are suppressed, and privacy.suppression_limit allows 0",
        ),
        (
            {"suppress": 5},
            "the suppressed rows, a class .* are smaller than k = 6; the smallest has 5",
        ),
        ({"suppress": ROWS, "limit": "0.99"}, "the release has no rows; nothing is published"),
    ],
)
def test_what_breaks_a_guarantee_is_not_published(
    run_of: Callable[..., Path],
    tclose: Callable[..., tuple[int, str, str]],
    settings: Any,
    message: str,
) -> None:
    path = run_of(**settings)
    code, _, err = tclose("release", path)
    assert code == 1
    assert re.search(message, err), err
    assert nothing_public(path.parent)


@pytest.mark.parametrize("mistake", ["lost", "suppressed twice", "suppressed and kept"])
def test_every_row_stays_once_or_is_suppressed_once(
    run_of: Callable[..., Path],
    open_run: Callable[..., Run],
    mistake: str,
) -> None:
    path = run_of(mistake=mistake)
    run = open_run(path)
    pipeline.profile(run)
    pipeline.plan(run)
    with pytest.raises(
        DamagedStagingError,
        match=r"written \(9[57]\) are not those that were profiled \(96\)",
    ):
        pipeline.anonymize(run)
    with pytest.raises(ConfigurationError, match="the stage before it is not done"):
        pipeline.verify(run)
    assert nothing_public(path.parent)


def test_no_column_has_the_name_of_the_flag(
    run_file: Callable[..., Path],
    open_run: Callable[..., Run],
) -> None:
    table = PEOPLE.rename_columns(
        ["Suppressed" if name == "region" else name for name in PEOPLE.column_names],
    )
    roles = {**ROLES, "insensitive_attributes": ["Suppressed"]}
    with pytest.raises(
        InputError,
        match="column 'Suppressed': the release makes a column of this name",
    ):
        pipeline.profile(open_run(run_file(table, method=toy(), **roles)))


def test_a_release_of_nobody_is_refused(
    run_of: Callable[..., Path],
    open_run: Callable[..., Run],
) -> None:
    run = open_run(run_of(suppress=ROWS, limit="0.99", of="released"))
    with pytest.raises(GuaranteeError, match="no rows"):
        pipeline.release(run)
