"""`tclose verify` of a finished release: every damage is found, by the check that is meant for it,
with exit code 1.

Each damage is done twice: as it is, which the list of files shows, and by an adversary who also
lists the files of the damaged release in run.json.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from acts import Damage, more_log
from checks import checks_in
from damaged_outputs import BESIDE, EVIDENCE, STATE, fields_changed, without_field
from damaged_tables import TABLES
from people import list_again, tree
from pyspark.sql import SparkSession
from tried import Tried

from tclose_spark import pipeline
from tclose_spark.errors import ConfigurationError, GuaranteeError
from tclose_spark.io.run import Run
from tclose_spark.io.storage.folders import LocalFolder
from tclose_spark.stages import verify as verify_finished

OpenRun = Callable[..., Run]

RECOMPUTED: dict[str, tuple[str, Damage]] = {
    f"{check}: {name}": (check, damage)
    for tables in (TABLES, BESIDE)
    for check, damages in tables.items()
    for name, damage in damages.items()
}
"""Damages that are found in two ways, with the check that finds them in the second."""
LISTED: dict[str, Damage] = {
    **{name: damage for name, (_, damage) in RECOMPUTED.items()},
    **{f"evidence: {name}": damage for name, damage in EVIDENCE.items()},
}
AS_IT_IS, LISTED_AGAIN, OF_STATE = (
    Tried("damages", "of a finished release", LISTED),
    Tried(
        "damages",
        "of a finished release, by an adversary who lists the files again",
        RECOMPUTED,
    ),
    Tried("damages", "of the state of a run", STATE),
)


def judge(run: Run) -> str:
    """The error of `verify`, which ends with exit code 1."""
    with pytest.raises(GuaranteeError) as found:
        pipeline.verify(run)
    assert found.value.exit_code == 1
    return str(found.value)


@pytest.mark.parametrize("name", LISTED)
def test_the_list_of_files_shows_a_damage(
    output: Path,
    conf: Path,
    open_run: OpenRun,
    name: str,
) -> None:
    before = tree(output)
    LISTED[name](output / "public")
    after = tree(output)
    changed = [file for file in {*before, *after} if before.get(file) != after.get(file)]
    assert changed
    message = judge(open_run(conf, f"output.path={output}"))
    assert "list of files" in checks_in(message)
    assert any(file.partition("/")[2] in message for file in changed if "/" in file)
    AS_IT_IS.found(name)


@pytest.mark.parametrize("name", RECOMPUTED)
def test_its_own_check_finds_it_where_files_were_listed_again(
    output: Path,
    conf: Path,
    open_run: OpenRun,
    name: str,
) -> None:
    check, damage = RECOMPUTED[name]
    damage(output / "public")
    list_again(output)
    message = judge(open_run(conf, f"output.path={output}"))
    assert check in checks_in(message), message
    LISTED_AGAIN.found(name)


@pytest.mark.parametrize("name", STATE)
def test_a_damaged_state_is_named(output: Path, conf: Path, open_run: OpenRun, name: str) -> None:
    STATE[name](output / "public")
    assert checks_in(judge(open_run(conf, f"output.path={output}"))) == {"state"}
    OF_STATE.found(name)


def test_each_field_of_the_certificate_is_compared(
    output: Path,
    conf: Path,
    open_run: OpenRun,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The release itself stays the same, so it is judged once."""
    judge_once, verdicts = verify_finished.judge, dict[str, Any]()

    def judged(*given: Any) -> Any:
        if not verdicts:
            verdicts["of the release"] = judge_once(*given)
        return verdicts["of the release"]

    monkeypatch.setattr(verify_finished, "judge", judged)
    page = output / "public/certificate.json"
    text = page.read_text()
    fields = fields_changed(json.loads(text))
    tried = Tried(
        "damages",
        "of a field of the certificate, changed or removed",
        [*fields, *(f"no {f}" for f in fields)],
    )
    for name, (path, change) in fields.items():
        for kind, damage in ((name, change), (f"no {name}", without_field(path))):
            page.write_text(text)
            damage(output / "public")
            list_again(output)
            assert checks_in(judge(open_run(conf, f"output.path={output}"))) == {"certificate"}, (
                kind
            )
            tried.found(kind)
    page.write_text(text)
    list_again(output)
    assert pipeline.verify(open_run(conf, f"output.path={output}")).holds
    tried.compare()


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize(
    "name",
    ["public/release/raw", "public/raw", "public/release/_delta_log/raw"],
)
@pytest.mark.parametrize(
    "kind",
    ["a link to a folder", "a link to a file", "a broken link", "an empty folder"],
)
def test_links_and_empty_folders_are_no_part_of_a_release(
    output: Path,
    conf: Path,
    open_run: OpenRun,
    kind: str,
    name: str,
    listed: bool,
) -> None:
    if kind == "an empty folder":
        (output / name).mkdir()
    else:
        to = {
            "a link to a folder": conf.parent,
            "a link to a file": conf,
            "a broken link": output / "nothing",
        }[kind]
        (output / name).symlink_to(to)
    if listed:
        list_again(output)
    with pytest.raises(GuaranteeError, match=r"public.*\braw/? is no file of|not list .*raw"):
        pipeline.verify(open_run(conf, f"output.path={output}"))


@pytest.mark.parametrize("name", ["public/report.html", "internal/plan.json"])
def test_a_file_that_cannot_be_read_is_named(
    output: Path,
    conf: Path,
    open_run: OpenRun,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = LocalFolder.sha256

    def refuse(self: LocalFolder, file: str) -> str:
        if self.path(file) == str(output / name):
            raise PermissionError(13, "Permission denied", self.path(file))
        return read(self, file)

    monkeypatch.setattr(LocalFolder, "sha256", refuse)
    with pytest.raises(GuaranteeError, match=f"{name} cannot be read"):
        pipeline.verify(open_run(conf, f"output.path={output}"))


def test_of_a_damaged_file_it_is_not_said_that_nothing_is_published(
    output: Path,
    conf: Path,
    open_run: OpenRun,
) -> None:
    TABLES["readable"]["the data file with another magic number"](output / "public")
    list_again(output)
    with pytest.raises(GuaranteeError, match=r"the release is damaged: part-\S+ cannot be read$"):
        pipeline.verify(open_run(conf, f"output.path={output}"))


def test_what_is_not_damaged_holds_when_it_is_listed_again(
    output: Path,
    conf: Path,
    open_run: OpenRun,
) -> None:
    list_again(output)
    assert pipeline.verify(open_run(conf, f"output.path={output}")).holds


def test_what_an_owner_did_to_the_table_is_named(
    output: Path,
    conf: Path,
    open_run: OpenRun,
    spark: SparkSession,
) -> None:
    spark.sql(
        f"ALTER TABLE delta.`{output / 'public/release'}` SET TBLPROPERTIES ('comment' = 'ours')",
    )
    more_log({"commitInfo": {"operation": "OPTIMIZE"}}, commit=2)(output / "public")
    with pytest.raises(
        GuaranteeError,
        match=r"later commits: SET TBLPROPERTIES \(commit 1\), OPTIMIZE \(commit 2\)\); it is no longer",
    ):
        pipeline.verify(open_run(conf, f"output.path={output}"))


def test_a_release_by_a_version_that_listed_no_files_is_not_judged(
    output: Path,
    conf: Path,
    open_run: OpenRun,
) -> None:
    path = output / "internal/run.json"
    state = json.loads(path.read_text())
    del state["stages"]["report"]["files"]
    path.write_text(json.dumps(state))
    with pytest.raises(ConfigurationError, match="older version of tclose_spark"):
        pipeline.verify(open_run(conf, f"output.path={output}"))


def test_a_certificate_by_another_version_of_the_package_is_one(
    output: Path,
    conf: Path,
    open_run: OpenRun,
) -> None:
    path = output / "public/certificate.json"
    whole = json.loads(path.read_text())
    whole["tool"]["version"], whole["issued"] = "0.0.1", "2020-01-01T00:00:00Z"
    path.write_text(json.dumps(whole))
    list_again(output)
    run = open_run(conf, f"output.path={output}")
    with pytest.raises(
        GuaranteeError,
        match=r"of version 0\.0\.1 of tclose_spark.*--other-version",
    ):
        pipeline.verify(run)
    assert pipeline.verify(run, finished=True, other_version=True).holds


@pytest.mark.parametrize("kind", ["a pipe", "a socket"])
@pytest.mark.parametrize(
    "name",
    ["public/report.html", "public/raw", "public/release/part-0", "internal/plan.json"],
)
def test_what_is_no_regular_file_is_not_opened(
    output: Path,
    conf: Path,
    open_run: OpenRun,
    kind: str,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = output / name
    path.unlink(missing_ok=True)
    if kind == "a pipe":
        os.mkfifo(path)
    else:
        monkeypatch.chdir(path.parent)  # the path of a socket is short
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    with pytest.raises(GuaranteeError, match=f"{name} is no file of a release: it is a pipe"):
        pipeline.verify(open_run(conf, f"output.path={output}"))


@pytest.mark.parametrize("tried", [AS_IT_IS, LISTED_AGAIN, OF_STATE], ids=lambda tried: tried.what)
def test_the_page_of_what_was_tested_has_these_damages(tried: Tried) -> None:
    tried.compare()
