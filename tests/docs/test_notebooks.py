"""The notebooks of docs run from the first cell to the last and show what they speak of, one after
another in one process: a fresh one, with names of its own for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.util import run_sync

pytestmark = pytest.mark.more

FOLDER = Path(__file__).resolve().parents[2] / "docs/notebooks"
SHOWN = {
    "first_release": (
        "first: the release holds",
        "Report of the release",
        "(False, 1, ",
        "3 privacy.k is 5000",
    ),
    "several_attributes": ("two: the release holds", 'title="Comparison"', 'title="Plan"'),
    "auditing_an_arx_table": (
        'title="Audit"',
        'title="Explanation"',
        "homogeneity",
        "('t-closeness', 'disease'): False",
    ),
}


@pytest.fixture(scope="module")
def kernel() -> Iterator[AsyncKernelManager]:
    """The process that notebooks run in, and the one Spark in it."""
    manager = AsyncKernelManager(kernel_name="python3")
    yield manager
    run_sync(manager.shutdown_kernel)(now=True)


def test_every_notebook_is_run():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_is_kept_without_output(name: str):
    cells = [
        cell
        for cell in nbformat.read(FOLDER / f"{name}.ipynb", 4).cells
        if cell.cell_type == "code"
    ]
    assert [cell.outputs for cell in cells] == [[]] * len(cells)
    assert [cell.execution_count for cell in cells] == [None] * len(cells)


@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_runs(name: str, tmp_path: Path, kernel: AsyncKernelManager):
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", 4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(f"%reset -f\n%cd -q {tmp_path}"))
    NotebookClient(notebook, timeout=300, km=kernel).execute()
    outputs = [
        output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
    ]
    shown = "\n".join(
        str(text)
        for output in outputs
        for text in (output.get("text"), *(output.get("data") or {}).values())
        if text
    )
    assert [text for text in SHOWN[name] if text not in shown] == []
