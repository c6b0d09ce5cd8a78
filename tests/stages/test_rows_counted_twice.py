"""Rows that Spark counts twice because an executor was lost break no release, and no count of a
certificate.
"""

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
from tclose_spark.errors import GuaranteeError, TcloseError
from tclose_spark.io.run import Run
from tclose_spark.stages import profile, verify

Conf = Callable[..., Path]


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between any two looks an executor is lost, on either engine."""
    seen = count()
    for engine in (LocalEngine, type(SPARK)):
        monkeypatch.setattr(
            engine,
            "lost_executors",
            lambda self, session: frozenset(map(str, range(next(seen)))),
        )


def first_times(
    times: int,
    work: Callable[..., Any],
    spoil: Callable[[Any, int], Any],
) -> Callable[..., Any]:
    """The work, whose first results are spoilt. spoil: of a result, and of how often the work was
    done before.
    """
    calls = count()

    def done(*given: Any) -> Any:
        result, before = work(*given), next(calls)
        return spoil(result, before) if before < times else result

    return done


def broken(verdict: Verdict, before: int) -> Verdict:
    return replace(verdict, problems=(f"{40 + before} rows are released and 20 are in classes",))


def refused(verdict: Verdict, before: int) -> Verdict:
    raise GuaranteeError(f"internal/people has {before} rows more than were written")


def broken_alike(verdict: Verdict, before: int) -> Verdict:
    return broken(verdict, 0)


@pytest.fixture
def release(
    tmp_path: Path,
    write_run: Conf,
    open_run: Callable[..., Run],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Any]:
    """`release(times, spoil)`: the certificate of a town whose release is judged wrongly the first
    times.
    """

    def released(times: int, spoil: Any) -> Any:
        monkeypatch.setattr(verify, "_judge", first_times(times, verify._judge, spoil))
        return pipeline.release(open_run(write_run(tmp_path, rows(next(months(0, 40))), **ROLES)))

    return released


@pytest.mark.usefixtures("lost")
@pytest.mark.parametrize("spoil", [broken, refused])
def test_a_release_is_judged_again(spoil: Any, release: Callable[..., Any]) -> None:
    assert release(TRIES - 1, spoil)["release"]["rows"] == 40


@pytest.mark.usefixtures("lost")
def test_two_verdicts_that_agree_are_final(release: Callable[..., Any]) -> None:
    with pytest.raises(GuaranteeError, match="40 rows are released"):
        release(2, broken_alike)


@pytest.mark.usefixtures("lost")
@pytest.mark.parametrize("spoil", [broken, refused])
def test_nothing_is_decided_if_executors_are_lost_each_time(
    spoil: Any,
    release: Callable[..., Any],
) -> None:
    with pytest.raises(TcloseError, match="executors were lost 3 times"):
        release(TRIES, spoil)


@pytest.mark.parametrize("spoil", [broken, refused])
def test_without_a_lost_executor_the_verdict_is_final(
    spoil: Any,
    release: Callable[..., Any],
) -> None:
    with pytest.raises(GuaranteeError):
        release(1, spoil)


@pytest.mark.usefixtures("lost")
def test_people_of_a_line_are_counted_again(
    tmp_path: Path,
    write_run: Conf,
    open_run: Callable[..., Run],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def twice(found: Any, before: int) -> Any:
        people = found[0].people
        return replace(
            found[0],
            people=replace(people, members=replace(people.members, kept=99)),
        ), found[1]

    first, second = islice(months(0, 60, leave=0.1), 2)
    pipeline.release(
        open_run(write_run(tmp_path / "0", rows(first), output={"leavers": "keep"}, **ROLES)),
    )
    monkeypatch.setattr(profile, "profile_table", first_times(1, profile.profile_table, twice))
    conf = write_run(
        tmp_path / "1",
        rows(second),
        output={"leavers": "keep", "after": "../0/out"},
        **ROLES,
    )
    assert 0 < pipeline.release(open_run(conf))["earlier"]["kept"] < 99


def executor(name: str, is_active: bool) -> Any:
    """An executor as Spark's store of states has it."""
    return SimpleNamespace(id=lambda: name, isActive=lambda: is_active)


def test_Spark_names_the_executors_that_are_gone(spark: Any) -> None:
    known = [executor("driver", True), executor("1", False), executor("2", True)]
    held = SimpleNamespace(size=lambda: len(known), apply=known.__getitem__)
    store = SimpleNamespace(executorList=lambda active_only: [] if active_only else held)
    context = SimpleNamespace(
        _jsc=SimpleNamespace(sc=lambda: SimpleNamespace(statusStore=lambda: store)),
    )
    assert SPARK.lost_executors(SimpleNamespace(sparkContext=context)) == {"1"}
    assert SPARK.lost_executors(spark) == SPARK.lost_executors(None) == set()
    assert spark.sparkContext._jsc.sc().statusStore().executorList(False).apply(0).isActive(), (
        "as above"
    )
