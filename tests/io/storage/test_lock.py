"""One writer for each output: a second one is told who has it and since when; the lock of a process
that is gone is taken over.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tclose_spark.errors import ConfigurationError
from tclose_spark.io.storage.folders import LocalFolder
from tclose_spark.io.storage.lock import LOCK, Owner, locked


@pytest.fixture
def folder(tmp_path: Path) -> LocalFolder:
    return LocalFolder(str(tmp_path))


def test_a_second_writer_is_told_who_has_it(folder: LocalFolder, tmp_path: Path) -> None:
    with locked(folder):
        with pytest.raises(ConfigurationError) as found, locked(folder):
            pytest.fail("both write")
        assert (tmp_path / LOCK).stat().st_mode & 0o777 == 0o600
    assert found.value.exit_code == 2
    for part in (
        f"process {os.getpid()} of ",
        f" on {socket.gethostname()} since 2",
        "(0 h 0 min ago)",
        f"remove {tmp_path}/{LOCK} if",
    ):
        assert part in str(found.value)
    with locked(folder):
        pass


def test_it_is_given_back_when_the_run_fails(folder: LocalFolder, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(folder):
        1 / 0  # noqa: B018
    assert not (tmp_path / LOCK).exists()


def test_that_of_a_process_that_is_gone_is_taken_over(folder: LocalFolder) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    ours = Owner.of_this_process()
    for left in (
        replace(ours, pid=gone.pid),
        replace(ours, born="1"),
    ):  # ended; ended and its number is used again
        folder.write(LOCK, json.dumps(asdict(left)))
        with locked(folder):
            assert json.loads(folder.read(LOCK))["pid"] == os.getpid()
        assert not folder.exists(LOCK)


@pytest.mark.parametrize("text", ["", "{}", "[1]"])
def test_another_hosts_and_one_that_says_nothing_are_kept(folder: LocalFolder, text: str) -> None:
    for left in (
        text,
        json.dumps(asdict(replace(Owner.of_this_process(), host="elsewhere", pid=999_999_999))),
    ):
        folder.write(LOCK, left)
        with (
            pytest.raises(ConfigurationError, match=r"elsewhere|does not say who it is"),
            locked(folder),
        ):
            pytest.fail("both write")
        assert folder.read(LOCK) == left


def test_that_of_a_container_with_the_same_host_name_is_kept(
    folder: LocalFolder,
    tmp_path: Path,
) -> None:
    """Its process number means nothing here."""
    hold = (
        "import sys; from tclose_spark.io.storage.folders import LocalFolder; from "
        "tclose_spark.io.storage.lock import "
    )
    hold += "locked\nwith locked(LocalFolder(sys.argv[1])): print(flush=True); input()"
    container = [
        "unshare",
        "--pid",
        "--fork",
        "--mount-proc",
        sys.executable,
        "-c",
        hold,
        str(tmp_path),
    ]
    if (
        os.geteuid() != 0
        or subprocess.run([*container[:4], "true"], check=False, capture_output=True).returncode
    ):
        pytest.skip("a container needs root and unshare")
    with subprocess.Popen(
        container,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "\n"
        with pytest.raises(ConfigurationError, match="process 1 of root on"), locked(folder):
            pytest.fail("both write")
        holder.communicate("\n")
    assert holder.returncode == 0
    with locked(folder):
        pass


def test_a_run_is_refused_while_another_writes(
    tclose: Callable[..., tuple[int, str, str]],
    run_file: Callable[..., Path],
) -> None:
    path = run_file({"age": [1, 2] * 6, "sex": ["f", "m"] * 6, "disease": ["flu", "gout"] * 6})
    internal = LocalFolder(str(path.parent / "out/internal"))
    internal.create(private=True)
    with locked(internal):
        code, _, err = tclose("release", path)
    assert code == 2
    assert (
        f": output: {path.parent}/out/internal is being written by another run: process "
        f"{os.getpid()}" in err
    )
    assert not (path.parent / "out/public").exists()
