"""Ctrl-C and SIGTERM: 130 and 143, one line, nothing public, and no lock left, whatever a command
is doing.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tclose_spark import cli, pipeline
from tclose_spark.api import errors as command_process
from tclose_spark.io import interrupts
from tclose_spark.io.interrupts import (
    MESSAGE,
    SHORT,
    defer_interrupts,
    handle_signals,
    run_with_timeout,
)
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import ORDER
from tclose_spark.synthetic.census import write_hierarchies, write_people

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "import sys; from tclose_spark.cli import main; sys.exit(main())"


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """What the tests' own process does with signals stays as it was."""
    before = [signal.getsignal(number) for number in interrupts.SIGNALS]
    yield
    assert [signal.getsignal(number) for number in interrupts.SIGNALS] == before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_interrupts_and_is_reported(number: signal.Signals, code: int) -> None:
    with handle_signals() as interrupt:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        assert interrupt.exit_code == code


def test_a_start_is_not_interrupted_but_what_follows_it() -> None:
    done = []

    def start() -> None:
        signal.raise_signal(signal.SIGINT)
        done.append("started")

    with handle_signals() as interrupt, pytest.raises(KeyboardInterrupt), defer_interrupts():
        start()
    assert done == ["started"]
    assert interrupt.received == signal.SIGINT


def test_a_second_signal_does_not_wait_for_a_start() -> None:
    def start() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        pytest.fail("it waited")

    with handle_signals(), pytest.raises(KeyboardInterrupt), defer_interrupts():
        start()


def test_what_a_finalizer_swallows_is_raised_again_and_not_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda raised: shown.append(raised.exc_type))

    class Finalized:
        def __init__(self, action: Callable[[], object]) -> None:
            self.action = action

        def __del__(self) -> None:
            self.action()

    with handle_signals():
        Finalized(lambda: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            interrupts.raise_if_interrupted()
        interrupts.done()
        interrupts.raise_if_interrupted()
        assert shown == []
        Finalized(lambda: 1 / 0)
    assert shown == [ZeroDivisionError]


def test_what_is_done_is_not_interrupted() -> None:
    with handle_signals() as interrupt:
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
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode
        == 0
    )


def test_a_command_that_is_still_imported_ends_in_one_line() -> None:
    """The module that is imported first sends the signal."""
    code = (
        "import os, signal, sys\n"
        "class Sender:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'tclose_spark.cli': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Sender())\n"
        "from tclose_spark.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, f"{SHORT}\n")


def test_impatience_does_not_interrupt_the_end() -> None:
    with handle_signals() as interrupt:
        interrupt.ending = True
        signal.raise_signal(signal.SIGINT)
    assert interrupt.received == signal.SIGINT


def test_what_is_done_apart_neither_fails_nor_lasts() -> None:
    begun = time.monotonic()
    run_with_timeout(lambda: time.sleep(30), seconds=0.1)
    run_with_timeout(lambda: 1 / 0)
    assert time.monotonic() - begun < 10


def test_compiled_code_that_does_not_come_back_is_left() -> None:
    code = (
        "import hashlib; from tclose_spark.io.interrupts import handle_signals\n"
        "with handle_signals('told'): print('begun', flush=True); hashlib.pbkdf2_hmac('sha256', "
        "b'', b'', 2**31 - 1)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "told\n")


def test_a_kernel_is_left_in_the_middle(tmp_path: Path) -> None:
    """The time of its end is the time of the test: the kernel alone takes years."""
    (tmp_path / "spin.py").write_text(
        "from tclose_spark.io.interrupts import abandoned_with, handle_signals\n"
        "from tclose_spark.kernels import kernel\n"
        "@kernel\n"
        "def spin(x):\n"
        "    while x != 3:\n"
        "        x = x * 6364136223846793005 + 1442695040888963407\n"
        "    return x\n"
        "spin(3)\n"
        "abandoned_with(lambda: print('abandoned', flush=True))\n"
        "with handle_signals('told', last=True):\n"
        "    try:\n"
        "        print('begun', flush=True)\n"
        "        spin(4)\n"
        "    except KeyboardInterrupt:  # the signal came before the kernel\n"
        "        spin(4)\n",
    )
    process = subprocess.Popen(
        [sys.executable, tmp_path / "spin.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (143, "abandoned\n", "told\n")


def test_what_is_held_is_not_left_in_the_middle() -> None:
    code = (
        "import os, signal, time\n"
        "from tclose_spark.io import interrupts\n"
        "interrupts.PATIENCE = 0.1\n"
        "with interrupts.handle_signals(last=True):\n"
        "    with interrupts.defer_interrupts():\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        time.sleep(1)\n"
        "        print('done', flush=True)\n"
        "    interrupts.done()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "done\n"


def test_sparks_own_handler_is_not_put_in_place(spark: SparkSession) -> None:
    """It calls the JVM in the middle of another call."""
    assert "pyspark" not in getattr(signal.getsignal(signal.SIGINT), "__module__", "")


@pytest.mark.parametrize(
    ("command", "told"),
    [("audit", SHORT), ("explain", SHORT), ("release", MESSAGE)],
)
def test_what_publishes_nothing_speaks_of_nothing_public(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    command: str,
    told: str,
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(command_process, "_cancel_jobs", lambda: None)
    for name in ("audit.audit", "audit.explain", "release.release"):
        monkeypatch.setattr(f"tclose_spark.api.{name}", interrupted)
    assert cli.main([command, "table.csv"]) == 130
    assert capfd.readouterr().err == f"{told}\n"


@pytest.mark.more
@pytest.mark.parametrize(
    ("after", "wait"),
    [("profile ", 0.3), ("plan  .* planned", 2.0)],
    ids=["plan", "anonymize"],
)
def test_an_interrupted_release(
    run_file: Callable[..., Path],
    tmp_path: Path,
    after: str,
    wait: float,
) -> None:
    """As a terminal does it: the whole process group gets the signal, the JVM and its Python
    workers too.
    """
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
        while (
            not pattern.search(errors.read_text())
            and process.poll() is None
            and time.monotonic() < until
        ):
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


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 300,000 people."""
    folder = tmp_path_factory.mktemp("census")
    write_hierarchies(folder / "hierarchies")
    write_people(folder / "people.parquet", 300_000)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
@pytest.mark.parametrize("wait", [0.3, 2.0, 6.0])
@pytest.mark.parametrize("stage", ["profile", "plan", "anonymize", "verify"])
def test_every_stage_at_some_moments(
    census: Path,
    open_run: Callable[..., Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
    wait: float,
    number: signal.Signals,
) -> None:
    """The signal comes so many seconds after the stage took the lock; nothing of it stays
    behind.
    """
    monkeypatch.setenv("TCLOSE_DEMO", str(census))
    sets = [f"output.path={tmp_path}/out", "method.effort=fast"]
    run = open_run(ROOT / "conf/demo.yaml", *sets)
    for before in ORDER[: ORDER.index(stage)]:
        getattr(pipeline, before)(run)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    given = [part for assignment in sets for part in ("--set", assignment)]
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, stage, str(ROOT / "conf/demo.yaml"), *given],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )
    lock = tmp_path / "out/internal/lock"
    while not lock.exists() and process.poll() is None:
        time.sleep(0.05)
    time.sleep(wait)
    if not lock.exists():
        process.communicate(timeout=60)
        assert process.returncode == 0
        pytest.skip("the stage is done by then")
    os.killpg(process.pid, number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert [
        line for line in err.splitlines() if not line.startswith(("engine", *ORDER, "note"))
    ] == [MESSAGE]
    assert not lock.exists()
    left = {path.name for path in temporary.iterdir()}
    assert left <= {f"_jinja2-cache-{os.getuid()}"}  # compiled templates, kept for later runs
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
