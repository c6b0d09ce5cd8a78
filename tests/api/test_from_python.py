"""Releases, audits, plans and comparisons from Python, on a small table: the same as from the
command line.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import tclose_spark as tc
from tclose_spark.io import interrupts
from tclose_spark.io.spark import driver
from tclose_spark.io.spark.session import SESSION_SETTINGS, borrowed, require_delta_of
from tclose_spark.runfile.loading import load_spec
from tclose_spark.runfile.spec import FRAME

ROWS = 120
SPEC = {
    "attributes": {
        "quasi_identifiers": {
            "age": {"type": "numeric"},
            "weight": {"type": "numeric"},
            "sex": None,
        },
        "sensitive_attributes": {"disease": {"t": "0.5"}},
        "insensitive_attributes": ["at"],
    },
    "privacy": {"k": 3},
    "method": {"name": "stack_and_deal"},
}
LABELS = ["age", "weight", "sex"]


def made_frame() -> pd.DataFrame:
    """People with a category, missing values and times without a zone."""
    places = range(ROWS)
    return pd.DataFrame(
        {
            "age": [20 + 7 * i % 40 for i in places],
            "weight": [None if i % 11 == 0 else 50.5 + i % 13 for i in places],
            "sex": pd.Categorical([("f", "m", None)[i % 3] for i in places]),
            "disease": [("flu", "gout", "flu", "ulcer")[i // 3 % 4] for i in places],
            "at": pd.to_datetime(["2020-01-01 00:00", "2020-03-29 02:30"] * (ROWS // 2)),
        },
    )


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return made_frame()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, frame: pd.DataFrame) -> Path:
    made = tmp_path_factory.mktemp("python")
    frame.to_parquet(made / "people.parquet")
    return made


@pytest.fixture(scope="module")
def told() -> list[str]:
    return []


@pytest.fixture(scope="module")
def made(spark: SparkSession, frame: pd.DataFrame, folder: Path, told: list[str]) -> tc.Release:
    return tc.release(frame, SPEC, folder / "out", log=told.append)


def profiled(table: Any, folder: Path) -> tuple[str, Any]:
    """The input's fingerprint and the domains, as the profile of a table finds them."""
    tc.run_stage("profile", table, SPEC, folder, log=None, overwrite=True)
    state = json.loads((folder / "internal/staging/run.json").read_text())
    profile = json.loads((folder / "internal/staging/profile.json").read_text())
    return state["stages"]["profile"]["input"]["fingerprint"], profile


def test_a_release_of_a_frame_is_that_of_its_file(made: tc.Release, folder: Path, told: list[str]):
    of_file = tc.release(folder / "people.parquet", SPEC, folder / "of_file", log=None)
    assert (
        of_file.certificate["release"]["fingerprint"] == made.certificate["release"]["fingerprint"]
    )
    assert [line.split()[0] for line in told][:3] == ["engine", "profile", "plan"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy polars", "pyarrow", "spark"])
def test_every_kind_of_table_is_the_same_input(
    kind: str,
    spark: SparkSession,
    frame: pd.DataFrame,
    folder: Path,
    tmp_path: Path,
):
    file = folder / "people.parquet"
    tables = {
        "pandas": lambda: frame.sample(frac=1, random_state=1)[list(reversed(frame.columns))],
        "polars": lambda: pl.from_pandas(frame),
        "lazy polars": lambda: pl.from_pandas(frame).lazy(),
        "pyarrow": lambda: pa.Table.from_pandas(frame),
        "spark": lambda: spark.read.parquet(f"file://{file}"),
    }
    assert profiled(tables[kind](), tmp_path / "a") == profiled(file, tmp_path / "b")


def test_a_release_is_what_was_published(made: tc.Release, folder: Path):
    published = made.to_pandas()
    assert made.path == str(folder / "out/public")
    assert len(published) == ROWS == made.table.count() == made.certificate["release"]["rows"]
    assert list(published.columns) == ["age", "weight", "sex", "disease", "at"]
    assert sorted(published["disease"]) == sorted(made_frame()["disease"])
    assert made.classes.count() == made.certificate["release"]["classes"]
    assert made.to_arrow().num_rows == ROWS
    assert "release: the release holds" in repr(made)
    assert tc.Release.open(folder / "out").certificate == made.certificate
    assert (Path(made.internal_path).stat().st_mode & 0o777) == 0o700


def test_jupyter_shows_the_report(made: tc.Release):
    page = Path(made.report.path).read_text(encoding="utf-8")
    shown = made.report._repr_html_()
    assert made.report.html == page
    assert shown.startswith("<iframe")
    assert "&lt;!doctype html&gt;" in shown.lower()
    assert "<pre>release: the release holds" in made._repr_html_()


def test_no_rows_and_no_view_are_left(made: tc.Release, spark: SparkSession, folder: Path):
    assert [
        table.name for table in spark.catalog.listTables() if table.name.startswith(FRAME)
    ] == []
    assert not (folder / "out/internal/staging").exists()


def test_a_finished_release_is_not_replaced_unless_asked(
    made: tc.Release,
    frame: pd.DataFrame,
    folder: Path,
):
    with pytest.raises(tc.ConfigurationError, match="give overwrite=True to replace it"):
        tc.release(frame, SPEC, folder / "out", log=None)


def test_a_finished_release_is_verified_without_its_table(
    made: tc.Release,
    frame: pd.DataFrame,
    folder: Path,
):
    assert tc.verify(None, SPEC, folder / "out", log=None).certificate == made.certificate
    with pytest.raises(tc.ConfigurationError, match="made with another configuration"):
        tc.verify(None, SPEC, folder / "out", overrides=["privacy.k=4"], log=None)
    with pytest.raises(tc.ConfigurationError, match="a table in memory is ignored; give None"):
        tc.verify(frame, SPEC, folder / "out", log=None)


def test_python_is_told_of_its_own_arguments(frame: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "there.yaml").write_text("")
    with pytest.raises(
        tc.ConfigurationError,
        match=r"^path: .* exists already; give another one, or overwrite=True$",
    ):
        tc.suggest(frame, engine="local", log=None, trial=False).write(tmp_path / "there.yaml")
    with pytest.raises(tc.ConfigurationError, match=r"did you mean 'closeness_tree'\?$"):
        tc.compare(frame, SPEC, methods=["closenes_tree"], log=None, engine="local")


def test_methods_have_their_settings_as_on_the_command_line(frame: pd.DataFrame) -> None:
    found = tc.compare(
        frame,
        SPEC,
        methods=["closeness_tree:effort=fast"],
        log=None,
        engine="local",
        plan_only=True,
    )
    assert [one.method for one in found.outcomes] == ["closeness_tree:effort=fast"]


def test_stages_go_on_where_the_one_before_left_off(
    frame: pd.DataFrame,
    tmp_path: Path,
    made: tc.Release,
):
    planned = tc.plan(frame, SPEC, tmp_path / "out", log=None)
    assert planned.figures
    assert planned._repr_html_().startswith("<iframe")
    for stage in ("anonymize", "verify", "report"):
        tc.run_stage(stage, None, SPEC, tmp_path / "out", log=None)
    published = tc.run_stage("publish", None, SPEC, tmp_path / "out", log=None)
    assert (
        published.certificate["release"]["fingerprint"]
        == made.certificate["release"]["fingerprint"]
    )
    with pytest.raises(tc.ConfigurationError, match="there is no stage 'plans'"):
        tc.run_stage("plans", None, SPEC, tmp_path / "out")


def test_a_plan_for_now_leaves_nothing(
    frame: pd.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    planned = tc.plan(frame, SPEC, log=None)
    assert "class size" in repr(planned)
    assert list(tmp_path.iterdir()) == []


def test_errors_call_a_frame_what_it_is(frame: pd.DataFrame, tmp_path: Path):
    with pytest.raises(tc.InputError) as empty:
        tc.release(frame.head(0), SPEC, tmp_path / "out", log=None)
    assert str(empty.value) == "the table that was given has no rows"
    with pytest.raises(tc.InputError, match="column 'weight' is not in the input"):
        tc.release(frame.drop(columns="weight"), SPEC, tmp_path / "out", log=None)
    with pytest.raises(tc.UnreachableError, match="is the largest k") as unreachable:
        tc.plan(frame, SPEC, overrides=["privacy.k=500"], log=None)
    assert unreachable.value.exit_code == 3


def test_an_audit_is_that_of_the_command_line(
    made: tc.Release,
    tclose: Callable[..., tuple[int, str, str]],
):
    found = tc.audit(made.table, LABELS, {"disease": "equal"}, k=3, t="0.5")
    options = ["-q", ",".join(LABELS), "-s", "disease:equal", "--k", "3", "--t", "0.5", "--json"]
    code, out, _ = tclose("audit", f"{made.path}/release", *options)
    assert (code, found.holds) == (0, True)
    assert json.loads(json.dumps(found.to_json(), default=str)) == json.loads(out)
    assert json.loads(found.suite)["expectations"]
    assert {one.attack for one in found.attacks} >= {"homogeneity", "skewness"}
    assert "all requirements hold" in repr(found)
    assert "&lt;table" in found._repr_html_()


def test_results_are_text_in_a_notebook(
    frame: pd.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """rich would display the text by itself there, and return none."""
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    plain = frame.assign(sex=frame["sex"].astype(str))
    audited = tc.audit(plain, LABELS, ["disease"], k=3, engine="local")
    assert repr(audited).startswith("the table: ")
    assert "\x1b" not in repr(audited)
    assert repr(tc.explain(plain, LABELS, ["disease"], engine="local")).startswith("Class ")
    assert repr(tc.hierarchy(plain, "disease", {"prefix": 1}, engine="local")).startswith(
        "disease: ",
    )


def test_a_suggestion_is_short_and_has_its_run_file(frame: pd.DataFrame) -> None:
    made = tc.suggest(frame, name="people", engine="local")
    lines = repr(made).splitlines()
    assert lines[0] == f"people: a first run file for {len(frame):,} rows"
    assert len(lines) < 20
    assert escape(made.yaml) in made._repr_html_()


def test_an_audit_names_attributes_that_its_verdict_does_not_cover(frame: pd.DataFrame) -> None:
    def notes(**required: Any) -> list[str]:
        audited = tc.audit(frame, ["age"], ["disease"], engine="local", **required)
        return [note for note in audited.notes if "verdict" in note]

    assert notes(k=1) == [
        "the verdict does not cover disease: neither t, l nor beta is required of it",
    ]
    assert notes() == notes(k=1, t="0.9") == []
    nothing = "every class meets what is required of it (a t of 1 or more, an l of 1)"
    for settings in ({"l": {"distinct": 1}}, {"t": "1"}, {"l": {"entropy": 1}}):
        audited = tc.audit(
            frame,
            ["age"],
            {"disease": {"distance": "equal", **settings}},
            k=1,
            engine="local",
        )
        assert f"the verdict does not cover disease: {nothing}" in audited.notes


def test_lists_of_people_may_write_dates_in_the_form_of_the_run_file(tmp_path: Path) -> None:
    days = [f"1990-0{1 + i % 9}-1{i % 3}" for i in range(ROWS)]
    iso = pd.DataFrame({"born": days, "disease": [("flu", "gout")[i % 2] for i in range(ROWS)]})
    german = iso.assign(born=["{2}.{1}.{0}".format(*day.split("-")) for day in days])
    quasi = {"born": {"type": "date", "date_format": "%d.%m.%Y"}}
    spec = {
        "attributes": {
            "quasi_identifiers": quasi,
            "sensitive_attributes": {"disease": {"t": "0.5"}},
        },
        "privacy": {"k": 3},
        "method": {"name": "t_mondrian"},
    }
    made = tc.release(german, spec, output=tmp_path / "out", engine="local", log=None)
    audits = [
        tc.audit(
            made.to_arrow(),
            spec=spec,
            background=people[["born"]],
            population=people[["born"]],
            engine="local",
        )
        for people in (german, iso)
    ]
    assert audits[0].to_json() == audits[1].to_json()
    assert audits[0].background is not None
    assert audits[0].background.candidates == audits[0].background.people == ROWS


def test_an_audit_reports_that_it_does_not_count_the_people_of_a_run_file(
    frame: pd.DataFrame,
) -> None:
    attributes = {
        "quasi_identifiers": {"age": {"type": "numeric"}},
        "sensitive_attributes": {"disease": {"t": "0.9"}},
    }
    spec = {"attributes": {**attributes, "person": "patient"}, "privacy": {"k": 2}}
    notes = tc.audit(frame, spec=spec, engine="local").notes
    assert sum("judged over rows only" in note for note in notes) == 1
    of_people = tc.audit(
        frame.assign(patient=range(ROWS)),
        spec=spec,
        person="patient",
        engine="local",
    ).notes
    assert not any("judged over rows only" in note for note in of_people)


def test_an_audit_of_a_raw_frame_does_not_hold_and_need_not_show_it(
    frame: pd.DataFrame,
    spark: SparkSession,
):
    plain = frame.assign(sex=frame["sex"].astype(str))
    found = tc.audit(plain, LABELS, ["disease"], k=3, reference=plain, background=plain[LABELS])
    assert (found.holds, found.verdict) == (False, "violated")
    assert found.background is not None
    shown = found.without_labels()._repr_html_()
    assert "50.5" not in shown


@pytest.mark.parametrize("kind", ["in memory", "parquet", "csv"])
def test_a_spec_audits_the_table_whose_columns_it_renames(
    spark: SparkSession,
    frame: pd.DataFrame,
    tmp_path: Path,
    kind: str,
) -> None:
    raw = frame[["age", "disease"]].rename(columns={"age": "age in years"})
    spec = {
        "input": {"path": "-", "columns": {"age in years": "age", "what is not there": "disease"}},
        "attributes": {
            "quasi_identifiers": {"age": {"type": "numeric"}},
            "sensitive_attributes": {"disease": {"t": "0.5"}},
        },
        "privacy": {"k": 3},
    }
    raw.to_parquet(tmp_path / "people.parquet")
    raw.to_csv(tmp_path / "people.csv", index=False)
    table = raw if kind == "in memory" else tmp_path / f"people.{kind}"
    found, expected = (
        tc.audit(table, spec=spec),
        tc.audit(frame, ["age"], {"disease": "equal"}, k=3, t="0.5"),
    )
    assert found.to_json() == expected.to_json()


def test_a_class_is_explained(made: tc.Release):
    found = tc.explain(f"{made.path}/release", LABELS, ["disease"], t="0.5")
    assert found.emd <= 0.5
    assert "earth mover" in found._repr_html_()
    again = tc.explain(made.to_arrow(), LABELS, ["disease"], labels=found.labels)
    assert again.emd == found.emd


def test_methods_are_compared(frame: pd.DataFrame, spark: SparkSession, tmp_path: Path):
    compared = tc.compare(
        frame,
        SPEC,
        k=[3, 6],
        methods=["stack_and_deal", tc.Sabre(bounds="proven")],
        log=None,
    )
    asked = [(one.method, one.k) for one in compared.outcomes]
    assert asked == [
        (method, k) for k in (3, 6) for method in ("stack_and_deal", "sabre:bounds=proven")
    ]
    assert {one.state for one in compared.outcomes} == {"released"}
    assert "<iframe" in compared._repr_html_()
    assert "what each method loses" in repr(compared)


def test_a_comparison_of_another_frame_begins_anew(
    frame: pd.DataFrame,
    spark: SparkSession,
    tmp_path: Path,
):
    def compared(table: pd.DataFrame) -> tc.Comparison:
        return tc.compare(
            table,
            SPEC,
            methods="stack_and_deal",
            output=tmp_path / "c",
            plan_only=True,
            log=None,
        )

    assert [compared(frame).rows, compared(frame.head(60)).rows] == [ROWS, 60]


def test_a_hierarchy_is_seen_beside_the_values(frame: pd.DataFrame, spark: SparkSession):
    seen = tc.hierarchy(frame, "disease", {"groups": {"viral": ["flu"]}, "other": "rest"})
    assert dict(seen.lost) == {}
    with pytest.raises(tc.InputError, match="1 value in 30 rows is in no group"):
        tc.hierarchy(frame, "disease", {"groups": {"viral": ["flu"], "rest": ["gout"]}})
    assert "viral  60 rows" in repr(seen)
    assert "flu;viral;*" in seen.csv
    with pytest.raises(tc.ConfigurationError):
        tc.hierarchy(frame, "disease", {"circles": 3})


def test_synthetic_people_and_their_hierarchies(tmp_path: Path):
    assert tc.generate(5, hierarchies=tmp_path / "trees").num_rows == 5
    assert (tmp_path / "trees/region.csv").exists()


def test_a_session_of_others_gets_its_settings_back(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(driver, "is_ours", lambda: False)
    key, own = "spark.sql.session.timeZone", "spark.databricks.delta.snapshotPartitions"
    was = spark.conf.get(key)
    spark.conf.set(key, "Asia/Tokyo")
    spark.conf.unset(own)
    try:
        with borrowed(spark):
            assert {name: spark.conf.get(name) for name in SESSION_SETTINGS} == SESSION_SETTINGS
        assert spark.conf.get(key) == "Asia/Tokyo"
        assert spark.conf.get(own, None) != SESSION_SETTINGS[own]
    finally:
        spark.conf.set(key, was)


class SessionWithout:
    """A session without Delta."""

    class conf:
        get = staticmethod(lambda key, default=None: default)


def test_a_session_without_delta_is_refused_with_what_is_missing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("DATABRICKS_RUNTIME_VERSION", raising=False)
    with pytest.raises(
        tc.ConfigurationError,
        match=r"has no Delta Lake.*spark\.sql\.extensions=io\.delta",
    ):
        require_delta_of(SessionWithout())
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "17")
    require_delta_of(SessionWithout())


# --- Ctrl-C


@pytest.fixture
def handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_is_raised_after_what_is_held_and_the_handler_is_put_back(handler: None):
    done = []

    def hold() -> None:
        with interrupts.defer_interrupts():
            signal.raise_signal(signal.SIGINT)
            done.append("held")
        done.append("after")

    with (
        pytest.raises(KeyboardInterrupt),
        interrupts.interruptible(lambda: done.append("forgotten")),
    ):
        hold()
    assert done == ["held"]
    with (
        pytest.raises(KeyboardInterrupt),
        interrupts.interruptible(lambda: done.append("forgotten")),
    ):
        signal.raise_signal(signal.SIGINT)
    assert done == ["held", "forgotten"]


def test_sigterm_is_the_programs_own(handler: None):
    before = signal.getsignal(signal.SIGTERM)
    with interrupts.interruptible(lambda: None):
        assert signal.getsignal(signal.SIGTERM) is before


def test_another_thread_changes_no_handler(handler: None):
    before, seen = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with interrupts.interruptible(lambda: None), interrupts.defer_interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def test_an_interrupted_release_leaves_no_lock_and_the_next_one_works(
    handler: None,
    frame: pd.DataFrame,
    tmp_path: Path,
    made: tc.Release,
):
    def interrupt() -> None:
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    def log(line: str) -> None:
        if line.startswith("profile"):
            threading.Thread(target=interrupt).start()

    with pytest.raises(KeyboardInterrupt):
        tc.release(frame, SPEC, tmp_path / "out", log=log)
    assert not (tmp_path / "out/internal/lock").exists()
    assert not (tmp_path / "out/public").exists()
    again = tc.release(frame, SPEC, tmp_path / "out", log=None)
    assert again.certificate["release"]["fingerprint"] == made.certificate["release"]["fingerprint"]


def test_a_release_in_another_thread_works(frame: pd.DataFrame, tmp_path: Path, made: tc.Release):
    results: list[Any] = []
    work = threading.Thread(
        target=lambda: results.append(tc.release(frame, SPEC, tmp_path / "out", log=None)),
    )
    work.start()
    work.join()
    assert (
        results[0].certificate["release"]["fingerprint"]
        == made.certificate["release"]["fingerprint"]
    )


def test_a_run_file_from_python_is_that_of_the_command_line(
    run_file: Callable[..., Path],
    spark: SparkSession,
):
    path = run_file(
        {"age": list(range(9)), "sex": ["f"] * 9, "disease": ["flu", "gout", "ulcer"] * 3},
    )
    made = tc.release(None, path, log=None, overrides=["privacy.k=9"])
    assert made.path == load_spec(path).output.public_path
    assert made.certificate["guarantees"]["k"]["required"] == 9
