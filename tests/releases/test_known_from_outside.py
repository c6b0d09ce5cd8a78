"""What is known of a table beforehand: ranges of numbers (`range`), other names for its columns
(`input.columns`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tclose_spark import pipeline
from tclose_spark.checks.labels.loss import LabelVocabulary, judged_quasi, measured_on
from tclose_spark.engine.tables import collect, read_delta
from tclose_spark.errors import InputError
from tclose_spark.in_memory.sample import _narrowed
from tclose_spark.io.input.reading import renamed
from tclose_spark.io.run import Run
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.domains import QuasiDomain

N = 120
PEOPLE = pa.table(
    {
        "age in years": [20 + i * 7 % 50 for i in range(N)],
        "weight": [50.5 + i * 3 % 40 for i in range(N)],
        "what (it) is": [["flu", "gout", "ulcer"][i % 3] for i in range(N)],
    },
)
QUASI: dict[str, Any] = {
    "age": {"type": "numeric", "range": [0, 120]},
    "weight": {"type": "numeric", "range": ["0.5", 200], "round_to": 5},
}
COLUMNS = {"age in years": "age", "what (it) is": "disease"}


@pytest.fixture(scope="module")
def conf(write_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with ranges and new names."""
    return write_run(
        tmp_path_factory.mktemp("outside"),
        PEOPLE,
        quasi=QUASI,
        sensitive={"disease": {"t": "0.4"}},
        source={"path": "people.parquet", "columns": COLUMNS},
        k=10,
    )


def ends(label: str) -> tuple[float, float]:
    low, high = json.loads(label) if label.startswith("[") else (float(label), float(label))
    return low, high


def test_the_loss_is_measured_on_the_range(conf: Path, open_run: Callable[..., Run]) -> None:
    run = open_run(conf)
    certificate = pipeline.release(run)
    table = collect(read_delta(run.session, run.public.path("release")))
    assert table.column_names == ["age", "weight", "disease"]
    losses = certificate["utility"]["ncp_by_quasi_identifier"]
    for name, span in (("age", 120), ("weight", 199.5)):
        widths = [high - low for low, high in map(ends, table[name].to_pylist())]
        assert max(widths) > 0
        assert losses[name] == pytest.approx(sum(widths) / span / N)
    quasi = certificate["attributes"]["quasi_identifiers"]
    assert (quasi["age"]["range"], quasi["age"]["span"]) == (["0", "120"], "120")
    assert (quasi["weight"]["range"], quasi["weight"]["span"]) == (["0.5", "200"], "399/2")
    assert pipeline.verify(run, finished=True).holds


@pytest.mark.parametrize(
    ("quasi", "message"),
    [
        (
            "age={type: numeric, range: [21, 120]}",
            r"age\.range: 1 values in \d rows are outside of 21 to 120",
        ),
        (
            "weight={type: numeric, range: [0, 70]}",
            r"weight\.range: 20 values in 60 rows are outside of 0 to 70",
        ),
    ],
)
def test_values_outside_are_counted(
    conf: Path,
    open_run: Callable[..., Run],
    tmp_path: Path,
    quasi: str,
    message: str,
) -> None:
    run = open_run(conf, f"output.path={tmp_path}", f"attributes.quasi_identifiers.{quasi}")
    with pytest.raises(InputError, match=message):
        pipeline.profile(run)
    assert json.loads(run.internal.read("problems.json"))["column"] == quasi.split("=")[0]


def test_what_is_planned_has_the_range_too(
    conf: Path,
    open_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    run = open_run(conf, f"output.path={tmp_path}")
    pipeline.profile(run)
    age, weight = json.loads(run.staging.read("profile.json"))["quasi"]
    assert (age["low"], age["high"], age["known"]) == (0, 120, True)
    assert (weight["low"], weight["high"], weight["known"]) == (0.5, 200.0, True)


def test_a_sample_keeps_a_range_that_is_known() -> None:
    domain = QuasiDomain(name="age", kind="integer", missing=0, low=0, high=120, known=True)
    codes = np.array([30, 40])
    assert (_narrowed(domain, codes).low, _narrowed(domain, codes).high) == (0, 120)
    seen = _narrowed(replace(domain, known=False), codes)
    assert (seen.low, seen.high) == (30, 40)


def test_loss_by_labels_takes_the_range_of_the_run_file() -> None:
    tree = {
        "name": "n",
        "input": {"path": "/in"},
        "output": {"path": "/out"},
        "attributes": {
            "quasi_identifiers": {"age": QUASI["age"]},
            "sensitive_attributes": {"s": {"t": "measure"}},
        },
        "privacy": {"k": 2},
    }
    spec = ReleaseSpec.model_validate(tree)
    named = {"age": LabelVocabulary(frozenset({"20", "50"}), suppressed=False)}
    (quasi,) = judged_quasi(spec, named, {})
    assert quasi.loss.of("[20, 50]") == Fraction(1, 4)
    assert measured_on(spec, named, {}, []) == {"age": {"span": "120"}}


REFUSED = {
    "a name that is not there": (
        ["zip code", "age"],
        {"age": "years", "zipcode": "zip"},
        "column 'zipcode' is not in the input.*'zip code'",
    ),
    "a name that another column has": (
        ["a b", "A"],
        {"a b": "a"},
        "'a b' becomes 'a', as which the input has another",
    ),
    "two columns of one name": (
        ["a", "a"],
        {"a": "b"},
        "'a' becomes 'b', as which the input has another",
    ),
}


@pytest.mark.parametrize(("names", "columns", "message"), REFUSED.values(), ids=REFUSED)
def test_new_names_are_of_columns_and_their_own(
    names: list[str],
    columns: dict[str, str],
    message: str,
) -> None:
    with pytest.raises(InputError, match=f"input.columns: {message}"):
        renamed(names, columns)


def test_columns_may_change_names() -> None:
    assert renamed(["a", "b", "c"], {"a": "b", "b": "a"}) == ["b", "a", "c"]


def test_the_error_for_a_name_that_delta_cannot_hold_has_its_cure(
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    quasi = {"age in years": {"type": "numeric"}}
    run = open_run(
        write_run(tmp_path, PEOPLE, quasi=quasi, sensitive={"what (it) is": {}}, drop_others=True),
    )
    with pytest.raises(InputError, match=r"input.columns: \{'age in years': 'age_in_years'\}"):
        pipeline.profile(run)
