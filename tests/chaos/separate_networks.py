"""Networks of their own for a driver and two workers, joined by a switch: nothing of them reaches
the machine's own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

DRIVER, WORKERS = "10.77.0.1", {"w1": "10.77.0.2", "w2": "10.77.0.3"}
NAME = f"tclose{os.getpid()}-"


def within(name: str) -> tuple[str, ...]:
    """What a command is an argument of to run in the network of a worker, or of the `driver`."""
    return ("ip", "netns", "exec", f"{NAME}{name}")


def ip(*arguments: str, network: str = "driver") -> None:
    subprocess.run(
        ["ip", "-n", f"{NAME}{network}", *arguments],
        check=True,
        capture_output=True,
        text=True,
    )


def set_link(worker: str, state: str) -> None:
    """Sets the cable between a worker and the switch up or down."""
    ip("link", "set", f"to-{worker}", state)


@contextmanager
def separate_networks() -> Iterator[None]:
    """Makes the networks; skips the test where that is not allowed."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("networks of processes need root and ip")
    made: list[Sequence[str]] = []
    try:
        for name in ("driver", *WORKERS):
            added = ["ip", "netns", "add", f"{NAME}{name}"]
            if subprocess.run(added, check=False, capture_output=True).returncode:
                pytest.skip("this system makes no network for a process")
            made.append(["ip", "netns", "delete", f"{NAME}{name}"])
            ip("link", "set", "lo", "up", network=name)
        ip("link", "add", "switch", "type", "bridge")
        ip("address", "add", f"{DRIVER}/24", "dev", "switch")
        ip("link", "set", "switch", "up")
        for name, address in WORKERS.items():
            cable = (
                "link",
                "add",
                f"to-{name}",
                "type",
                "veth",
                "peer",
                "name",
                "cable",
                "netns",
                f"{NAME}{name}",
            )
            ip(*cable)
            ip("link", "set", f"to-{name}", "master", "switch")
            set_link(name, "up")
            ip("address", "add", f"{address}/24", "dev", "cable", network=name)
            ip("link", "set", "cable", "up", network=name)
        yield
    finally:
        for command in made:
            subprocess.run(command, check=True)
