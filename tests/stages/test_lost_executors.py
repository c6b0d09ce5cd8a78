"""Rows that Spark counts twice because an executor was lost break no release, and no count of a certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from town import ROLES, months, rows

from tclose_spark import pipeline
from tclose_spark.checks.verifier import Verdict
from tclose_spark.engine.local.tables import LocalEngine
from tclose_spark.engine.spark.tables import SPARK
from tclose_spark.engine.tables import TRIES
from tclose_spark.errors import GuaranteeError
from tclose_spark.io.run import Run
from tclose_spark.stages import profile, verify

Conf = Callable[..., Path]


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between any two looks an executor is lost."""
    seen = count()
    monkeypatch.setattr(LocalEngine, "lost_executors", lambda engine, session: next(seen))


def first_times(times: int, work: Callable[..., Any], spoil: Callable[[Any], Any]) -> Callable[..., Any]:
    """The work, whose first results are spoilt."""
    calls = count()

    def done(*given: Any) -> Any:
        result = work(*given)
        return spoil(result) if next(calls) < times else result

    return done


def broken(verdict: Verdict) -> Verdict:
    return replace(verdict, problems=("40 rows are released and 20 are in classes",))


def refused(verdict: Verdict) -> Verdict:
    raise GuaranteeError("internal/people has not the rows that were written")


@pytest.mark.usefixtures("lost")
@pytest.mark.parametrize("spoil", [broken, refused])
def test_a_release_is_judged_again(
    spoil: Any, tmp_path: Path, write_run: Conf, open_run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = write_run(tmp_path, rows(next(months(0, 40))), **ROLES)
    monkeypatch.setattr(verify, "_judge", first_times(TRIES - 1, verify._judge, spoil))
    assert pipeline.release(open_run(conf))["release"]["rows"] == 40


@pytest.mark.parametrize("spoil", [broken, refused])
def test_without_a_lost_executor_the_verdict_is_final(
    spoil: Any, tmp_path: Path, write_run: Conf, open_run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = write_run(tmp_path, rows(next(months(0, 40))), **ROLES)
    monkeypatch.setattr(verify, "_judge", first_times(1, verify._judge, spoil))
    with pytest.raises(GuaranteeError):
        pipeline.release(open_run(conf))


@pytest.mark.usefixtures("lost")
def test_people_of_a_line_are_counted_again(
    tmp_path: Path, write_run: Conf, open_run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    def twice(found: Any) -> Any:
        people = found[0].people
        return replace(found[0], people=replace(people, members=replace(people.members, kept=99))), found[1]

    monkeypatch.setattr(profile, "profile_table", first_times(0, profile.profile_table, twice))
    for number, town in enumerate(islice(months(0, 60, leave=0.1), 2)):
        output = {"leavers": "keep", **({"after": "../0/out"} if number else {})}
        conf = write_run(tmp_path / str(number), rows(town), output=output, **ROLES)
        if number:
            monkeypatch.setattr(profile, "profile_table", first_times(TRIES - 1, profile.profile_table, twice))
        certificate = pipeline.release(open_run(conf))
    assert 0 < certificate["earlier"]["kept"] < 99


def test_Spark_says_how_many_executors_are_gone(spark: Any) -> None:
    assert SPARK.lost_executors(spark) == 0
    of_both = SimpleNamespace(executorList=lambda active: SimpleNamespace(size=lambda: 3 if active else 5))
    scala = SimpleNamespace(sc=lambda: SimpleNamespace(statusStore=lambda: of_both))
    assert SPARK.lost_executors(SimpleNamespace(sparkContext=SimpleNamespace(_jsc=scala))) == 2
    assert SPARK.lost_executors(None) == 0
