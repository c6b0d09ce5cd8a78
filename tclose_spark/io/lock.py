"""One writer for each output: `internal/lock` says which run has it, and since when."""

from __future__ import annotations

import getpass
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from tclose_spark.errors import ConfigurationError
from tclose_spark.io.interrupts import abandoned_with, apart
from tclose_spark.io.storage import Folder

LOCK = "lock"
TAKEOVER = "lock.takeover"


@dataclass(frozen=True, kw_only=True)
class Owner:
    """A process: where it runs, whose it is, and since when it holds the lock. `born` tells it from a later one of the
    same number.
    """

    host: str
    pid: int
    born: str
    user: str
    since: str

    @staticmethod
    def of_this_process() -> Owner:
        """We, now."""
        return Owner(
            host=socket.gethostname(),
            pid=os.getpid(),
            born=_born(os.getpid()),
            user=_user(),
            since=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    @property
    def is_gone(self) -> bool:
        """Whether the process has ended, as far as this host can tell: never of another host's."""
        if self.host != socket.gethostname():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass  # it is another user's, and runs
        return self.born != _born(self.pid)

    def describe(self) -> str:
        """Who, where, since when."""
        hours, minutes = divmod(int((datetime.now(UTC) - datetime.fromisoformat(self.since)).total_seconds()) // 60, 60)
        return f"process {self.pid} of {self.user} on {self.host} since {self.since} ({hours} h {minutes} min ago)"


@contextmanager
def locked(folder: Folder) -> Iterator[None]:
    """Holds the lock of a folder, which is there, while the body runs. One whose process is gone from this host is
    taken over.

    Raises:
        ConfigurationError: if another run holds it, naming its process, user, host and age.
    """
    mine = json.dumps(asdict(Owner.of_this_process()))
    if not folder.write_new(LOCK, mine):
        owner = _owner(folder)
        if owner is None or not owner.is_gone:
            who = owner.describe() if owner else "a run that does not say who it is"
            raise ConfigurationError(
                f"output: {folder.path()} is being written by another run: {who}; wait for its end, give another "
                f"output.path, or remove {folder.path(LOCK)} if that run is gone"
            )
        if not _take_over(folder, owner, mine):
            raise ConfigurationError(
                f"output: another run has just begun to write to {folder.path()}; wait for its end "
                f"(or remove {folder.path(TAKEOVER)} if it stays)"
            )

    def release() -> None:
        _release(folder, mine)

    taken_back = abandoned_with(release)
    try:
        yield
    finally:
        apart(release)
        taken_back()


def _take_over(folder: Folder, gone: Owner, mine: str) -> bool:
    """Puts our lock in place of one whose process is gone, unless another run does or did. One run at a time looks and
    removes.
    """
    if not folder.write_new(TAKEOVER, mine):
        return False
    try:
        if _owner(folder) == gone:
            folder.remove(LOCK)
        return folder.write_new(LOCK, mine)
    finally:
        folder.remove(TAKEOVER)


def _release(folder: Folder, mine: str) -> None:
    if folder.read(LOCK) == mine:
        folder.remove(LOCK)


def _owner(folder: Folder) -> Owner | None:
    """Whose the lock is; None if it does not say."""
    try:
        return Owner(**json.loads(folder.read(LOCK)))
    except Exception:  # gone meanwhile, or not written yet; a Hadoop file system raises Java's errors
        return None


def _born(pid: int) -> str:
    """When a process was started, in the kernel's ticks; empty where the system does not say."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
