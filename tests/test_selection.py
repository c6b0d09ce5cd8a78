"""Which tests `make test` and `make test-more` run: together all that are not slow, and each one
once.
"""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import conftest
import pytest
import suites
from conftest import QUICK_ON_SPARK, ROOT, needs_spark
from hypothesis import given
from hypothesis import strategies as st
from parts import is_in_part


def selected(target: str) -> str:
    """The markers that a target of the Makefile selects, as an expression."""
    found = re.search(
        rf'^{target}: .*\n.*\$\(PYTEST\) -m "([^"]*)"$',
        (ROOT / "Makefile").read_text(),
        re.MULTILINE,
    )
    assert found is not None
    return found[1]


def test_what_lands_has_passed_all_that_is_not_slow() -> None:
    targets = re.findall(r"^make (test.*)$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert targets == ["test", "test-more"]
    for slow, more in product([False, True], repeat=2):
        chosen = [eval(selected(target), {}, {"slow": slow, "more": more}) for target in targets]
        assert sum(chosen) == (not slow)


@given(st.text(), st.integers(1, 9))
def test_each_file_is_in_one_part(file: str, parts: int) -> None:
    assert sum(is_in_part(file, f"{part}/{parts}") for part in range(1, parts + 1)) == 1


def test_a_file_is_in_the_same_part_in_each_process() -> None:
    assert [is_in_part("tests/test_suites.py", part) for part in ("1/2", "2/2")] == [False, True]


def test_all_parts_of_make_test_spark_are_suites() -> None:
    parts = [suite for suite in suites.SUITES if suite.startswith("test-spark")]
    expected = [f"test-spark PART={number}/{len(parts)}" for number in range(1, len(parts) + 1)]
    assert parts == expected != []
    assert "TCLOSE_TESTS_PART=$${PART:-1/1} " in (ROOT / "Makefile").read_text()


def test_only_the_files_of_a_part_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    files = [ROOT / f"tests/test_{number}.py" for number in range(20)]
    items: list[Any] = [
        SimpleNamespace(path=file, get_closest_marker=lambda _: None) for file in files
    ]
    left_out: list[Any] = []
    hook = SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items))
    monkeypatch.setattr(conftest, "PART", "1/2")
    kept = [*items]
    conftest.pytest_collection_modifyitems(cast("Any", SimpleNamespace(hook=hook)), kept)
    of_part = [item for item in items if is_in_part(str(item.path.relative_to(ROOT)), "1/2")]
    assert kept == of_part != []
    assert left_out == [item for item in items if item not in of_part] != []


def test_each_file_of_slow_tests_on_a_platform_has_a_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert "-m slow --ignore tests/platforms" in makefile
    slow = {
        path
        for path in (ROOT / "tests/platforms").glob("test_*.py")
        if "mark.slow" in path.read_text()
    }
    named = {
        path
        for path in slow
        if re.search(rf"\b{path.stem}\.py|name,.*\b{path.stem.removeprefix('test_')}\b", makefile)
    }
    assert slow == named != set()


def test_few_files_of_make_test_need_spark(request: pytest.FixtureRequest) -> None:
    """Each worker with such a file starts a JVM."""
    quick = (item for item in request.session.items if item.get_closest_marker("more") is None)
    assert {
        str(item.path.relative_to(ROOT)) for item in quick if needs_spark(item)
    } <= QUICK_ON_SPARK
    assert all(Path(ROOT, name).is_file() for name in QUICK_ON_SPARK)
