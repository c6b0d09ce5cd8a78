"""A method of another package comes through the same door as ours: an entry point, and nothing
else.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tclose_spark import pipeline
from tclose_spark.cli import main
from tclose_spark.errors import ConfigurationError, GuaranteeError
from tclose_spark.io.run import Run
from tclose_spark.io.tables.delta import read_delta
from tclose_spark.runfile import registry
from tclose_spark.runfile.loading import load_spec

ROWS = 90
PEOPLE = pa.table(
    {
        "age": [20 + 7 * i % 31 for i in range(ROWS)],
        "sex": ["fm"[i % 2] for i in range(ROWS)],
        "city": [["Pisa", "Siena", "Lyon"][i % 3] for i in range(ROWS)],
        "weight": [50 + i % 40 for i in range(ROWS)],
        "disease": [["flu", "gout"][i // 7 % 2] for i in range(ROWS)],
    },
)
QUASI = {
    "age": {"type": "numeric"},
    "sex": {},
    "city": {"hierarchy": "cities.csv"},
    "weight": {"type": "numeric"},
}


@pytest.fixture
def every_k(
    every_k_installed: None,
    run_file: Callable[..., Path],
    open_run: Callable[..., Run],
) -> Callable[..., Run]:
    """`every_k(others=...)`: a run of that method."""

    def make(**settings: Any) -> Run:
        method = {"name": "every_k", **settings}
        return open_run(
            run_file(
                PEOPLE,
                quasi=QUASI,
                sensitive={"disease": {"t": "measure"}},
                k=6,
                method=method,
            ),
        )

    return make


def test_without_the_package_the_method_is_unknown(run_file: Callable[..., Path]) -> None:
    with pytest.raises(
        ConfigurationError,
        match=r"method.name: found 'every_k'; expected 'closeness_tree'",
    ):
        load_spec(run_file(PEOPLE, quasi=QUASI, method={"name": "every_k"}))


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        (None, "broken", "cannot be imported"),
        ("1 / 0 if False else None\n", "broken", "holds no method"),
        ("import nothing_of_this_name\n", "broken", "cannot be imported"),
        ("class METHOD:\n    name = 'another'\n", "broken", "holds no method of this name"),
        ("class METHOD:\n    name = 'another'\n", "broken:NONE", "holds no method"),
    ],
)
def test_a_broken_package_is_named_and_harms_no_other_run(
    source: str | None,
    place: str,
    message: str,
    run_file: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if source is not None:
        (tmp_path / "broken.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "broken", raising=False)
    monkeypatch.setattr(registry, "modules", lambda: {**registry.MODULES, "broken": place})
    with pytest.raises(
        ConfigurationError,
        match=f"method.name: broken is brought by broken, which .*{message}",
    ):
        load_spec(run_file(PEOPLE, quasi=QUASI, method={"name": "broken"}))
    with pytest.raises(ConfigurationError, match=r"privacy\.k: found 0"):
        load_spec(run_file(PEOPLE, quasi=QUASI, k=0))


def test_its_release_is_verified(every_k: Callable[..., Run], spark: SparkSession) -> None:
    run = every_k()
    certificate = pipeline.release(run)
    assert certificate["verdict"] == "holds"
    assert certificate["method"] == {
        "name": "every_k",
        "by": 0,
        "others": "own",
        "suppress": 0,
        "mistake": "none",
        "any_t": False,
        "apart": False,
    }
    assert certificate["regions"] == "overlapping"
    assert certificate["guarantees"]["k"]["achieved"] >= 6
    ages = {row["age"] for row in read_delta(spark, run.public.path("release")).collect()}
    assert len(ages) == ROWS // 6
    assert json.loads(run.internal.read("run.json"))["stages"]["anonymize"]["method"] == {
        "rows": ROWS,
    }


def test_its_labels_may_cover_more_than_its_classes(
    every_k: Callable[..., Run],
    spark: SparkSession,
) -> None:
    run = every_k(others="whole")
    assert pipeline.release(run)["verdict"] == "holds"
    released = read_delta(spark, run.public.path("release")).collect()
    told = json.loads(run.internal.read("minimality.json"))
    assert (told["measured"], told["worst"]) == (
        True,
        None,
    )  # labels follow from the quasi-identifiers alone
    assert {(row["sex"], row["city"], row["weight"]) for row in released} == {
        ("*", "*", "[50, 89]"),
    }
    assert len({row["age"] for row in released}) == ROWS // 6


def test_regions_that_overlap_break_a_promise(every_k: Callable[..., Run]) -> None:
    with pytest.raises(
        GuaranteeError,
        match="regions overlap: the labels of two classes have values in common",
    ):
        pipeline.release(every_k(apart=True))


def test_labels_that_do_not_cover_their_rows_are_found_out(every_k: Callable[..., Run]) -> None:
    run = every_k(others="lowest")
    pipeline.profile(run)
    pipeline.plan(run)
    with pytest.raises(GuaranteeError, match="does not cover"):
        pipeline.anonymize(run)


def test_what_it_does_not_make_is_refused_when_the_run_file_is_read(
    every_k_installed: None,
    run_file: Callable[..., Path],
) -> None:
    with pytest.raises(ConfigurationError, match="every_k looks at no t"):
        load_spec(
            run_file(
                PEOPLE,
                quasi=QUASI,
                sensitive={"disease": {"t": "0.5"}},
                method={"name": "every_k"},
            ),
        )
    with pytest.raises(
        ConfigurationError,
        match=r"method.by: found 'age'; expected a whole number",
    ):
        load_spec(run_file(PEOPLE, quasi=QUASI, method={"name": "every_k", "by": "age"}))


def test_it_is_planned_from_the_command_line(
    every_k: Callable[..., Run],
    run_file: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = run_file(
        PEOPLE,
        quasi=QUASI,
        sensitive={"disease": {"t": "measure"}},
        k=6,
        method={"name": "every_k"},
    )
    assert (main(["profile", str(path)]), main(["plan", str(path)])) == (0, 0)
    assert "small: 15 classes" in capsys.readouterr().out
