"""Which tests execute a line of the scope, and how long each takes."""

from __future__ import annotations

import ast
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, takewhile
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from coverage import Coverage
from mutations import ROOT, Mutant, hashed, modules

TESTS = (
    *("checks", "measures", "table", "auditing", "oracle", "papers", "damages"),
    *(
        "docs/test_doctests.py",
        "promise/test_people_with_several_rows.py",
        "report/test_report_plots.py",
    ),
    *(
        "releases/test_aggregates.py",
        "releases/test_profiles.py",
        "releases/test_survey_weights.py",
    ),
)
"""The folders and files of the tests that are tried, without the slow ones and those that need
Spark.
"""

OPTIONS = ("-q", "-m", "not slow and not more and not on_spark", "-p", "no:cacheprovider")
AT_MOST = 60.0
"""Seconds that the tests of a mutant may take before it; the nearest ones are tried."""


class Observer:
    """A plugin of pytest that notes which lines a test executes. Those of a shared fixture count
    for all its tests.
    """

    def __init__(self) -> None:
        self._coverage = Coverage(
            data_file=None,
            config_file=False,
            include=[str(path) for path in modules()],
        )
        self._contexts = [""]
        self._fixtures: dict[str, Sequence[str]] = {}
        self._failed: set[str] = set()
        self.seconds: dict[str, float] = {}
        self._coverage.start()

    def _enter(self, context: str) -> None:
        self._contexts.append(context)
        self._coverage.switch_context(context)

    def _leave(self) -> None:
        self._contexts.pop()
        self._coverage.switch_context(self._contexts[-1])

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if "spark" not in getattr(item, "fixturenames", ())]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        began = time.process_time()
        self._enter(item.nodeid)
        done = yield
        self._leave()
        self.seconds[item.nodeid] = round(time.process_time() - began, 2)
        self._fixtures[item.nodeid] = getattr(item, "fixturenames", ())
        return done

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[Any]:
        shared = fixturedef.scope != "function"
        if shared:
            self._enter(f"{fixturedef.baseid}\t{fixturedef.argname}")
        try:
            return (yield)
        finally:
            if shared:
                self._leave()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self._failed.add(report.nodeid)

    def by_file(self) -> dict[str, dict[str, Any]]:
        """Of each file of tests: {"tests": seconds by test, "lines": by module and line the places
        of the tests}.
        """
        self._coverage.stop()
        data = self._coverage.get_data()
        found: dict[str, dict[str, Any]] = defaultdict(lambda: {"tests": {}, "lines": {}})
        place = {}
        for test in sorted(self.seconds.keys() - self._failed):
            tests = found[file_of(test)]["tests"]
            place[test], tests[test] = len(tests), self.seconds[test]
        for path in sorted(data.measured_files()):
            module = str(Path(path).relative_to(ROOT))
            for line, contexts in data.contexts_by_lineno(path).items():
                for test in {
                    test for context in contexts for test in self._tests_of(context)
                } & place.keys():
                    lines = found[file_of(test)]["lines"].setdefault(module, {})
                    lines.setdefault(str(line), []).append(place[test])
        return dict(found)

    def _tests_of(self, context: str) -> list[str]:
        base, shared, name = context.partition("\t")
        if not shared:
            return [context]
        return [
            test
            for test, names in self._fixtures.items()
            if name in names and test.startswith(base)
        ]


def file_of(test: str) -> str:
    return test.partition("::")[0]


def observe(part: str, state: Path) -> int:
    """Runs the tests of a folder or file that are new or changed since `state` was written, all if
    a module of the scope was changed, and writes what they execute.
    """
    known = json.loads(state.read_text()) if state.exists() else {}
    package = hashed("".join(path.read_text() for path in modules()))
    paths = (
        [ROOT / "tests" / part]
        if part.endswith(".py")
        else sorted((ROOT / "tests" / part).rglob("test_*.py"))
    )
    hashes = {str(path.relative_to(ROOT)): hashed(package + path.read_text()) for path in paths}
    files = {name: one for name, one in known.items() if hashes.get(name) == one["hash"]}
    if missing := [name for name in hashes if name not in files]:
        observer = Observer()
        pytest.main([*OPTIONS, *missing], plugins=[observer])
        found = observer.by_file()
        files |= {
            name: {"hash": hashes[name], **found.get(name, {"tests": {}, "lines": {}})}
            for name in missing
        }
        state.write_text(json.dumps(files))
    return 0


def choose(files: Mapping[str, Mapping[str, Any]], mutant: Mutant) -> dict[str, float]:
    """The tests that execute the changed statement, and their seconds; `files` is what `observe`
    wrote.

    They are in the order in which they are to run: those of the module itself, those of its folder,
    others; of these the quick ones first. What runs when a module is imported counts for all tests
    that use the module.
    """
    chosen = _executing(files, mutant.path, lines_of(mutant))
    cost: dict[str, float] = defaultdict(float)
    for test, seconds in chosen.items():
        cost[file_of(test)] += seconds

    def rank(test: str) -> tuple[int, float, str, float]:
        return -near(test, mutant.path), cost[file_of(test)], file_of(test), chosen[test]

    order = sorted(chosen, key=rank)
    spent = accumulate(chosen[test] for test in order)
    return {
        test: chosen[test]
        for test, so_far in zip(order, spent, strict=True)
        if so_far - chosen[test] < AT_MOST
    }


def _executing(
    files: Mapping[str, Mapping[str, Any]],
    path: str,
    lines: range | None,
) -> dict[str, float]:
    found: dict[str, float] = {}
    for one in files.values():
        tests = list(one["tests"].items())
        executed = one["lines"].get(path, {}).items()
        found |= dict(
            tests[i]
            for line, places in executed
            if lines is None or int(line) in lines
            for i in places
        )
    return found


def near(test: str, path: str) -> int:
    """How many folders a test shares with a module; one more if it is the module's own."""
    of_test, of_module = PurePosixPath(file_of(test)).parts[1:], PurePosixPath(path).parts[1:]
    shared = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(of_test, of_module, strict=False))
    )
    return shared + (of_test[-1] == f"test_{of_module[-1]}")


def lines_of(mutant: Mutant) -> range | None:
    """The lines of the innermost statement at the change; of an `if` or a loop those of its head.
    None if they run when the module is imported.
    """
    tree = ast.parse((ROOT / mutant.path).read_text())
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= mutant.line <= (node.end_lineno or 0)
    ]
    inner = max(around, key=lambda node: node.lineno)
    if isinstance(inner, ast.FunctionDef) or not any(
        isinstance(node, ast.FunctionDef) for node in around
    ):
        return None
    body = getattr(inner, "body", None)
    return range(inner.lineno, body[0].lineno if body else (inner.end_lineno or 0) + 1)
