"""Both engines side by side, each command in a process of its own: python benchmarks/engines.py
[ROWS ...]

Prints wall and CPU seconds and the peak memory of `tclose release` on the synthetic census, by rows
and engine, and whether both engines made one release. Kernels are compiled before. Quote the
ratios.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CONF = Path(__file__).parent.parent / "conf" / "demo.yaml"
ENGINES = ("local", "spark")


def run(*arguments: str, **environment: str) -> str:
    """The seconds and the memory of a command."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "tclose_spark", *arguments]
    timed = ["/usr/bin/time", "-f", "%M", *command]
    done = subprocess.run(
        timed,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    wall, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{wall:8.1f} s wall {cpu:8.1f} s CPU {int(done.stderr.split()[-1]) / 2**20:6.2f} GiB"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for rows in sys.argv[1:] or ["5000", "100000", "1000000"]:
            people, found = f"{folder}/{rows}", set()
            secret = {"TCLOSE_DEMO": people, "TCLOSE_SECRET": "benchmark"}
            run("generate", "--rows", rows, "--output", people)
            run(
                "release",
                str(CONF),
                "--set",
                f"output.path={people}/warm",
                "--engine",
                "local",
                **secret,
            )
            for engine in ENGINES:
                out = f"{people}/{engine}"
                figures = run(
                    "release",
                    str(CONF),
                    "--set",
                    f"output.path={out}",
                    "--engine",
                    engine,
                    **secret,
                )
                certificate = json.loads(Path(out, "public/certificate.json").read_text())
                found.add(certificate["release"]["fingerprint"])
                print(f"{int(rows):>12,} rows {engine:<6} {figures}", flush=True)
            print(f"{'':>12} {'one release' if len(found) == 1 else 'TWO RELEASES'}")


if __name__ == "__main__":
    main()
