"""The examples in docstrings are true, in every module that the import contracts keep free of
Spark.
"""

import doctest
import importlib
import pkgutil
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]
PURE = next(
    contract["source_modules"]
    for contract in CONTRACTS
    if "pyspark" in contract.get("forbidden_modules", ())
)


def pure_modules():
    for name in PURE:
        module = importlib.import_module(name)
        yield module
        for found in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{name}."):
            yield importlib.import_module(found.name)


def test_examples_in_docstrings_hold():
    documented = [
        test
        for module in pure_modules()
        for test in doctest.DocTestFinder().find(module)
        if test.examples
    ]
    runner = doctest.DocTestRunner()
    assert [test.name for test in documented if runner.run(test).failed] == []
    assert len(documented) >= 30


def test_examples_on_pages_hold():
    pages = [page for page in (ROOT / "docs").rglob("*.md") if "\n>>> " in page.read_text()]
    assert [
        page.name for page in pages if doctest.testfile(str(page), module_relative=False).failed
    ] == []
    assert ROOT / "docs/concepts.md" in pages
