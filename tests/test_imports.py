"""What both engines share can be imported where there is no Spark."""

import re
import subprocess
import sys
from pathlib import Path

import tclose_spark

PACKAGE = Path(tclose_spark.__file__).parent
OF_SPARK = ("io", "engine/spark")  # and the entry point, which an import would run

PROGRAM = """
import importlib, sys

class NoSpark:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pyspark", "delta", "py4j"):
            raise ImportError(f"{name} cannot be imported here")

sys.meta_path.insert(0, NoSpark())
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(f"{name}: {error}")
"""


def test_what_both_engines_share_imports_without_spark():
    files = [
        file.relative_to(PACKAGE).with_suffix("")
        for file in PACKAGE.rglob("*.py")
        if file.name != "__main__.py"
    ]
    modules = [
        ".".join(["tclose_spark", *file.parts])
        for file in files
        if not file.as_posix().startswith(OF_SPARK)
    ]
    assert len(modules) > 300
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, *modules],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == ""


def test_what_talks_to_spark_does_not():
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, "tclose_spark.io.tables.columns"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.search("(pyspark|py4j) cannot be imported here", found.stdout)


HELP = (
    "markdown_it",
    "pygments",
    "attr",
    "importlib.metadata",
    "numpy",
    "pyarrow",
    "pandas",
    "pydantic",
    "yaml",
    "numba",
    "scipy",
    "matplotlib",
    "great_expectations",
)
AUDIT = (
    "pandas",
    "scipy.optimize",
    "scipy.stats",
    "numba",
    "matplotlib",
    "altair",
    "great_expectations",
)
COMMAND = """
import sys
from tclose_spark.cli import main
_, unwanted, *sys.argv[1:] = sys.argv
before = set(sys.modules)
code = main()
print("imported:", *sorted(set(unwanted.split(",")) & set(sys.modules) - before))
sys.exit(code)
"""


def imported_by(unwanted: tuple[str, ...], *arguments: str) -> str:
    """Those of these modules that a command imports."""
    command = [sys.executable, "-c", COMMAND, ",".join(unwanted), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.rpartition("imported:")[2].strip()


def test_the_help_imports_only_what_prints_it():
    assert imported_by(HELP, "--help") == ""


def test_an_audit_imports_nothing_that_it_does_not_use(tmp_path):
    table = tmp_path / "people.csv"
    table.write_text("age,pay\n" + "30,1\n30,2\n" * 3)
    options = ("-q", "age", "-s", "pay:ordered", "--k", "2", "--t", "0.5")
    assert imported_by(AUDIT, "audit", str(table), *options) == ""


def test_great_expectations_comes_without_what_only_other_expectations_need():
    program = (
        "import sys; from tclose_spark.checks.validation import begin_import, great_expectations\n"
        "begin_import(); gx = great_expectations()\n"
        "print(gx.__name__, *sorted({'altair', 'scipy.stats'} & set(sys.modules)))\n"
        "from great_expectations.expectations.core import "
        "expect_column_kl_divergence_to_be_less_than as other\n"
        "import scipy.stats, altair, gc\n"
        "print(other.stats.norm is scipy.stats.norm, other.alt.Chart is altair.Chart, "
        "gc.isenabled())\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split("\n")[:2] == ["great_expectations", "True True True"]
