"""A lock for each output folder: a file that names the run that holds it, and the time."""

from __future__ import annotations

import getpass
import json
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from tclose_spark.errors import ConfigurationError
from tclose_spark.io.interrupts import abandoned_with, run_with_timeout
from tclose_spark.io.storage.folders import Folder

LOCK = "lock"
TAKEOVER = ".takeover"
"""Appended to the name of a lock: the file of a run that takes it over."""
OF_LOCK = re.compile(rf"{LOCK}({re.escape(TAKEOVER)})?(~[0-9a-f-]{{36}})?")


def is_of_lock(name: str) -> bool:
    """Whether a file is a lock, that of a run that takes it over, or the claim of one that wants it
    (`ArrowFolder`).
    """
    return OF_LOCK.fullmatch(name) is not None


@dataclass(frozen=True, kw_only=True)
class Owner:
    """A process: its host, its user, and the time of its lock. `born` distinguishes it from a later
    process with the same number, `space` from one of another container with the same host name.
    """

    host: str
    space: str
    pid: int
    born: str
    user: str
    since: str

    @staticmethod
    def of_this_process() -> Owner:
        """The current process as an owner."""
        return Owner(
            host=socket.gethostname(),
            space=_space(),
            pid=os.getpid(),
            born=_born(os.getpid()),
            user=_user(),
            since=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    @property
    def is_gone(self) -> bool:
        """Whether the process has ended, as far as this host knows; False for other hosts and
        containers.
        """
        if (self.host, self.space) != (socket.gethostname(), _space()):
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass  # it is another user's, and runs
        return self.born != _born(self.pid)

    def describe(self) -> str:
        """The process, host and time, in words."""
        hours, minutes = divmod(
            int((datetime.now(UTC) - datetime.fromisoformat(self.since)).total_seconds()) // 60,
            60,
        )
        return (
            f"process {self.pid} of {self.user} on {self.host} since {self.since} ({hours} h "
            f"{minutes} min ago)"
        )


@contextmanager
def locked(folder: Folder, name: str = LOCK, what: str | None = None) -> Iterator[None]:
    """Holds the lock `name` in an existing folder during the body. A run takes over the lock of a
    process that has ended on this host.

    what: the path that the lock protects; by default the folder.

    Raises:
        ConfigurationError: if another run holds it, naming its process, user, host and age.
    """
    mine = json.dumps(asdict(Owner.of_this_process()))
    what = what or folder.path()
    if not folder.write_new(name, mine):
        owner = _owner(folder, name)
        if owner is None or not owner.is_gone:
            who = owner.describe() if owner else "a run that does not say who it is"
            raise ConfigurationError(
                f"output: {what} is being written by another run: {who}; wait for its end, give "
                f"another output.path, or remove {folder.path(name)} if that run is gone",
            )
        if not _take_over(folder, name, owner, mine):
            raise ConfigurationError(
                f"output: another run has just begun to write to {what}; wait for its end "
                f"(or remove {folder.path(name + TAKEOVER)} if it stays)",
            )

    def release() -> None:
        _release(folder, name, mine)

    taken_back = abandoned_with(release)
    try:
        yield
    finally:
        run_with_timeout(release)
        taken_back()


def _take_over(folder: Folder, name: str, gone: Owner, mine: str) -> bool:
    """Replaces a lock whose process has ended, unless another run does. One run at a time checks
    and removes.
    """
    if not folder.write_new(name + TAKEOVER, mine):
        return False
    try:
        if _owner(folder, name) == gone:
            folder.remove(name)
        return folder.write_new(name, mine)
    finally:
        folder.remove(name + TAKEOVER)


def _release(folder: Folder, name: str, mine: str) -> None:
    if folder.read(name) == mine:
        folder.remove(name)


def _owner(folder: Folder, name: str) -> Owner | None:
    """The owner of the lock; None if the file does not name one."""
    try:
        return Owner(**json.loads(folder.read(name)))
    except (OSError, ValueError, TypeError):  # gone meanwhile, or not written yet
        return None


def _space() -> str:
    """The processes among which a process number is unique, as the kernel names them; empty if it
    does not.
    """
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _born(pid: int) -> str:
    """The start of a process in the kernel's ticks; empty if the system does not provide it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
