"""`import tclose_spark` is fast, since it imports nothing; what it names is there when it is asked
for.
"""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import tclose_spark as tc

HEAVY = (
    "pyspark",
    "py4j",
    "numba",
    "numpy",
    "pyarrow",
    "pandas",
    "polars",
    "pydantic",
    "yaml",
    "rich",
    "matplotlib",
)


def test_nothing_heavy_is_imported_and_no_process_is_started():
    program = (
        "import sys; before = set(sys.modules); import tclose_spark\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        f"print(sorted(new & {set(HEAVY)!r} | (new & {{'subprocess', 'socket'}})))\n"
        "print(sum(name.startswith('tclose_spark') for name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[:2] == ["[]", "2"]  # the package and its version


@pytest.mark.parametrize("name", tc.__all__)
def test_what_is_named_is_there(name: str):
    assert getattr(tc, name) is not None
    assert name in dir(tc)


def test_what_is_not_named_is_an_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tc.nothing  # noqa: B018


def test_what_is_exported_says_what_it_is():
    silent = [name for name in tc.__all__ if not (getattr(tc, name).__doc__ or "").strip()]
    assert silent == []
    assert import_module("tclose_spark.api").__doc__
