"""Ctrl-C and SIGTERM: 130 and 143, one line, nothing public, and no lock left, whatever a command is doing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tclose_spark import cli
from tclose_spark.audit import commands
from tclose_spark.io import interrupts
from tclose_spark.io.interrupts import MESSAGE, SHORT, apart, held, noticed

COMMAND = "import sys; from tclose_spark.cli import main; sys.exit(main())"


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """What the tests' own process does with signals stays as it was."""
    before = [signal.getsignal(number) for number in interrupts.SIGNALS]
    yield
    assert [signal.getsignal(number) for number in interrupts.SIGNALS] == before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_interrupts_and_is_told(number: signal.Signals, code: int) -> None:
    with noticed() as interrupt:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        assert interrupt.exit_code == code


def test_a_start_is_not_interrupted_but_what_follows_it() -> None:
    done = []

    def start() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # as PySpark sets one of its own
        done.append("started")

    with noticed() as interrupt, pytest.raises(KeyboardInterrupt), held():
        start()
    assert done == ["started"]
    assert interrupt.received == signal.SIGINT


def test_a_second_signal_does_not_wait_for_a_start() -> None:
    def start() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        pytest.fail("it waited")

    with noticed(), pytest.raises(KeyboardInterrupt), held():
        start()


def test_what_a_finalizer_swallows_is_raised_again() -> None:
    class Finalized:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    with noticed(), warnings.catch_warnings(action="ignore"):
        Finalized()
        with pytest.raises(KeyboardInterrupt):
            interrupts.raise_again()
        interrupts.done()
        interrupts.raise_again()


def test_what_is_done_is_not_interrupted() -> None:
    with noticed() as interrupt:
        interrupts.done()
        signal.raise_signal(signal.SIGTERM)
    assert interrupt.received == signal.SIGTERM


def test_the_end_of_a_process_keeps_its_exit_code() -> None:
    code = (
        "import os, signal, sys\n"
        "from tclose_spark import cli\n"
        "sys.argv = ['tclose', 'version']\n"
        "code = cli.main()\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "sys.exit(code)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_impatience_does_not_interrupt_the_end() -> None:
    with noticed() as interrupt:
        interrupt.ending = True
        signal.raise_signal(signal.SIGINT)
    assert interrupt.received == signal.SIGINT


def test_what_is_done_apart_neither_fails_nor_lasts() -> None:
    begun = time.monotonic()
    apart(lambda: time.sleep(30), seconds=0.1)
    apart(lambda: 1 / 0)
    assert time.monotonic() - begun < 10


def test_compiled_code_that_does_not_come_back_is_left() -> None:
    code = (
        "import hashlib; from tclose_spark.io.interrupts import noticed\n"
        "with noticed('told'): print('begun', flush=True); hashlib.pbkdf2_hmac('sha256', b'', b'', 2**31 - 1)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "told\n")


@pytest.mark.parametrize(("command", "told"), [("audit", SHORT), ("explain", SHORT), ("release", MESSAGE)])
def test_what_publishes_nothing_speaks_of_nothing_public(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, told: str
) -> None:
    def interrupted(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(cli, "_cancel_jobs", lambda: None)
    monkeypatch.setattr(cli, "run_stage", interrupted)
    for name in ("run_audit", "run_explain"):
        monkeypatch.setattr(commands, name, interrupted)
    assert cli.main([command, "table.csv"]) == 130
    assert capsys.readouterr().err == f"{told}\n"


@pytest.mark.parametrize(("after", "wait"), [("profile ", 0.3), ("plan  .* rows", 2.0)], ids=["plan", "anonymize"])
def test_an_interrupted_release(run_file: Callable[..., Path], tmp_path: Path, after: str, wait: float) -> None:
    """As a terminal does it: the whole process group gets the signal, the JVM and its Python workers too."""
    draw, rows = np.random.default_rng(1), 6000
    table = {
        "age": draw.integers(18, 90, rows),
        "sex": draw.integers(0, 400, rows),
        "disease": draw.integers(0, 8, rows),
    }
    path = run_file(
        pa.table({name: pa.array(column) for name, column in table.items()}),
        quasi={"age": {"type": "numeric"}, "sex": {"type": "numeric"}},
        sensitive={"disease": {"t": "0.2"}},
        method={"name": "closeness_tree", "effort": "thorough"},
    )
    errors = tmp_path / "stderr"
    with errors.open("w") as err:
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "release", str(path)],
            stdout=subprocess.DEVNULL,
            stderr=err,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        until = time.monotonic() + 300
        pattern = re.compile(after)
        while not pattern.search(errors.read_text()) and process.poll() is None and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(wait)
        assert (tmp_path / "out/internal/lock").exists()
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(120) == 130
    finally:
        if process.poll() is None:
            process.kill()
    said = errors.read_text().splitlines()
    assert said[-1] == MESSAGE
    assert len(said) <= 5
    assert not [line for line in said if "Traceback" in line or "py4j" in line]
    assert not (tmp_path / "out/public").exists()
    assert not (tmp_path / "out/internal/lock").exists()
