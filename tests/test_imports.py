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
    files = [file.relative_to(PACKAGE).with_suffix("") for file in PACKAGE.rglob("*.py") if file.name != "__main__.py"]
    modules = [".".join(["tclose_spark", *file.parts]) for file in files if not file.as_posix().startswith(OF_SPARK)]
    assert len(modules) > 300
    found = subprocess.run([sys.executable, "-c", PROGRAM, *modules], capture_output=True, text=True, check=True)
    assert found.stdout == ""


def test_what_talks_to_spark_does_not():
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, "tclose_spark.io.tables.columns"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.search("(pyspark|py4j) cannot be imported here", found.stdout)
