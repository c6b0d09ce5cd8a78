"""Comparisons where people are counted."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tclose_spark import compare
from tclose_spark.comparing import trial
from tclose_spark.errors import ConfigurationError
from tclose_spark.table.people import PERSON


@pytest.fixture
def conf(tmp_path: Path, write_run: Callable[..., Path]) -> Path:
    """900 rows of 600 people."""
    draw = np.random.default_rng(3)
    who = np.sort(np.concatenate([np.arange(600), draw.integers(600, size=300)]))
    table = pa.table(
        {
            "patient": [f"P{i}" for i in who],
            "age": draw.integers(20, 70, 600)[who],
            "sex": np.array(["f", "m"])[draw.integers(2, size=600)[who]],
            "disease": np.array(["cold", "flu", "gout"])[draw.integers(3, size=900)],
        },
    )
    return write_run(
        tmp_path,
        table,
        person="patient",
        k=5,
        sensitive={"disease": {"t": "0.3"}},
        method={"name": "t_mondrian"},
    )


def test_methods_that_count_people_are_compared_and_the_others_refused(conf: Path) -> None:
    methods = ["closeness_tree", "t_mondrian", "t_incognito", "sabre"]
    found = {
        one.method: one
        for one in compare(
            conf.parent / "people.parquet",
            conf,
            methods=methods,
            sample="all",
            engine="local",
        ).outcomes
    }
    assert {name: one.state for name, one in found.items()} == {
        **dict.fromkeys(methods, "released"),
        "sabre": "refused",
    }
    assert "counts rows, not people" in found["sabre"].why
    assert found["closeness_tree"].figures["smallest"] >= 5


def test_a_class_of_few_people_is_found(conf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measure = trial.measure

    def of_four_people(released, *given):  # type: ignore[no-untyped-def]
        rows = replace(released.rows, owners={PERSON: np.arange(len(released.rows)) % 4})
        return measure(replace(released, rows=rows), *given)

    monkeypatch.setattr(trial, "measure", of_four_people)
    (outcome,) = compare(
        conf.parent / "people.parquet",
        conf,
        methods="t_mondrian",
        sample="all",
        require=False,
        engine="local",
    ).outcomes
    assert outcome.state == "broken"


def test_a_sample_of_rows_is_refused(conf: Path) -> None:
    with pytest.raises(ConfigurationError, match="requires all rows of a person"):
        compare(
            conf.parent / "people.parquet",
            conf,
            methods="t_mondrian",
            sample=300,
            engine="local",
        )


def test_a_refused_sample_leaves_the_folder_to_all_rows(conf: Path, tmp_path: Path) -> None:
    given = {"methods": "t_mondrian", "output": tmp_path / "compared", "engine": "local"}
    with pytest.raises(ConfigurationError, match="requires all rows of a person"):
        compare(conf.parent / "people.parquet", conf, sample=300, **given)
    (outcome,) = compare(conf.parent / "people.parquet", conf, sample="all", **given).outcomes
    assert outcome.state == "released"
