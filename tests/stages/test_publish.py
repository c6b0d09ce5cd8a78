"""Publication: readers see the old release or the new one, and one that broke off at any moment is
finished by the next command.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from people import read, run_stages, tree

from tclose_spark import pipeline
from tclose_spark.errors import ConfigurationError, GuaranteeError
from tclose_spark.io.interrupts import handle_signals
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import (
    AnonymizeRecord,
    PlanRecord,
    ProfileRecord,
    ReportRecord,
    VerifyRecord,
)
from tclose_spark.io.storage import folder as replacing
from tclose_spark.io.storage.folders import LocalFolder
from tclose_spark.stages import publish

OpenRun = Callable[..., Run]
CHANGES = {
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.chmod",
    "shutil.rmtree",
    "shutil.copytree",
}
"""Audit events of Python before the file system is changed; writing is `open` with a mode for
it.
"""


class Killed(BaseException):
    """What ends a process in these tests, as SIGKILL would: nothing is changed after it."""


class FileSystem:
    """Counts the changes of files, looks before each, and ends the process before one of them."""

    def __init__(self) -> None:
        self.watched, self.changes, self.last = False, 0, -1
        self.look: Callable[[], None] = lambda: None
        sys.addaudithook(self._hook)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        writes = (
            event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)
        )
        if not self.watched or not (event in CHANGES or writes):
            return
        self.watched = False
        self.look()
        self.watched = True
        if self.changes == self.last:
            raise Killed
        self.changes += 1

    @contextmanager
    def watch(self, last: int = -1, look: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Ends the body before its change number `last`; calls `look` before each."""
        self.watched, self.changes, self.last, self.look = True, 0, last, look
        try:
            yield
        finally:
            self.watched = False


@pytest.fixture(scope="session")
def file_system() -> FileSystem:
    return FileSystem()


@pytest.fixture(params=["exchanged", "renamed twice", "part by part"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How a public folder is replaced: as a whole in one step, in two, or not at all."""
    if request.param == "renamed twice":
        monkeypatch.setattr(replacing, "_exchange", lambda one, other: False)
    if request.param == "part by part":
        monkeypatch.setattr(LocalFolder, "sibling", lambda self, suffix: None)
    way: str = request.param
    return way


@pytest.fixture
def ready(reported: Path, finished: Path, tmp_path: Path) -> Path:
    """An output with a finished release that another one is ready to replace."""
    copy = Path(shutil.copytree(reported, tmp_path / "copy"))
    shutil.copytree(finished, copy, dirs_exist_ok=True)
    (copy / "public/report.html").write_text("the older one")
    certificate = copy / "public/certificate.json"  # both may have been issued in one second
    older = {**json.loads(certificate.read_text()), "issued": "2020-01-01T00:00:00Z"}
    certificate.write_text(json.dumps(older, indent=2))
    return copy


def staged(output: Path) -> dict[str, bytes]:
    """What is ready to be public."""
    names = ("release", "codebook.csv", "contract.yaml", "report.html", "certificate.json")
    return {
        name: it
        for name, it in tree(output / "internal/staging").items()
        if name.split("/")[0] in names
    }


def shown(output: Path) -> dict[str, bytes]:
    """What readers see."""
    return tree(output / "public") if (output / "public").exists() else {}


RECORDS = (ProfileRecord, PlanRecord, AnonymizeRecord, VerifyRecord, ReportRecord)
NEEDED = [
    (kind.stage, key)
    for kind in RECORDS
    for key, field in kind.model_fields.items()
    if field.is_required()
]
"""What each record must have."""


def forget_key(output: Path, stage: str, key: str) -> None:
    """Takes from what is staged what an older version did not write."""
    path = output / "internal/staging/run.json"
    state = json.loads(path.read_text())
    del state["stages"][stage][key]
    path.write_text(json.dumps(state))


def changes_of(file_system: FileSystem, run: Run) -> int:
    with file_system.watch():
        pipeline.publish(run)
    return file_system.changes


def test_readers_see_the_old_release_or_the_new_one(
    ready: Path,
    conf: Path,
    open_run: OpenRun,
    file_system: FileSystem,
) -> None:
    old, new, seen = shown(ready), staged(ready), list[str]()
    run = open_run(conf, f"output.path={ready}", overwrite=True)

    def look() -> None:
        seen.append({repr(old): "old", repr(new): "new"}.get(repr(shown(ready)), "neither"))

    with file_system.watch(look=look):
        pipeline.publish(run)
    assert len(seen) > 30
    assert set(seen) == {"old", "new"}
    assert seen == sorted(seen, reverse=True)
    assert shown(ready) == new


@pytest.mark.parametrize("over_an_older_one", [False, True])
@pytest.mark.parametrize(
    "part",
    [0, *(pytest.param(part, marks=pytest.mark.more) for part in range(1, 8))],
)
def test_a_publish_that_was_killed_is_finished_by_another(
    reported: Path,
    ready: Path,
    finished: Path,
    conf: Path,
    open_run: OpenRun,
    tmp_path: Path,
    file_system: FileSystem,
    way: str,
    part: int,
    over_an_older_one: bool,
) -> None:
    begun = ready if over_an_older_one else reported
    settings, whole = [f"output.path={tmp_path / 'killed'}"], staged(begun)
    shutil.copytree(begun, tmp_path / "whole")
    changes = changes_of(
        file_system,
        open_run(conf, f"output.path={tmp_path / 'whole'}", overwrite=True),
    )
    assert changes > 30
    for last in range(part, changes, 8):
        shutil.rmtree(tmp_path / "killed", ignore_errors=True)
        shutil.copytree(begun, tmp_path / "killed")
        old = shown(tmp_path / "killed")
        with file_system.watch(last), pytest.raises(Killed):
            pipeline.publish(open_run(conf, *settings, overwrite=True))
        left = shown(tmp_path / "killed")
        if way == "part by part":
            assert left in (whole, old) or "certificate.json" not in left
        else:
            assert left in (old, whole, {})
            assert left or not old or way == "renamed twice"
        with open_run(conf, *settings).locked():
            pipeline.publish(open_run(conf, *settings, overwrite=True))
        assert shown(tmp_path / "killed") == whole, last
        internal, expected = (
            {path.name for path in (folder / "internal").iterdir()}
            for folder in (tmp_path / "killed", finished)
        )
        assert internal == expected, last
        assert {path.name for path in (tmp_path / "killed").iterdir()} == {"public", "internal"}
        assert (
            pipeline.publish(open_run(conf, *settings))["verdict"] == "holds"
        )  # once more: nothing is left to do


@pytest.mark.parametrize("last", range(0, 200, 23))
def test_the_release_command_finishes_what_was_killed_after_the_certificate(
    ready: Path,
    conf: Path,
    open_run: OpenRun,
    file_system: FileSystem,
    last: int,
) -> None:
    settings, new = [f"output.path={ready}"], staged(ready)
    with file_system.watch(last):
        try:
            pipeline.publish(open_run(conf, *settings, overwrite=True))
        except Killed:
            pass
        else:
            return  # there are not so many changes
    if shown(ready) != new:
        with pytest.raises(ConfigurationError, match="holds a finished release"):
            pipeline.release(open_run(conf, *settings))
        return
    pipeline.release(open_run(conf, *settings))  # without overwrite, and nothing is made again
    assert shown(ready) == new
    assert not (ready / "internal/staging").exists()
    assert pipeline.verify(open_run(conf, *settings)).holds


def test_what_was_killed_after_the_certificate_is_finished_before_another_release(
    ready: Path,
    conf: Path,
    open_run: OpenRun,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    new = staged(ready)
    with monkeypatch.context() as broken:
        broken.setattr(publish, "_keep", lambda run: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            pipeline.publish(open_run(conf, f"output.path={ready}", overwrite=True))
    with pytest.raises(ConfigurationError, match=r"broke off; run `tclose publish`"):
        pipeline.verify(open_run(conf, f"output.path={ready}"))
    with pytest.raises(
        ConfigurationError,
        match="holds a finished release",
    ):  # another run file does it, too
        pipeline.profile(open_run(conf, f"output.path={ready}", "privacy.k=6"))
    assert shown(ready) == new
    assert pipeline.verify(open_run(conf, f"output.path={ready}")).holds


def test_a_signal_while_a_release_is_placed_waits(
    output: Path,
    conf: Path,
    open_run: OpenRun,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    move = publish.move

    def interrupted(name: str, *folders: Any) -> None:
        move(name, *folders)
        if name == "release":
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(publish, "move", interrupted)
    with handle_signals():
        again = pipeline.release(open_run(conf, f"output.path={output}", overwrite=True))
    assert again == json.loads((output / "public/certificate.json").read_text())


@pytest.mark.parametrize("over_an_older_one", [False, True])
def test_a_release_that_does_not_arrive_as_it_was_verified_is_not_public(
    reported: Path,
    ready: Path,
    conf: Path,
    open_run: OpenRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    over_an_older_one: bool,
    way: str,
) -> None:
    copy = ready if over_an_older_one else Path(shutil.copytree(reported, tmp_path / "first"))
    old, move = shown(copy), publish.move

    def flip_a_bit(name: str, source: Any, target: Any) -> None:
        move(name, source, target)
        for part in Path(target.path(name)).glob("part-*.parquet"):
            content = bytearray(part.read_bytes())
            content[100] ^= 1
            part.write_bytes(content)

    monkeypatch.setattr(publish, "move", flip_a_bit)
    with pytest.raises(GuaranteeError, match=r"did not arrive in .*part-.* was changed"):
        pipeline.publish(open_run(conf, f"output.path={copy}", overwrite=True))
    assert shown(copy) == ({} if way == "part by part" else old)
    with pytest.raises(
        ConfigurationError,
        match=r"publish: .* run `tclose anonymize` and the stages after it first",
    ):
        pipeline.publish(open_run(conf, f"output.path={copy}", overwrite=True))


def test_what_changed_after_it_was_verified_is_not_published(
    conf: Path,
    open_run: OpenRun,
    tmp_path: Path,
    reported: Path,
) -> None:
    copy = Path(shutil.copytree(reported, tmp_path / "copy"))
    run = open_run(conf, f"output.path={copy}")
    pipeline.verify(run)
    (part,) = (copy / "internal/staging/release").glob("part-*.parquet")
    part.write_bytes(part.read_bytes() + b"1")
    with pytest.raises(
        GuaranteeError,
        match=r"was changed after it was verified: release/part-.* was changed",
    ):
        pipeline.report(run)
    assert not (copy / "public").exists()


def test_what_somebody_else_adds_meanwhile_is_noticed(
    ready: Path,
    conf: Path,
    open_run: OpenRun,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    replace = LocalFolder.replace

    def and_add(self: LocalFolder, new: LocalFolder) -> None:
        replace(self, new)
        (ready / "public/raw.csv").write_text("person,disease")

    monkeypatch.setattr(LocalFolder, "replace", and_add)
    with pytest.raises(GuaranteeError, match="changed by another program"):
        pipeline.publish(open_run(conf, f"output.path={ready}", overwrite=True))
    assert not (ready / "public/certificate.json").exists()
    monkeypatch.undo()
    again = open_run(conf, f"output.path={ready}", overwrite=True)
    run_stages(again, "anonymize", "verify", "report", "publish")
    assert shown(ready).keys() >= {"certificate.json", "report.html"}
    assert "raw.csv" not in shown(ready)


@pytest.mark.parametrize(("stage", "key"), NEEDED)
def test_what_an_older_version_staged_is_not_published(
    reported: Path,
    conf: Path,
    open_run: OpenRun,
    tmp_path: Path,
    stage: str,
    key: str,
) -> None:
    copy = Path(shutil.copytree(reported, tmp_path / "copy"))
    forget_key(copy, stage, key)
    for command in (pipeline.publish, pipeline.verify, pipeline.plan):
        with pytest.raises(
            ConfigurationError,
            match=r"another version .*; begin again with `tclose profile`",
        ):
            command(open_run(conf, f"output.path={copy}"))


def test_a_release_over_what_an_older_version_staged_begins_anew(
    ready: Path,
    conf: Path,
    open_run: OpenRun,
) -> None:
    forget_key(ready, "report", "files")
    assert (
        pipeline.release(open_run(conf, f"output.path={ready}", overwrite=True))["verdict"]
        == "holds"
    )


def test_a_profile_that_an_older_version_staged_is_not_read(
    reported: Path,
    conf: Path,
    open_run: OpenRun,
    tmp_path: Path,
) -> None:
    path = Path(shutil.copytree(reported, tmp_path / "copy")) / "internal/staging/profile.json"
    path.write_text(path.read_text().replace('"repeated"', '"other"'))
    with pytest.raises(
        ConfigurationError,
        match=r"another version .*; begin again with `tclose profile`",
    ):
        pipeline.plan(open_run(conf, f"output.path={tmp_path / 'copy'}"))


def test_two_run_files_with_one_public_folder_do_not_write_at_once(
    conf: Path,
    open_run: OpenRun,
    tmp_path: Path,
    way: str,
) -> None:
    public = f"output={{public: {tmp_path}/shared, internal: {tmp_path}/%s}}"
    one, other = (open_run(conf, public % name) for name in ("one", "other"))
    with one.locked():
        with (
            pytest.raises(
                ConfigurationError,
                match=r"shared is being written by another run: process \d+",
            ),
            other.locked(),
        ):
            pass
        assert not (tmp_path / "other/lock").exists()
    with other.locked():
        pass
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_folder_keeps_its_mode_and_its_place_behind_a_link(
    reported: Path,
    conf: Path,
    open_run: OpenRun,
    tmp_path: Path,
) -> None:
    copy = Path(shutil.copytree(reported, tmp_path / "copy"))
    place = tmp_path / "disk/place"
    place.mkdir(parents=True, mode=0o750)
    (copy / "public").symlink_to(place)
    pipeline.publish(open_run(conf, f"output.path={copy}"))
    assert (copy / "public").is_symlink()
    assert sorted(path.name for path in place.iterdir()) == [
        "certificate.json",
        "codebook.csv",
        "contract.yaml",
        "release",
        "report.html",
    ]
    assert oct(place.stat().st_mode & 0o777) == "0o750"
    assert [path.name for path in place.parent.iterdir()] == ["place"]


def test_a_published_release_is_read_and_verified(
    reported: Path,
    conf: Path,
    open_run: OpenRun,
    tmp_path: Path,
    way: str,
) -> None:
    copy = Path(shutil.copytree(reported, tmp_path / "copy"))
    run_stages(open_run(conf, f"output.path={copy}"), "publish", "verify")
    assert len(read(copy / "public/release")) == 48


def test_what_others_keep_beside_the_public_folder_stays(
    conf: Path,
    open_run: Callable[..., Run],
    output: Path,
) -> None:
    others = [output / f"public.{ending}" for ending in ("old", "new", "lock")]
    for folder in others:
        folder.mkdir()
        (folder / "backup").touch()
    (output / "public").rename(output / "public.kept")
    run = open_run(conf, f"output.path={output}")
    with run.locked():
        run.begin()
    assert all((folder / "backup").exists() for folder in others)
    assert not (output / "public/certificate.json").exists()
