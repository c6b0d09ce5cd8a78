"""A standalone master of Spark and its workers on this machine, each in a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

SPARK_HOME = Path(pyspark.__file__).parent
HOST = "127.0.0.1"


def free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        port: int = found.getsockname()[1]
        return port


def wait_for(log: Path, text: str, times: int = 1) -> None:
    for _ in range(1200):  # ten minutes, on a busy machine
        if log.read_text().count(text) >= times:
            return
        time.sleep(0.5)
    raise AssertionError(log.read_text()[-2000:])


@dataclass
class Standalone:
    """The daemons of a cluster, by name.

    folder: of their logs (NAME.log), and of what each worker ran (NAME/app-*).
    """

    folder: Path
    host: str
    port: int = field(default_factory=free_port)
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"spark://{self.host}:{self.port}"

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def start(self, name: str, host: str, within: Sequence[str], *arguments: object) -> None:
        command = [
            *within,
            SPARK_HOME / "bin/spark-class",
            *arguments,
            "--host",
            host,
            "--webui-port",
            free_port(),
        ]
        env = {
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
        }
        with self.log(name).open("ab") as out:
            self.daemons[name] = subprocess.Popen(
                list(map(str, command)),
                env={**os.environ, **env},
                cwd=self.folder,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def kill(self, name: str) -> None:
        """Kills a daemon and its executors at once."""
        os.killpg(self.daemons[name].pid, signal.SIGKILL)
        self.daemons.pop(name).wait()

    def add_worker(self, name: str, host: str = HOST, within: Sequence[str] = ()) -> None:
        """Starts a worker of one core and 1 GB, and waits until the master has it."""
        known = self.log("master").read_text().count("Registering worker")
        size = ("--cores", 1, "--memory", "1g", "-d", self.folder / name)
        self.start(name, host, within, "org.apache.spark.deploy.worker.Worker", *size, self.url)
        wait_for(self.log("master"), "Registering worker", known + 1)


@contextmanager
def standalone(folder: Path, host: str = HOST, within: Sequence[str] = ()) -> Iterator[Standalone]:
    """A master without workers.

    host: its address. within: what its command is an argument of, such as `ip netns exec NAME`.
    """
    cluster = Standalone(folder, host)
    try:
        cluster.start(
            "master",
            host,
            within,
            "org.apache.spark.deploy.master.Master",
            "--port",
            cluster.port,
        )
        wait_for(cluster.log("master"), "I have been elected leader")
        yield cluster
    finally:
        for daemon in cluster.daemons.values():
            daemon.terminate()
        for daemon in cluster.daemons.values():
            daemon.wait(timeout=30)
