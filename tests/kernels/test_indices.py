"""Kernels use an index as it is, and do not count from the end. So no kernel may have a negative
index: `make test-bounds` checks each one in the tests of methods.
"""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tclose_spark
from tclose_spark.kernels import kernel

PACKAGE = Path(tclose_spark.__file__).parent
USE_INDICES = """
import numpy as np
from tclose_spark.kernels import kernel

@kernel
def read(numbers, i):
    return numbers[i]

@kernel
def write(numbers, i):
    numbers[i] = 0

@kernel
def read_by_another(numbers, i):
    return read(numbers, i)

for use in (read, write, read_by_another):
    for i in (2, -1, 3):
        try:
            use(np.arange(3), i)
            print(i)
        except IndexError:
            print("IndexError")
"""
PRINT_FOLDER = "from tclose_spark.kernels.caching import folder\nprint(folder())"


def words_printed(program: str, folder: Path, check: str) -> list[str]:
    """What a program prints with NUMBA_BOUNDSCHECK=check."""
    file = folder / "program.py"
    file.write_text(program)
    ran = subprocess.run(
        [sys.executable, str(file)],
        env={**os.environ, "NUMBA_BOUNDSCHECK": check, "NUMBA_CACHE_DIR": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return ran.stdout.split()


def test_a_negative_index_does_not_count_from_the_end():
    numbers = np.arange(5)
    assert kernel(lambda numbers, i: numbers[i])(numbers[2:], -1) == 1


@pytest.mark.more
def test_the_check_refuses_an_index_outside(tmp_path: Path):
    assert words_printed(USE_INDICES, tmp_path, "1") == ["2", "IndexError", "IndexError"] * 3


@pytest.mark.more
def test_kernels_with_and_without_the_check_are_cached_apart(tmp_path: Path):
    folders = [words_printed(PRINT_FOLDER, tmp_path, check) for check in ("0", "1")]
    assert folders[0] != folders[1]


def test_no_kernel_has_a_negative_constant_as_an_index():
    """Nor as an end of a slice."""
    kernels = list(all_kernels())
    assert len(kernels) > 100
    for function in kernels:
        for node in ast.walk(function):
            if isinstance(node, ast.Subscript):
                negative = any(isinstance(part, ast.USub) for part in ast.walk(node.slice))
                assert not negative, f"{function.name}: {ast.unparse(node)}"


def all_kernels() -> Iterator[ast.FunctionDef]:
    """The syntax tree of each kernel of the package."""
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef) and any(
                isinstance(decorator, ast.Name) and decorator.id == "kernel"
                for decorator in node.decorator_list
            ):
                yield node
