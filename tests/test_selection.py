"""Which tests `make test` and `make test-more` run: together all that are not slow, and each one
once.
"""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

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


def test_all_parts_of_a_suite_are_suites() -> None:
    parts = [suite.split("PART=")[1] for suite in suites.SUITES if "PART=" in suite]
    assert parts == [f"{number}/{len(parts)}" for number in range(1, len(parts) + 1)] != []


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
