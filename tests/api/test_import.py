"""`import tclose_spark` is fast, since it imports nothing; what it names is there when it is asked for."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import tclose_spark as tc

HEAVY = ("pyspark", "py4j", "numba", "numpy", "pyarrow", "pandas", "polars", "pydantic", "yaml", "rich", "matplotlib")
SOURCE = Path(tc.__file__).read_text(encoding="utf-8")


def test_nothing_heavy_is_imported_and_no_process_is_started():
    program = (
        "import sys; before = set(sys.modules); import tclose_spark\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        f"print(sorted(new & {set(HEAVY)!r} | (new & {{'subprocess', 'socket'}})))\n"
        "print(sum(name.startswith('tclose_spark') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "2"]  # the package and its version


@pytest.mark.parametrize("name", tc.__all__)
def test_what_is_named_is_there(name: str):
    assert getattr(tc, name) is not None
    assert name in dir(tc)


def test_what_is_not_named_is_an_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tc.nothing  # noqa: B018


def test_type_checkers_see_what_is_imported_later():
    (block,) = [node for node in ast.parse(SOURCE).body if isinstance(node, ast.If)]
    seen = {
        alias.asname: f"{node.module}.{alias.name}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(seen) == set(tc.__all__) - {"__version__"}
    assert seen == {name: f"{module}.{name}" for name, module in tc._MODULES.items()}


@pytest.mark.parametrize("first", ["tclose_spark.audit.question", "tclose_spark"])
def test_a_room_that_is_a_function_is_one_whatever_is_imported_first(first: str):
    program = (
        f"import {first}, tclose_spark as tc, tclose_spark.audit.question\n"
        "print(callable(tc.audit), callable(tc.compare), tc.audit.question.ask.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True True ask\n"


def test_a_room_that_is_a_function_has_its_signature():
    from tclose_spark.api.judging import audit

    assert inspect.signature(tc.audit) == inspect.signature(audit)
    with pytest.raises(TypeError, match="unexpected keyword argument 'tables'"):
        tc.audit(tables=1)


def test_what_is_exported_says_what_it_is():
    silent = [name for name in tc.__all__ if not (getattr(tc, name).__doc__ or "").strip()]
    assert silent == []
    assert import_module("tclose_spark.api").__doc__
