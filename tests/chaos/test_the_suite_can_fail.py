"""The trials would notice a release that depends on more than the content of the table."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from broken_runs import ROOT, Command, published
from trials import Trials

ORDERED, ARRIVED = "by_hash = rows.sorted_by_hash()", "by_hash = np.arange(len(rows.hash))"


def test_a_package_that_orders_rows_by_arrival_is_caught(
    trials: Trials,
    crowd: Path,
    fingerprints: dict[str, str],
    tmp_path: Path,
) -> None:
    """A copy of the package whose rows keep the order in which they arrive. Its release of the same
    rows in another order is another one; that of this package is the same.
    """
    double = tmp_path / "double"
    shutil.copytree(
        ROOT / "tclose_spark",
        double / "tclose_spark",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    layout = double / "tclose_spark/methods/blocks/layout.py"
    assert layout.read_text().count(ORDERED) == 1
    layout.write_text(layout.read_text().replace(ORDERED, ARRIVED))
    turned = tmp_path / "turned"
    shutil.copytree(crowd, turned)
    files = sorted((turned / "people.parquet").glob("*.parquet"))
    for file in files:
        table = pq.read_table(file)
        pq.write_table(table.take(pa.array(range(table.num_rows - 1, -1, -1))), file)
    run_file = turned / "closeness_tree.yaml"
    run_file.write_text(run_file.read_text().replace(str(crowd), str(turned)))
    environment = {"PYTHONPATH": str(double)}
    for _ in trials(1):
        assert Command(run_file, tmp_path / "same", "local").run().returncode == 0
        made = []
        for name, given in (("as_is", crowd / "closeness_tree.yaml"), ("other", run_file)):
            assert (
                Command(given, tmp_path / name, "local", environment=environment).run().returncode
                == 0
            )
            made.append(published(tmp_path / name))
        trials.well(
            published(tmp_path / "same") == fingerprints["closeness_tree"] and made[0] != made[1],
            f"{fingerprints['closeness_tree']}, turned {published(tmp_path / 'same')}, double "
            f"{made}",
        )
