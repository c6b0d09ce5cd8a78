"""Kernels take structures by reference, are compiled once for each kind of array, and by one
process at a time.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core import event

from tclose_spark.kernels import KERNELS, kernel, progress
from tclose_spark.kernels.canary import store_many, stores_are_compiled
from tclose_spark.kernels.compiler import CalledCode, compile_lock
from tclose_spark.kernels.structures import make_words, structure

pytestmark = pytest.mark.more


@structure
class Inner(NamedTuple):
    flags: Any
    scale: float


@structure
class Outer(NamedTuple):
    numbers: Any
    count: int
    inner: Inner
    table: Any


def read(outer, i):
    return (
        outer.numbers[i] * outer.count
        + outer.inner.scale
        + outer.inner.flags[i]
        + outer.table[1, i, 2]
    )


def store(outer, i):
    outer.numbers[i] += outer.count
    outer.table[1, i, 2] = outer.numbers[i]
    outer.inner.flags[i] = not outer.inner.flags[i]


def outer_of(length: int) -> Outer:
    return Outer(
        numbers=np.arange(length, dtype=np.int32),
        count=-3,
        inner=Inner(flags=np.arange(length) % 2 == 0, scale=0.25),
        table=np.arange(2.0 * length * 3).reshape(2, length, 3),
    )


def test_a_structure_is_read_and_written_as_python_does():
    read_fast, store_fast = kernel(read), kernel(store)
    one, other = outer_of(5), outer_of(5)
    for i in range(5):
        assert read_fast(one, i) == read(other, i)
        store_fast(one, i)
        store(other, i)
        assert read_fast(one, i) == read(other, i)
    for name in ("numbers", "table"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.inner.flags, other.inner.flags)


def test_the_words_of_a_structure():
    outer = outer_of(5)
    words = make_words(outer)
    assert len(words) == 2 + 1 + (2 + 1) + 4
    assert words[[0, 3, 6]].tolist() == [
        a.ctypes.data for a in (outer.numbers, outer.inner.flags, outer.table)
    ]
    assert words[[1, 2, 4, 7, 8, 9]].tolist() == [5, -3, 5, 2, 5, 3]
    assert words[5:6].view(np.float64)[0] == 0.25


def test_stores_are_compiled_as_they_are_written():
    assert stores_are_compiled()


def test_the_canary_notices_a_lost_store_and_a_stale_read():
    def lose_a_store(canary):
        total = store_many.py_func(canary)
        canary.table[1, 3] -= 0.25
        return total

    def read_stale_numbers(canary):
        stale = canary.part._replace(same_counts=canary.part.counts.copy())
        return store_many.py_func(
            canary._replace(part=stale._replace(same_counts=stale.same_counts + 100)),
        )

    assert stores_are_compiled(store_many.py_func)
    assert not stores_are_compiled(lose_a_store)
    assert not stores_are_compiled(read_stale_numbers)


def set_count(outer):
    outer.count = 1


def test_a_kernel_cannot_set_a_field():
    with pytest.raises(NotImplementedError, match="count"):
        kernel(set_count)(outer_of(5))


@pytest.mark.parametrize(
    "numbers",
    [np.arange(10, dtype=np.int32)[::2], np.broadcast_to(np.int32(1), 5)],
)
def test_an_array_that_is_not_plain_is_refused(numbers):
    with pytest.raises(TypeError, match=r"Outer\.numbers"):
        kernel(read)(outer_of(5)._replace(numbers=numbers), 1)


def add(a, b):
    return a + b


def test_integers_of_any_kind_are_one():
    inner = kernel(add)
    outer = kernel(lambda numbers, k: inner(1, 2) + inner(numbers[0], k) + inner(k, -1))
    assert outer(np.array([7], np.int32), 5) == 3 + 12 + 4
    assert [[str(kind) for kind in kinds] for kinds in inner.called.signatures] == [
        ["int64", "int64"],
    ]
    assert outer.py_func(np.array([7]), 5) == 19


def refuse_negative(number):
    if number < 0:
        raise ValueError("negative")
    return number


def test_only_the_kernel_that_python_calls_becomes_machine_code():
    inner = kernel(refuse_negative)
    outer = kernel(lambda number: inner(number) + 1)
    assert outer(1) == 2
    assert (len(outer.overloads), len(inner.overloads), len(inner.called.overloads)) == (1, 0, 1)
    (code,) = (found.library for found in inner.called.overloads.values())
    assert isinstance(code, CalledCode)
    assert inner(3) == 3
    for raises in (outer, inner):
        with pytest.raises(ValueError, match="negative"):
            raises(-1)


PROGRAM = """
import sys, time
from numba.core import event
from tclose_spark.kernels.mixing import mixed
compiled = []
class Slow(event.Listener):
    def on_start(self, found):
        compiled.append(found.data["dispatcher"].py_func.__name__)
        print("compiling", flush=True)
        time.sleep(float(sys.argv[1]))
    def on_end(self, found):
        pass
event.register("numba:compile", Slow())
import numpy as np
mixed(np.uint64(1))
print(compiled)
"""


def start(cache: Path, seconds: float) -> subprocess.Popen[str]:
    """A process that compiles a kernel, and is slow at it."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(seconds)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_the_second_of_two_processes_waits_and_compiles_nothing(tmp_path: Path):
    first = start(tmp_path, 4.0)
    assert first.stdout.readline() == "compiling\n"
    second = start(tmp_path, 0.0)
    assert first.communicate()[0].endswith("['mixed']\n")
    assert second.communicate()[0] == "[]\n"


def test_a_process_that_is_killed_releases_the_lock(tmp_path: Path):
    first = start(tmp_path, 60.0)
    assert first.stdout.readline() == "compiling\n"
    first.kill()
    first.wait()
    assert start(tmp_path, 0.0).communicate()[0].endswith("['mixed']\n")


def test_without_a_lock_the_body_runs_all_the_same(tmp_path: Path):
    with (
        compile_lock(str(tmp_path / "missing")),
        compile_lock(str(tmp_path)),
        compile_lock(str(tmp_path)),
    ):
        assert [file.name for file in tmp_path.iterdir()] == ["lock"]


def test_a_line_reports_how_far_compiling_is(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(progress, "SECONDS", 0.0)
    monkeypatch.setattr(progress, "is_ours", lambda function: function is refuse_negative)
    heard: list[str] = []
    inner = kernel(refuse_negative)
    with event.install_listener(
        "numba:compile",
        progress.CompiledKernels(heard.append),
    ) as compiled:
        kernel(lambda number: inner(number) + 2)(1)
        inner(1)
    assert compiled.kernels == 1
    assert set(heard) == {f"kernels    1 of at most {len(KERNELS)} are compiled"}
