"""Whole runs on small tables: what is published, when it is not, and that stages may be repeated,
resumed and interrupted.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from people import PEOPLE, ROLES, ROWS, read, run_stages, tree
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from strategies import CITIES

from tclose_spark import pipeline
from tclose_spark.errors import ConfigurationError, GuaranteeError, InputError, UnreachableError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import ProfileRecord
from tclose_spark.io.storage.folders import LocalFolder
from tclose_spark.io.tables.delta import write_delta
from tclose_spark.io.tables.delta_log import scrub_table
from tclose_spark.methods.closeness_tree import plan as top
from tclose_spark.methods.closeness_tree.effort import EFFORTS
from tclose_spark.methods.fragmentation import plan as fragmentation
from tclose_spark.methods.rows_in_work import begin_block, step
from tclose_spark.runfile.loading import load_spec
from tclose_spark.stages.staging.encode import EncodedTable
from tclose_spark.table.rows import Rows

OpenRun = Callable[..., Run]
WriteRun = Callable[..., Path]

ROOT = Path(__file__).resolve().parents[2]
STAGES = ("profile", "plan", "anonymize", "verify", "report", "publish")


def mode(path: Path) -> str:
    return oct(stat.S_IMODE(path.stat().st_mode))


# --- what a finished run leaves


def test_the_files_of_a_finished_run(finished: Path) -> None:
    assert {path.name for path in (finished / "public").iterdir()} == {
        "release",
        "certificate.json",
        "report.html",
        "codebook.csv",
        "contract.yaml",
    }
    internal = {path.name for path in (finished / "internal").iterdir()}
    assert internal >= {"classes", "linked", "validation", "run.json"}
    assert "staging" not in internal
    assert "linked_sample.json" not in internal
    assert mode(finished / "internal") == "0o700"


def test_the_raw_side_is_inside_only(finished: Path) -> None:
    page = (finished / "internal/report.html").read_text()
    assert mode(finished / "internal/report.html") == "0o600"
    assert "Not for publication" in page
    assert f"All {ROWS:,} rows of the input" in page
    assert "Attacks, before and after" in page
    assert "Special uniques of the raw rows" in page
    assert "Rare cells of the raw rows" in page
    public = (finished / "public/report.html").read_text()
    assert "internal" not in public.lower()
    assert "raw" not in public.split("</style>")[1].lower().split()


def test_the_certificate_says_what_the_release_shows(
    finished: Path,
    certificate: dict[str, Any],
) -> None:
    release = read(finished / "public/release")
    assert list(release.columns) == ["age", "city", "disease", "region"]
    classes = [
        group["disease"].tolist() for _, group in release.groupby(["age", "city"], dropna=False)
    ]
    whole = Counter(release["disease"])
    worst = max(
        sum(abs(Fraction(c.count(v), len(c)) - Fraction(n, ROWS)) for v, n in whole.items()) / 2
        for c in classes
    )
    assert certificate["verdict"] == "holds"
    assert certificate["release"].items() >= {"rows": ROWS, "classes": len(classes)}.items()
    assert certificate["input"] == {"rows": ROWS, "version": None}
    assert certificate["guarantees"]["k"] == {"required": 5, "achieved": min(map(len, classes))}
    t = certificate["guarantees"]["t"]["disease"]
    assert (t["distance"], t["required"], Fraction(t["achieved_exact"])) == ("equal", 0.2, worst)
    assert worst <= Fraction(1, 5)
    assert certificate["guarantees"]["l"]["disease"]["distinct"] == {
        "required": 2,
        "achieved": min(len(set(c)) for c in classes),
    }
    assert certificate["utility"]["discernibility"] == sum(len(c) ** 2 for c in classes)
    assert certificate["utility"]["average_class_size"] == ROWS / len(classes)


def test_the_linked_table_has_every_input_row_beside_what_is_published(finished: Path) -> None:
    linked, release = read(finished / "internal/linked"), read(finished / "public/release")
    raw = PEOPLE.to_pandas()
    kept = ["disease", "region"]
    assert Counter(
        linked[["age_raw", "city_raw", *kept]].itertuples(index=False, name=None),
    ) == Counter(raw[["age", "city", *kept]].itertuples(index=False, name=None))
    assert Counter(linked[release.columns].itertuples(index=False, name=None)) == Counter(
        release.itertuples(index=False, name=None),
    )
    paths = {path[0]: path for path in CITIES.paths}
    for row in linked.itertuples():
        low, high = (
            map(int, row.age.strip("[]").split(", ")) if "," in row.age else (int(row.age),) * 2
        )
        assert low <= row.age_raw <= high
        assert row.city in paths[row.city_raw]


def test_nothing_public_tells_of_the_raw_table(finished: Path, conf: Path) -> None:
    state = json.loads((finished / "internal/run.json").read_text())
    public = {
        name: content
        for name, content in tree(finished / "public").items()
        if not name.endswith(".parquet")
    }
    for secret in (
        "person 1",
        state["stages"]["profile"]["input"]["fingerprint"],
        str(conf.parent),
        "commitInfo",
        '"stats"',
    ):
        assert not [name for name, content in public.items() if secret.encode() in content], secret


def test_the_evidence_inside(finished: Path) -> None:
    state = json.loads((finished / "internal/run.json").read_text())
    assert list(state["stages"]) == list(STAGES)
    assert (state["stages"]["profile"]["input"]["rows"], state["stages"]["verify"]["verdict"]) == (
        ROWS,
        "holds",
    )
    results = json.loads((finished / "internal/validation/results.json").read_text())
    assert results["success"] is True
    assert read(finished / "internal/classes")["size"].sum() == ROWS


def test_great_expectations_keeps_its_suite_its_results_and_pages(finished: Path) -> None:
    kept = finished / "internal/validation"
    suite, results = (
        json.loads((kept / name).read_text()) for name in ("suite.json", "results.json")
    )
    asked = [(each["type"], each["kwargs"]) for each in suite["expectations"]]
    assert (
        "expect_column_values_to_be_between",
        {"column": "emd_disease", "max_value": 0.2},
    ) in asked
    assert (
        "expect_column_values_to_be_between",
        {"column": "margin_disease", "min_value": 0.0},
    ) in asked
    assert ("expect_column_values_to_be_between", {"column": "size", "min_value": 5.0}) in asked
    assert len(results["results"]) == len(asked)
    classes = len(read(finished / "internal/classes"))
    for result in results["results"]:
        assert set(result["result"]) <= {
            "element_count",
            "unexpected_count",
            "unexpected_percent",
            "missing_count",
            "observed_value",
        }
        assert result["result"].get("element_count", classes) == classes
    for name in ("index", "suite"):
        assert "emd_disease" in (kept / f"data_docs/{name}.html").read_text()
    values = {*map(str, PEOPLE["disease"].unique().to_pylist()), *CITIES.leaves}
    text = "".join(content.decode() for content in tree(kept).values())
    assert not [value for value in values if re.search(rf"\b{re.escape(value)}\b", text)]


def test_the_checkpoint_is_run_again_as_documented(
    output: Path,
    spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (documented,) = re.findall(
        r"```python\n(.*?)```",
        (ROOT / "docs/reports.md").read_text(),
        re.DOTALL,
    )

    def run_again() -> tuple[bool, list[str]]:
        names: dict[str, Any] = {"spark": spark, "output": str(output)}
        exec(documented, names)
        return names["found"].success, [
            line for line in capsys.readouterr().out.splitlines() if line.startswith("False")
        ]

    assert run_again() == (True, [])
    table = spark.read.format("delta").load(f"{output}/internal/classes")
    first = table.agg(F.min("quasi_identifiers")).head()[0]  # type: ignore[index]
    far = F.col("quasi_identifiers") == F.struct(
        *[F.lit(label).alias(name) for name, label in first.asDict().items()],
    )
    write_delta(
        table.withColumn("emd_disease", F.when(far, 0.21).otherwise(F.col("emd_disease"))),
        f"{output}/internal/changed",
    )
    shutil.rmtree(output / "internal/classes")
    shutil.move(output / "internal/changed", output / "internal/classes")
    assert run_again() == (False, ["False t-closeness of disease: EMD <= 1/5 in every class 1"])


# --- the same release, whatever way


def test_every_file_and_every_key_of_a_run_is_documented(output: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/reference/files.md").read_text()
    files = [each.name for side in ("public", "internal") for each in (output / side).iterdir()]
    state = json.loads((output / "internal/run.json").read_text())
    keys = [*state, *state["stages"], *{key for stage in state["stages"].values() for key in stage}]
    assert [name for name in (*files, *keys) if f"`{name}`" not in page] == []
    assert len(files) > 12


def test_stage_by_stage_is_all_at_once(
    reported: Path,
    conf: Path,
    open_run: OpenRun,
    certificate: dict[str, Any],
    tmp_path: Path,
) -> None:
    copy = shutil.copytree(reported, tmp_path / "copy")
    published = pipeline.publish(open_run(conf, f"output.path={copy}"))
    assert {**published, "issued": ""} == {**certificate, "issued": ""}
    assert read(copy / "public/release").equals(read(conf.parent / "out/public/release"))


def test_a_release_of_an_input_that_has_not_changed_is_left_as_it_is(
    output: Path,
    conf: Path,
    spark: SparkSession,
    certificate: dict[str, Any],
) -> None:
    heard: list[str] = []
    spec = load_spec(conf, [f"output.path={output}"])
    before = tree(output)
    assert pipeline.release(Run(spec, spark, heard.append), if_changed=True) == certificate
    assert heard == [
        "nothing to do: the finished release matches this input, run file and hierarchies",
    ]
    assert tree(output) == before


@pytest.mark.parametrize("damage", ["{", "[]", "{}"])
def test_a_damaged_certificate_is_reported_although_nothing_changed(
    output: Path,
    conf: Path,
    open_run: Callable[..., Run],
    damage: str,
) -> None:
    (output / "public/certificate.json").write_text(damage)
    with pytest.raises(
        ConfigurationError,
        match=r"public: the certificate or the evidence .* release the table again",
    ):
        pipeline.release(open_run(conf, f"output.path={output}"), if_changed=True)


def test_verify_with_another_configuration_says_what_to_give(
    output: Path,
    conf: Path,
    open_run: Callable[..., Run],
) -> None:
    with pytest.raises(ConfigurationError, match="give the run file and every --set that made it"):
        pipeline.verify(open_run(conf, f"output.path={output}", "privacy.k=2"), finished=True)


class MadeAgainError(Exception):
    """Raised where a release would begin."""


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> None:
    def begin(run: Run) -> None:
        raise MadeAgainError

    monkeypatch.setattr(pipeline, "profile", begin)


@pytest.fixture
def touched(conf: Path) -> Iterator[None]:
    """The input's file, as if it had been written again."""
    table = conf.parent / "people.parquet"
    written = table.stat().st_mtime_ns
    os.utime(table, ns=(written, written + 1))
    yield
    os.utime(table, ns=(written, written))


@pytest.mark.usefixtures("begun", "touched")
def test_a_release_of_an_input_that_was_written_again_is_made_again(
    output: Path,
    conf: Path,
    open_run: OpenRun,
) -> None:
    with pytest.raises(MadeAgainError):
        pipeline.release(open_run(conf, f"output.path={output}"), if_changed=True)


@pytest.mark.usefixtures("begun")
def test_a_release_of_another_run_file_is_made_again(
    output: Path,
    conf: Path,
    open_run: OpenRun,
) -> None:
    (output / "cities.csv").write_text(
        (conf.parent / "cities.csv").read_text().replace("Italy", "Italia"),
    )
    for change in (
        "privacy.k=6",
        f"attributes.quasi_identifiers.city.hierarchy={output / 'cities.csv'}",
    ):
        with pytest.raises(MadeAgainError):
            pipeline.release(open_run(conf, f"output.path={output}", change), if_changed=True)


@pytest.mark.usefixtures("begun")
def test_where_there_is_no_release_it_is_made(
    conf: Path,
    open_run: OpenRun,
    tmp_path: Path,
) -> None:
    with pytest.raises(MadeAgainError):
        pipeline.release(open_run(conf, f"output.path={tmp_path / 'new'}"), if_changed=True)


@pytest.mark.usefixtures("begun")
@pytest.mark.on_spark
def test_a_release_that_is_wanted_elsewhere_too_is_made_again(
    output: Path,
    conf: Path,
    open_run: OpenRun,
) -> None:
    for change in (
        "output.keep_linked=false",
        "output.export=[csv]",
        "output.table=nowhere.people",
    ):
        with pytest.raises(MadeAgainError):
            pipeline.release(open_run(conf, f"output.path={output}", change), if_changed=True)


def test_other_files_of_the_same_rows(
    write_run: WriteRun,
    open_run: OpenRun,
    certificate: dict[str, Any],
    tmp_path: Path,
) -> None:
    path = write_run(
        tmp_path,
        None,
        output={"public": "to/publish", "internal": "to/keep"},
        **ROLES,
    )
    (tmp_path / "people.parquet").mkdir()
    shuffled = PEOPLE.take(pa.array([i * 5 % ROWS for i in range(ROWS)]))
    for i, first in enumerate((0, 7, 30)):
        pq.write_table(
            shuffled.slice(first, (7, 23, 18)[i]),
            tmp_path / f"people.parquet/{i}.parquet",
        )
    assert (
        pipeline.release(open_run(path))["release"]["fingerprint"]
        == certificate["release"]["fingerprint"]
    )
    assert {each.name for each in (tmp_path / "to/publish").iterdir()} == {
        "release",
        "certificate.json",
        "report.html",
        "codebook.csv",
        "contract.yaml",
    }
    assert mode(tmp_path / "to/keep") == "0o700"
    assert not (tmp_path / "to/keep/linked").exists()


@pytest.mark.on_spark
def test_an_output_behind_a_uri(
    conf: Path,
    open_run: OpenRun,
    certificate: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    internal = tmp_path / "out" / "internal"
    internal.mkdir(parents=True)
    (internal / "secret").write_text(
        "tests",
    )  # the one that the environment gives to the other runs
    monkeypatch.delenv("TCLOSE_SECRET")
    run = open_run(conf, f"output.path=file://{tmp_path}/out")
    assert pipeline.release(run)["release"]["fingerprint"] == certificate["release"]["fingerprint"]
    public = {
        path.name for path in (tmp_path / "out/public").iterdir() if not path.name.startswith(".")
    }
    assert public == {"release", "certificate.json", "report.html", "codebook.csv", "contract.yaml"}
    assert mode(internal) == "0o700"
    assert not (internal / "staging").exists()
    with pytest.raises(ConfigurationError, match="holds a finished release"):
        pipeline.profile(run)


@pytest.mark.on_spark
@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_secret_is_made_once_and_for_its_owner_only(
    conf: Path,
    open_run: OpenRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    scheme: str,
) -> None:
    monkeypatch.delenv("TCLOSE_SECRET")
    run = open_run(conf, f"output.path={scheme}{tmp_path}/out")
    run.begin()
    assert len(run.secret) == 64
    assert open_run(conf, f"output.path={scheme}{tmp_path}/out").secret == run.secret
    internal = tmp_path / "out" / "internal"
    assert (mode(internal), mode(internal / "staging"), mode(internal / "secret")) == (
        "0o700",
        "0o700",
        "0o600",
    )
    assert open_run(conf, f"output.path={tmp_path}/another").secret != run.secret


# --- verify again


def test_a_finished_release_is_verified_again_and_left_as_it_is(
    output: Path,
    conf: Path,
    open_run: OpenRun,
) -> None:
    before = tree(output)
    assert pipeline.verify(open_run(conf, f"output.path={output}")).holds
    assert tree(output) == before


def test_what_an_interrupted_run_left_does_not_hide_the_finished_release(
    output: Path,
    conf: Path,
    open_run: OpenRun,
) -> None:
    told: list[str] = []
    again = open_run(conf, f"output.path={output}", overwrite=True)
    again.announce = told.append
    for stage in (pipeline.profile, pipeline.plan, pipeline.anonymize):
        stage(again)
    path = output / "public/certificate.json"
    path.write_text(path.read_text().replace('"fingerprint": "', '"fingerprint": "0'))
    with pytest.raises(GuaranteeError, match=r"certificate\.json was changed"):
        pipeline.verify(again, finished=True)
    assert pipeline.verify(again).holds  # what is staged, and that is said
    assert any("this judges the staged release" in line for line in told)
    other = open_run(conf, f"output.path={output}", "privacy.k=6", overwrite=True)
    for stage in (pipeline.profile, pipeline.plan, pipeline.anonymize):
        stage(other)
    with pytest.raises(
        GuaranteeError,
        match=r"certificate\.json was changed",
    ):  # what is staged is another run file's
        pipeline.verify(open_run(conf, f"output.path={output}"))


def test_there_must_be_a_finished_release_to_judge_it(
    conf: Path,
    open_run: OpenRun,
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigurationError, match="no finished release"):
        pipeline.verify(open_run(conf, f"output.path={tmp_path}/nothing"), finished=True)


# --- when nothing is published


def test_a_finished_output_is_refused_and_left_as_it_is(
    output: Path,
    conf: Path,
    open_run: OpenRun,
) -> None:
    before = tree(output)
    with pytest.raises(ConfigurationError, match="holds a finished release; give --overwrite"):
        pipeline.release(open_run(conf, f"output.path={output}"))
    assert tree(output) == before


def test_a_finished_output_is_replaced_on_request(
    output: Path,
    conf: Path,
    open_run: OpenRun,
) -> None:
    other = [f"output.path={output}", "output.keep_linked=false", "privacy.k=9"]
    assert (
        pipeline.release(open_run(conf, *other, overwrite=True))["guarantees"]["k"]["required"] == 9
    )
    assert read(output / "public/release").groupby(["age", "city"]).size().min() >= 9
    assert not (output / "internal/linked").exists()
    assert (
        json.loads((output / "internal/run.json").read_text())["stages"]["plan"]["plan"][
            "class_size"
        ]
        >= 9
    )


def test_a_run_that_does_not_hold_publishes_nothing_and_leaves_the_older_one(
    spark: SparkSession,
    output: Path,
    conf: Path,
    open_run: OpenRun,
) -> None:
    before = tree(output / "public")
    settings = [f"output.path={output}"]
    run_stages(open_run(conf, *settings, overwrite=True), "profile", "plan", "anonymize")
    staged = output / "internal/staging/release"
    table = spark.createDataFrame(pa.Table.from_pandas(read(staged).iloc[1:], preserve_index=False))
    shutil.rmtree(staged)
    write_delta(table, str(staged))
    scrub_table(LocalFolder(str(staged.parent)), "release")
    with pytest.raises(GuaranteeError, match="nothing is published"):
        pipeline.verify(open_run(conf, *settings))
    with pytest.raises(GuaranteeError, match="nothing to certify"):
        pipeline.report(open_run(conf, *settings))
    with pytest.raises(ConfigurationError):
        pipeline.publish(open_run(conf, *settings))
    assert tree(output / "public") == before
    assert (
        json.loads((output / "internal/run.json").read_text())["stages"]["verify"]["verdict"]
        == "holds"
    )


@pytest.fixture(scope="module")
def profiled(conf: Path, open_run: OpenRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of a run that is profiled and planned."""
    folder = tmp_path_factory.mktemp("profiled") / "out"
    run_stages(open_run(conf, f"output.path={folder}"), "profile", "plan")
    return folder


@pytest.mark.parametrize(
    ("stage", "more"),
    [
        ("verify", ""),
        ("report", " and the stages after it"),
        ("publish", " and the stages after it"),
    ],
)
def test_a_stage_needs_the_one_before_it(
    profiled: Path,
    conf: Path,
    open_run: OpenRun,
    stage: str,
    more: str,
) -> None:
    with pytest.raises(ConfigurationError, match=f"run `tclose anonymize`{more} first"):
        run_stages(open_run(conf, f"output.path={profiled}"), stage)


def test_a_stage_needs_a_run_that_has_begun(conf: Path, open_run: OpenRun, tmp_path: Path) -> None:
    for stage in STAGES[1:]:
        with pytest.raises(ConfigurationError, match=r"nothing is staged .*run `tclose profile`"):
            run_stages(open_run(conf, f"output.path={tmp_path}/none"), stage)


@pytest.mark.parametrize(
    "change",
    ["privacy.k=6", "attributes.sensitive_attributes.disease.t=0.3", "method.deal=round_robin"],
)
def test_a_configuration_that_changes_between_stages_is_refused(
    profiled: Path,
    conf: Path,
    open_run: OpenRun,
    change: str,
) -> None:
    with pytest.raises(ConfigurationError, match="another configuration; begin again"):
        pipeline.anonymize(open_run(conf, f"output.path={profiled}", change))


def test_a_hierarchy_that_changes_between_stages_is_refused(
    profiled: Path,
    conf: Path,
    open_run: OpenRun,
    tmp_path: Path,
) -> None:
    for name in ("run.yaml", "people.parquet", "cities.csv"):
        shutil.copy(conf.parent / name, tmp_path)
    run_stages(open_run(tmp_path / "run.yaml"), "profile")
    cities = tmp_path / "cities.csv"
    cities.write_text(cities.read_text().replace("Tuscany", "Toscana"))
    with pytest.raises(ConfigurationError, match="another configuration; begin again"):
        pipeline.plan(open_run(tmp_path / "run.yaml"))


def test_a_run_that_is_not_ready_is_not_taken_for_the_finished_one(
    output: Path,
    conf: Path,
    open_run: OpenRun,
) -> None:
    settings = [f"output.path={output}", "privacy.k=9"]
    run_stages(open_run(conf, *settings, overwrite=True), "profile")
    with pytest.raises(ConfigurationError):
        pipeline.publish(open_run(conf, *settings))
    assert (output / "internal/staging/profile.json").exists()


def test_a_stage_that_fails_when_done_again_leaves_nothing_to_publish(
    reported: Path,
    conf: Path,
    open_run: OpenRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copy = Path(shutil.copytree(reported, tmp_path / "copy"))
    run = open_run(conf, f"output.path={copy}")

    def fail(anonymizer: Any) -> None:
        raise GuaranteeError("a label does not cover its value")

    with monkeypatch.context() as broken:
        broken.setattr("tclose_spark.stages.anonymize.Anonymizer.written", fail)
        with pytest.raises(GuaranteeError, match="does not cover"):
            pipeline.anonymize(run)
    with pytest.raises(
        ConfigurationError,
        match="run `tclose anonymize` and the stages after it first",
    ):
        pipeline.publish(run)
    assert not (copy / "public" / "certificate.json").exists()


def test_remains_of_a_failed_run_do_not_hide_the_finished_release(
    output: Path,
    conf: Path,
    open_run: OpenRun,
) -> None:
    run = open_run(conf, f"output.path={output}", overwrite=True)
    pipeline.profile(run)
    assert pipeline.verify(run).holds


def test_a_copy_that_breaks_off_leaves_the_whole_under_one_name(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import errno
    from pathlib import PosixPath

    from tclose_spark.io.storage.folders import LocalFolder, move

    (tmp_path / "staging" / "release").mkdir(parents=True)
    for name in ("part0", "part1"):
        (tmp_path / "staging" / "release" / name).write_text(name)
    rename = PosixPath.rename

    def across(self: Path, target: Path) -> Path:
        if self.parent.name != Path(target).parent.name:
            raise OSError(errno.EXDEV, "another file system")
        return rename(self, target)

    monkeypatch.setattr(PosixPath, "rename", across)
    remove = shutil.rmtree

    def breaks_off(path: Any, *rest: Any) -> None:
        if Path(path).name == "release.moved":
            raise OSError("killed")
        remove(path, *rest)

    source, target = LocalFolder(str(tmp_path / "staging")), LocalFolder(str(tmp_path / "public"))
    monkeypatch.setattr(shutil, "rmtree", breaks_off)
    with pytest.raises(OSError, match="killed"):
        move("release", source, target)
    assert not source.exists("release")
    assert target.names("release") == ["part0", "part1"]


# --- the closeness tree, the default method


MANY = {
    "age": [20 + i * 7 % 31 if i % 11 else None for i in range(600)],
    "sex": [["f", "m"][i * 5 % 9 < 4] for i in range(600)],
    "city": [CITIES.leaves[i * 3 % 5] for i in range(600)],
    "disease": [["flu", "flu", "gout", "ulcer"][i * 7 % 13 % 4] for i in range(600)],
    "grade": [i * 11 % 6 for i in range(600)],
    "home": [CITIES.leaves[i * i % 5] for i in range(600)],
}
TREE_ROLES: dict[str, Any] = {
    "quasi": {"age": {"type": "numeric"}, "sex": {}, "city": {"hierarchy": "cities.csv"}},
    "sensitive": {
        "disease": {"t": "0.25", "l": {"distinct": 2}},
        "grade": {"distance": "ordered", "t": "0.2"},
        "home": {"distance": "hierarchical", "hierarchy": "cities.csv", "t": "0.3"},
    },
    "k": 4,
    "method": {"name": "closeness_tree"},
}


@pytest.fixture(scope="module")
def tree_conf(write_run: WriteRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with sensitive attributes of all three distances, distinct l, and missing values."""
    return write_run(tmp_path_factory.mktemp("tree"), MANY, **TREE_ROLES)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of at most 150 rows, a task each."""
    monkeypatch.setattr(top, "block_size", lambda rows, most: 150)
    monkeypatch.setitem(EFFORTS, "balanced", replace(EFFORTS["balanced"], rows_per_task=1))


def test_the_closeness_tree_says_what_it_did(
    small_blocks: None,
    tree_conf: Path,
    open_run: OpenRun,
    tmp_path: Path,
) -> None:
    lines: list[str] = []
    run = open_run(tree_conf, f"output.path={tmp_path}/out")
    run.detail = lines.append
    certificate = pipeline.release(run)
    record = json.loads((tmp_path / "out/internal/run.json").read_text())["stages"]["anonymize"][
        "method"
    ]
    assert record["blocks"] == record["tasks"] > 2
    assert record["ncp"] == pytest.approx(certificate["utility"]["ncp"], abs=1e-6)
    assert record["ncp"] < record["ncp_before_exchange"] < 1
    assert record["mean_closeness_ratio"] < record["largest_closeness_ratio"] <= 1
    assert record["depth"] >= 2 <= record["depth_of_plan"]
    assert any(
        "merged because they failed the requirement on full counts" in line for line in lines
    )


@pytest.mark.parametrize("method", ["microaggregation", "sabre"])
def test_methods_in_even_blocks_say_what_they_did(
    tree_conf: Path,
    open_run: OpenRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
) -> None:
    module = import_module(f"tclose_spark.methods.{method}.plan")
    planned = partial(getattr(module, f"plan_{method}"), rows_per_block=150)
    monkeypatch.setattr(module, f"plan_{method}", planned)
    attributes = "attributes.sensitive_attributes"
    one = (f"{attributes}.disease.t=measure", f"{attributes}.home.t=measure")
    lines: list[str] = []
    run = open_run(tree_conf, f"output.path={tmp_path}/out", f"method={{name: {method}}}", *one)
    run.detail = lines.append
    certificate = pipeline.release(run)
    assert certificate["verdict"] == "holds"
    record = json.loads((tmp_path / "out/internal/run.json").read_text())["stages"]["anonymize"][
        "method"
    ]
    assert record["blocks"] == 4
    assert record["classes"] >= certificate["release"]["classes"] > 4
    assert record["ncp"] == pytest.approx(certificate["utility"]["ncp"], abs=1e-6)
    assert record["largest_closeness_ratio"] <= 1
    assert any("before " in line and "merged" in line for line in lines)


@pytest.mark.parametrize("files", [1, 7])
def test_the_closeness_tree_is_the_same_however_rows_come(
    small_blocks: None,
    tree_conf: Path,
    write_run: WriteRun,
    open_run: OpenRun,
    tmp_path: Path,
    files: int,
    spark: SparkSession,
) -> None:
    certificate = pipeline.release(open_run(tree_conf, f"output.path={tmp_path}/first"))
    people = (
        spark.read.parquet(str(tree_conf.parent / "people.parquet"))
        .orderBy("grade", "age")
        .repartition(files)
    )
    people.write.parquet(str(tmp_path / "other/people.parquet"))
    conf = write_run(tmp_path / "other", None, **TREE_ROLES)
    again = pipeline.release(open_run(conf))
    assert again["release"]["fingerprint"] == certificate["release"]["fingerprint"]


@pytest.mark.parametrize("of", ["the first rows", "one disease"])
def test_a_bad_sample_still_makes_a_release_that_holds(
    small_blocks: None,
    tree_conf: Path,
    open_run: OpenRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    of: str,
) -> None:
    draw = EncodedTable.sample

    def bad(table: EncodedTable, most: int) -> Rows:
        sample = draw(table, most)
        kept = sample.quasi[0] < 27 if of == "the first rows" else sample.cell < 3
        return sample.take(np.flatnonzero(kept))

    monkeypatch.setattr(EncodedTable, "sample", bad)
    certificate = pipeline.release(open_run(tree_conf, f"output.path={tmp_path}/out"))
    assert certificate["verdict"] == "holds"
    assert certificate["release"]["rows"] == 600


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("privacy.k=601", "privacy.k is 601, but the table has 600 rows"),
        (
            "attributes.sensitive_attributes.disease.l.distinct=4",
            "l.distinct is 4, but the whole table has 3 values",
        ),
    ],
)
def test_what_the_whole_table_does_not_hold_is_unreachable(
    tree_conf: Path,
    open_run: OpenRun,
    tmp_path: Path,
    change: str,
    message: str,
) -> None:
    with pytest.raises(UnreachableError, match=message):
        pipeline.release(open_run(tree_conf, f"output.path={tmp_path}/out", change))
    assert not (tmp_path / "out/public").exists()


def test_classes_that_a_method_cannot_make_are_unreachable(
    make_run: Callable[..., Run],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Near people share a disease, so their blocks break t as one class; a sample of five does not
    show it.
    """
    draw = EncodedTable.sample
    monkeypatch.setattr(EncodedTable, "sample", lambda table, most: draw(table, 5))
    run = make_run(
        {"sex": ["f", "m"] * 1500, "disease": ["flu", "gout"] * 1500},
        quasi={"sex": {}},
        sensitive={"disease": {"t": "0.3"}},
        method={"name": "fragmentation", "sizing": "measured", "most_fragments": 1},
        k=4,
    )
    with pytest.raises(UnreachableError, match="4 blocks of near rows break a t even as one class"):
        pipeline.release(run)
    assert not run.finished
    assert not Path(run.public.path()).exists()
    assert not run.staging.exists("rows")


def test_a_profile_that_fails_leaves_no_rows(make_run: Callable[..., Run]) -> None:
    run = make_run(
        {"age": ["30", "none"], "disease": ["flu", "gout"]},
        quasi={"age": {"type": "numeric"}},
        k=2,
    )
    with pytest.raises(InputError, match="hold no finite number"):
        pipeline.profile(run)
    assert not Path(run.staging.path()).exists()


def test_a_release_that_cannot_be_made_leaves_no_rows(
    tree_conf: Path,
    open_run: OpenRun,
    tmp_path: Path,
) -> None:
    run = open_run(tree_conf, f"output.path={tmp_path}/out", "privacy.k=601")
    with pytest.raises(UnreachableError):
        pipeline.release(run)
    assert not Path(run.staging.path()).exists()
    with pytest.raises(ConfigurationError, match=r"nothing is staged in .*; run `tclose profile`"):
        pipeline.plan(run)


def progress_of(run: Run) -> list[tuple[int, int]]:
    """What the run will show: (finished rows, all rows)."""
    shown: list[tuple[int, int]] = []

    @contextmanager
    def progress(total: int) -> Iterator[Callable[[int], None]]:
        yield lambda done: shown.append((done, total))

    run.progress = progress
    return shown


def test_progress_counts_rows(
    small_blocks: None,
    tree_conf: Path,
    open_run: OpenRun,
    tmp_path: Path,
) -> None:
    run = open_run(tree_conf, f"output.path={tmp_path}/out")
    shown = progress_of(run)
    run_stages(run, "profile", "plan")
    rows = run.state.of(ProfileRecord).input.rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tclose_spark.io.spark.progress.SECONDS", 0.001)
        pipeline.anonymize(run)
    assert shown
    assert {total for _, total in shown} == {rows}
    assert [done for done, _ in shown] == sorted({done for done, _ in shown})
    assert shown[-1][0] == rows


def test_progress_within_a_block_is_shown(tree_conf: Path, tmp_path: Path) -> None:
    """The local engine counts the sweeps over a block's rows. Work in memory before a release does
    not count.
    """
    spec = load_spec(tree_conf, [f"output.path={tmp_path}/out"])
    run = Run(spec, LocalSession(), lambda line: None)
    shown = progress_of(run)
    begin_block(10**9, 2)
    step()
    run_stages(run, "profile", "plan")
    assert (
        json.loads((tmp_path / "out/internal/staging/plan_report.json").read_text())["figures"][
            "blocks"
        ]
        == 1
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tclose_spark.io.spark.progress.SECONDS", 0.0005)
        pipeline.anonymize(run)
    rows = run.state.of(ProfileRecord).input.rows
    within = [done for done, _ in shown if 0 < done < rows]
    assert len(within) > 2
    assert shown[-1] == (rows, rows)


# --- several sensitive attributes, by every method

SEVERAL = {
    "disease": {"t": "0.4"},
    "grade": {"distance": "ordered", "t": "0.4"},
    "site": {"distance": "hierarchical", "hierarchy": "cities.csv", "t": "0.5"},
    "hours": {"distance": "ordered", "t": "0.4"},
    "paid": {"distance": "ordered", "order": ["low", "middle", "high"], "t": "0.5"},
}
METHODS = {
    "closeness_tree": {"name": "closeness_tree", "effort": "fast"},
    "stack_and_deal": {"name": "stack_and_deal"},
    "layered": {"name": "stack_and_deal", "deal": "layered"},
    "fragmentation": {"name": "fragmentation"},
    "measured": {"name": "fragmentation", "sizing": "measured"},
    "gcd": {"name": "fragmentation", "sizing": "gcd"},
    "microaggregation": {"name": "microaggregation", "algorithm": 2},
    "t_mondrian": {"name": "t_mondrian"},
    "overlap none": {"name": "closeness_tree", "overlap": "none", "effort": "fast"},
    "t_incognito": {"name": "t_incognito"},
}


@pytest.fixture(scope="module")
def answers() -> pa.Table:
    """Six hundred people with five sensitive attributes that hang together a little."""
    draw = np.random.default_rng(3)
    n = 600
    grade = draw.integers(1, 6, n)
    return pa.table(
        {
            "age": draw.integers(20, 60, n),
            "sex": draw.choice(["f", "m"], n),
            "grade": grade,
            "disease": draw.choice(["flu", "gout", "ulcer"], n, p=[0.6, 0.3, 0.1]),
            "site": draw.choice(list(CITIES.leaves), n),
            "hours": np.minimum(grade * 5 + draw.integers(0, 20, n), 40),
            "paid": draw.choice(["low", "middle", "high"], n, p=[0.5, 0.3, 0.2]),
        },
    )


def farthest_tuples(release: pd.DataFrame, sensitive: Any) -> Fraction:
    """The largest equal distance of the tuples of a class from the table's."""
    release = release.assign(all=list(zip(*[release[name] for name in sensitive], strict=True)))
    whole = Counter(release["all"])
    classes = [Counter(group["all"]) for _, group in release.groupby(["age", "sex"])]
    return max(
        sum(abs(Fraction(c[v], c.total()) - Fraction(n, len(release))) for v, n in whole.items())
        / 2
        for c in classes
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "attributes",
    [3, *(pytest.param(number, marks=pytest.mark.more) for number in (2, 5))],
)
def test_several_sensitive_attributes(
    answers: pa.Table,
    write_run: WriteRun,
    open_run: OpenRun,
    tmp_path: Path,
    method: str,
    attributes: int,
) -> None:
    sensitive = dict(list(SEVERAL.items())[:attributes])
    quasi = {"age": {"type": "numeric"}, "sex": {}}
    conf = write_run(
        tmp_path,
        answers,
        quasi=quasi,
        sensitive=sensitive,
        k=5,
        drop_others=True,
        method=METHODS[method],
    )
    certificate = pipeline.release(open_run(conf))
    guarantees = certificate["guarantees"]
    assert certificate["verdict"] == "holds"
    assert (certificate["release"]["rows"], guarantees["k"]["achieved"] >= 5) == (600, True)
    assert list(guarantees["t"]) == list(sensitive)
    assert all(
        Fraction(t["achieved_exact"]) <= Fraction(sensitive[name]["t"])
        for name, t in guarantees["t"].items()
    )
    assert Fraction(certificate["information"]["tuples"]["achieved_exact"]) == farthest_tuples(
        read(tmp_path / "out/public/release"),
        sensitive,
    )
    plan = json.loads((tmp_path / "out/internal/plan.json").read_text())
    if method == "fragmentation":
        assert len({*plan["fragment_of"]}) > 1


def test_measured_classes_that_break_a_t_are_joined(
    answers: pa.Table,
    write_run: WriteRun,
    open_run: OpenRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measure = fragmentation.Trials.measure

    def misled(*given: Any) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(fragmentation, "breaking", lambda *_: np.zeros(1, dtype=bool))
            return measure(*given)

    monkeypatch.setattr(fragmentation.Trials, "measure", misled)  # by the sample
    sensitive = {"grade": {"distance": "ordered", "t": "0.15"}, "disease": {"t": "0.2"}}
    method = METHODS["measured"]
    conf = write_run(
        tmp_path,
        answers,
        quasi={"age": {"type": "numeric"}},
        sensitive=sensitive,
        k=5,
        drop_others=True,
        method=method,
    )
    certificate = pipeline.release(open_run(conf))
    assert certificate["verdict"] == "holds"
    record = json.loads((tmp_path / "out/internal/run.json").read_text())["stages"]["anonymize"][
        "method"
    ]
    assert record["classes_joined"] > 0
