"""Which tests `make test` and `make test-more` run: together all that are not slow, and each one
once.
"""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest
from conftest import QUICK_ON_SPARK, ROOT, needs_spark


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
