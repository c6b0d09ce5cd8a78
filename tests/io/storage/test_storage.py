"""Folders behind a URI, moved in one step or file by file, as object stores do; by Hadoop, or by
pyarrow.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from object_store import FilesInFolder, FilesWithMarks, FilesWithoutFolders, use_as_store
from pyspark.sql import SparkSession

from tclose_spark import pipeline
from tclose_spark.errors import ConfigurationError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run
from tclose_spark.io.storage import folder as moving
from tclose_spark.io.storage import folders as arrow
from tclose_spark.io.storage import hadoop
from tclose_spark.io.storage.folders import ArrowFolder, Folder, LocalFolder, move, open_folder
from tclose_spark.io.storage.hadoop import HadoopFolder

FILES = {"part 1%.parquet": "one", "part-2.parquet": "two", "_delta_log/00.json": "log"}
BY_PYARROW = "file by file, by pyarrow"
IN_THIS_PROCESS = {
    BY_PYARROW: FilesInFolder,
    f"{BY_PYARROW}, without folders": FilesWithoutFolders,
    f"{BY_PYARROW}, with marks": FilesWithMarks,
}


@pytest.fixture(autouse=True, params=["in one step", "file by file", *IN_THIS_PROCESS])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    if request.param != "in one step":
        monkeypatch.setattr(hadoop, "MOVES_WHOLE", frozenset())
    use_as_store(tmp_path, monkeypatch, files=IN_THIS_PROCESS.get(request.param, FilesInFolder)())
    return str(request.param)


@pytest.fixture
def opened(spark: SparkSession, tmp_path: Path, kind: str) -> Callable[[str], Folder]:
    """`opened(name)`: a folder of this kind."""
    if kind in IN_THIS_PROCESS:
        return lambda name: open_folder(f"s3a://{name}", LocalSession())
    return lambda name: open_folder(f"file://{tmp_path}/{name}", spark)


@pytest.fixture
def staging(opened: Callable[[str], Folder]) -> Folder:
    folder = opened("staging")
    for name, text in FILES.items():
        folder.write(f"release/{name}", text)
    return folder


@pytest.fixture
def public(opened: Callable[[str], Folder]) -> Folder:
    return opened("public")


@pytest.fixture
def held(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """`held(folder)`: the files of its release, without the checksums of a local Hadoop file
    system.
    """

    def found(folder: Folder, name: str = "release") -> dict[str, str]:
        root = tmp_path / Path(folder.path()).name / name
        files = [
            file for file in root.rglob("*") if file.is_file() and not file.name.endswith(".crc")
        ]
        return {str(file.relative_to(root)): file.read_text() for file in files}

    return found


Held = Callable[..., dict[str, str]]


def test_a_folder_moves_in_place_of_an_older_one(
    staging: Folder,
    public: Folder,
    held: Held,
) -> None:
    public.write("release/older.parquet", "older")
    move("release", staging, public)
    assert held(public) == FILES
    assert [name for name in staging.names() if not name.endswith(".crc")] == []


def test_a_file_moves_in_place_of_an_older_one(staging: Folder, public: Folder, held: Held) -> None:
    staging.write("certificate.json", "new")
    public.write("certificate.json", "old")
    move("certificate.json", staging, public)
    assert public.read("certificate.json") == "new"
    assert not staging.exists("certificate.json")
    assert held(staging) == FILES


def test_names_are_those_of_files_and_folders(staging: Folder, public: Folder) -> None:
    staging.write("profile.json", "{}")
    assert {name for name in staging.names() if not name.endswith(".crc")} == {
        "profile.json",
        "release",
    }
    staging.remove("release")
    assert not staging.exists("release")
    assert staging.exists("profile.json")


def test_which_folders_move_their_files_at_once(spark: SparkSession, kind: str) -> None:
    assert open_folder("/srv/out", spark).moves_at_once
    assert not open_folder("/Volumes/a/b/c", spark).moves_at_once
    assert open_folder("file:///srv/out", spark).moves_at_once == (kind == "in one step")


class BreaksOff(OSError):
    pass


@pytest.fixture
def broken_off(
    staging: Folder,
    public: Folder,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    held: Held,
) -> list[str]:
    """A move file by file that ended before its last one; what had arrived."""
    if kind == "in one step":
        pytest.skip("it does not break off")
    public.write("release/older.parquet", "older")
    moves: Any = type(public)
    whole: Callable[..., None] = moves._move_file

    def one_less(self: Folder, source: Folder, name: str) -> None:
        if name.endswith("part-2.parquet"):
            raise BreaksOff
        whole(self, source, name)

    with monkeypatch.context() as patch:
        patch.setattr(moves, "_move_file", one_less)
        patch.setattr(moving, "AT_ONCE", 1)
        with pytest.raises(BreaksOff):
            move("release", staging, public)
    return sorted(held(public))


def test_a_move_that_broke_off_goes_on(
    broken_off: list[str],
    staging: Folder,
    public: Folder,
    held: Held,
) -> None:
    assert broken_off == ["_delta_log/00.json", "part 1%.parquet"]
    assert held(staging) == {"part-2.parquet": "two"}
    move("release", staging, public)
    assert held(public) == FILES
    assert not staging.exists("release.moving")


def test_what_was_staged_anew_does_not_mix_with_what_had_arrived(
    broken_off: list[str],
    staging: Folder,
    public: Folder,
    held: Held,
) -> None:
    staging.remove("release")
    staging.write("release/part-3.parquet", "three")
    move("release", staging, public)
    assert held(public) == {"part-3.parquet": "three"}


def test_across_file_systems_by_copies(
    staging: Folder,
    public: Folder,
    monkeypatch: pytest.MonkeyPatch,
    held: Held,
) -> None:
    monkeypatch.setattr(HadoopFolder, "_is_beside", lambda self, other: False)
    monkeypatch.setattr(FilesInFolder, "equals", lambda self, other: False, raising=False)
    move("release", staging, public)
    assert held(public) == FILES
    assert not staging.exists("release")


def test_one_of_many_writers_gets_a_new_file(public: Folder, kind: str) -> None:
    """Writers that pyarrow sends may hinder one another; then none gets it, and the next one
    does.
    """
    public.create()
    with ThreadPoolExecutor(8) as writers:
        for lock in map(str, range(50)):
            got = list(writers.map(lambda i, lock=lock: public.write_new(lock, str(i)), range(8)))
            if kind in IN_THIS_PROCESS and not any(got):
                got = [public.write_new(lock, "0")]
            assert sum(got) == 1
            assert public.read(lock) == str(got.index(True))
            assert not public.write_new(lock, "late")
    assert {name for name in public.names() if not name.endswith(".crc")} == set(
        map(str, range(50)),
    )


@pytest.mark.parametrize("kind", [BY_PYARROW], indirect=True)
def test_a_writer_waits_for_no_claim_of_one_that_was_killed(
    public: Folder,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    public.write("lock~0", "")
    assert not public.write_new("lock", "mine")
    monkeypatch.setattr(arrow, "CLAIM_LASTS", 1)
    assert public.write_new("lock", "mine")
    assert isinstance(public, ArrowFolder)


def test_what_a_file_system_refuses_is_no_file_that_is_there(
    public: Folder,
    tmp_path: Path,
    kind: str,
) -> None:
    (tmp_path / "public").write_text("a file where the folder would be")
    requests: list[Callable[[], Any]] = [
        lambda: public.write_new("lock", "mine"),
        lambda: public.read("lock"),
    ]
    if kind not in IN_THIS_PROCESS:  # where files make their folders
        requests.append(lambda: public.create())
    for refused in requests:
        with pytest.raises(OSError, match=r"public|Not a directory"):
            refused()


def test_only_spark_reaches_uris() -> None:
    assert open_folder("/srv/out", LocalSession()).path("lock") == "/srv/out/lock"
    with pytest.raises(
        ConfigurationError,
        match=r"^hdfs://host/out: only Spark reaches .*; set engine: spark",
    ):
        open_folder("hdfs://host/out", LocalSession())


def test_a_file_that_cannot_be_read_is_named(public: Folder) -> None:
    public.create()
    with pytest.raises(OSError, match="gone") as refused:
        public.sha256("gone")
    assert refused.value.filename == public.path("gone")


def test_links_are_files_and_empty_folders_are_listed(tmp_path: Path) -> None:
    there, folder = tmp_path / "there", LocalFolder(str(tmp_path / "link"))
    (there / "release/_delta_log").mkdir(parents=True)
    (there / "release/empty").mkdir()
    (there / "release/part").write_text("one")
    (tmp_path / "link").symlink_to(there)
    for name, to in {"file": "part", "folder": tmp_path, "broken": "nothing"}.items():
        (there / "release" / name).symlink_to(to)
    (there / "release/_delta_log/00.json").write_text("log")
    links = {f"release/{name}" for name in ("file", "folder", "broken")}
    files = {"release/part": 3, "release/_delta_log/00.json": 3, "release/empty/": 0}
    for found in (folder.sizes(), folder.sizes("release")):
        assert {name: size for name, size in found.items() if name not in links} == files
        assert links < found.keys()
    assert folder.sizes("release/folder").keys() == {"release/folder"}
    assert folder.sizes("release/part") == {"release/part": 3}
    assert folder.sizes("nothing") == {}
    assert len({folder.sha256(name) for name in (*links, *files)}) == 6  # no two are alike


@pytest.mark.on_spark
@pytest.mark.parametrize("kind", ["in one step", "file by file"], indirect=True)
def test_a_release_behind_a_uri(make_run: Callable[..., Run], tmp_path: Path) -> None:
    people: dict[str, Any] = {
        "age": [20 + i for i in range(12)],
        "sex": ["f", "m"] * 6,
        "disease": ["flu", "gout", "flu"] * 4,
    }
    run = make_run(people, output={"path": f"file://{tmp_path}/out"})
    run.public.write("report.html.partial", "of a copy that broke off")
    assert pipeline.release(run)["verdict"] == "holds"
    assert sorted(
        path.name for path in (tmp_path / "out/public").iterdir() if path.suffix != ".crc"
    ) == [
        "certificate.json",
        "codebook.csv",
        "contract.yaml",
        "release",
        "report.html",
    ]
    assert pipeline.verify(run, finished=True).holds
