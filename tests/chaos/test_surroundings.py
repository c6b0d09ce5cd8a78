"""Full and read-only disks, few file handles, other locales, time zones and clocks."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from broken_runs import (
    LAST_WORDS,
    Command,
    disturb,
    is_whole,
    nothing_public,
    published,
    seconds_of,
)
from trials import Trials

METHOD = "closeness_tree"


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[None]:
    """Mounts a disk of this size in an empty folder."""
    folder.mkdir(parents=True)
    mounted = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mounted, check=False).returncode:
        pytest.skip("mounting a disk needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def remount(disk: Path, mode: str) -> None:
    """Makes a disk read-only (`ro`) as soon as no file is open for writing, or writable again
    (`rw`).
    """
    for _ in range(200):
        if not subprocess.run(
            ["mount", "-o", f"remount,{mode}", str(disk)],
            check=False,
            capture_output=True,
        ).returncode:
            return
        time.sleep(0.05)
    raise AssertionError(f"{disk} stays in use")


def ended_well(done: subprocess.CompletedProcess[str], output: Path) -> bool:
    """Whether a command released the whole table, or refused in words and left nothing public."""
    ended = is_whole(output) if done.returncode == 0 else nothing_public(output)
    return ended and done.returncode in (0, 2) and "Traceback" not in done.stderr


@pytest.mark.parametrize("engine", ["local", "spark"])
@pytest.mark.parametrize("place", ["internal", "public", "temporary"])
def test_full_disk(
    engine: str,
    place: str,
    trials: Trials,
    crowd: Path,
    fingerprints: dict[str, str],
    tmp_path: Path,
) -> None:
    """The run ends with 2 (or, if the disk sufficed, 0), says so in words, and publishes nothing in
    part.
    """
    for number in trials(8 if engine == "local" else 3):
        output, small = tmp_path / f"out{number}", tmp_path / f"small{number}"
        kilobytes = trials.draw.randrange(8, 3000)
        with small_disk(small, kilobytes):
            how: dict[str, Any] = {place: small / place}
            if place == "temporary":
                how = {"environment": {"TMPDIR": str(small), "SPARK_LOCAL_DIRS": str(small)}}
            command = Command(crowd / f"{METHOD}.yaml", output, engine, **how)
            done = command.run()
            ended = ended_well(done, small if place == "public" else output)
        shutil.rmtree(output, ignore_errors=True)
        again = Command(crowd / f"{METHOD}.yaml", output, engine, ("--overwrite",)).run()
        trials.well(
            ended and again.returncode == 0 and published(output) == fingerprints[METHOD],
            f"{kilobytes} kB, exit {done.returncode} and {again.returncode}: "
            f"{done.stderr[-LAST_WORDS:]}",
        )


@pytest.mark.parametrize("place", ["internal", "public"])
def test_read_only_disk(
    place: str,
    trials: Trials,
    crowd: Path,
    fingerprints: dict[str, str],
    tmp_path: Path,
) -> None:
    """A disk that is read-only from the start ends a run with 2, and so does one that becomes so
    during the run.
    """
    seconds = seconds_of(Command(crowd / f"{METHOD}.yaml", tmp_path / "timed", "local"))
    for number in trials(6):
        output, disk = tmp_path / f"out{number}", tmp_path / f"disk{number}"
        where = disk if place == "public" else output
        with small_disk(disk, 200_000):
            how: dict[str, Any] = {place: disk / place}
            command = Command(crowd / f"{METHOD}.yaml", output, "local", **how)
            if number < 2:
                remount(disk, "ro")
                done = command.run()
                code, told, ended = (
                    done.returncode,
                    done.stderr,
                    done.returncode == 2 and f"{disk}" in done.stderr,
                )
            else:
                code, told = disturb(
                    command,
                    trials.draw.uniform(0.2, 1) * seconds,
                    lambda _, d=disk: remount(d, "ro"),
                )
                ended = code in (0, 2)
            ended &= "Traceback" not in told and (
                is_whole(where) if code == 0 else nothing_public(where)
            )
            remount(disk, "rw")
            again = Command(command.run_file, output, "local", ("--overwrite",), **how).run()
            trials.well(
                ended and again.returncode == 0 and published(where) == fingerprints[METHOD],
                f"exit {code} and {again.returncode}: "
                f"{told[-LAST_WORDS:]}{again.stderr[-LAST_WORDS:]}",
            )


def test_few_file_handles(
    trials: Trials,
    crowd: Path,
    fingerprints: dict[str, str],
    tmp_path: Path,
) -> None:
    for number in trials(10):
        output, handles = tmp_path / str(number), 24 + 8 * number
        limited = Command(
            crowd / f"{METHOD}.yaml",
            output,
            "local",
            wrapped=("prlimit", f"--nofile={handles}"),
        )
        done = limited.run()
        ended = ended_well(done, output)
        again = Command(limited.run_file, output, "local", ("--overwrite",)).run()
        trials.well(
            ended and again.returncode == 0 and published(output) == fingerprints[METHOD],
            f"{handles} handles, exit {done.returncode} and {again.returncode}: "
            f"{done.stderr[-LAST_WORDS:]}",
        )


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_other_locales_zones_and_clocks(
    engine: str,
    trials: Trials,
    crowd: Path,
    fingerprints: dict[str, str],
    tmp_path: Path,
) -> None:
    """Turkish has another lower case of I; the clock is years off, or jumps."""
    surroundings: list[tuple[dict[str, str], tuple[str, ...]]] = [
        (
            {
                "LC_ALL": "tr_TR.UTF-8",
                "LANG": "tr_TR.UTF-8",
                "JAVA_TOOL_OPTIONS": "-Duser.language=tr -Duser.country=TR",
            },
            (),
        ),
        ({"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0"}, ()),
        ({"TZ": "Pacific/Kiritimati"}, ()),
        ({"TZ": "America/St_Johns", "PYTHONHASHSEED": "7"}, ()),
    ]
    if engine == "local" and shutil.which("faketime"):
        surroundings += [({}, ("faketime", "-f", when)) for when in ("-9y", "+3y", "+0 x5")]
    for number in trials(len(surroundings)):
        environment, wrapped = surroundings[number]
        command = Command(
            crowd / f"{METHOD}.yaml",
            tmp_path / str(number),
            engine,
            environment=environment,
            wrapped=wrapped,
        )
        done = command.run()
        trials.well(
            done.returncode == 0 and published(command.output) == fingerprints[METHOD],
            f"{environment} {wrapped}: exit {done.returncode}: {done.stderr[-LAST_WORDS:]}",
        )
