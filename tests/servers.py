"""Servers of tests: processes of their own that listen on this machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from standalone import HOST


def _answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex((HOST, port)) == 0


@contextmanager
def serving(
    command: Sequence[object],
    folder: Path,
    port: int,
    **environment: str,
) -> Iterator[None]:
    """A command that works in `folder` and listens on a port. It ends, with its children, at the
    end of the block.
    """
    log = folder / "server.log"
    with log.open("wb") as said:
        server = subprocess.Popen(
            list(map(str, command)),
            env={**os.environ, **environment},
            cwd=folder,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    try:
        end = time.monotonic() + 120
        while not _answers(port):
            assert server.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < end, log.read_text()[-2000:]
            time.sleep(0.2)
        yield
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=60)


def set_by_conf(settings: Mapping[str, object]) -> list[str]:
    """Settings of Spark, as spark-submit takes them."""
    return [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
