"""Two runs at one place, and readers of a release that is being replaced."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

from broken_runs import LAST_WORDS, Command, is_whole, published
from deltalake import DeltaTable
from trials import Trials


def test_two_runs_to_one_place(
    trials: Trials,
    crowd: Path,
    fingerprints: dict[str, str],
    tmp_path: Path,
) -> None:
    """One output for both, or outputs that share the public folder. Each run ends with 0 or 2, and
    at least one with 0; what is public is whole.
    """
    methods = ("closeness_tree", "stack_and_deal")
    for number in trials(20):
        output, own = tmp_path / str(number), number % 2
        runs = []
        for method in methods:
            internal = output / f"{method if own else 'both'}"
            command = Command(
                crowd / f"{method}.yaml",
                output,
                "local",
                ("--overwrite",),
                internal=internal,
            )
            runs.append(command.start())
            time.sleep(trials.draw.choice([0.0, trials.draw.uniform(0, 4)]))
        told = [process.communicate(timeout=600)[0] for process in runs]
        codes = [process.returncode for process in runs]
        refused = [text for text, code in zip(told, codes, strict=True) if code == 2]
        trials.well(
            set(codes) <= {0, 2}
            and 0 in codes
            and all(
                "is being written by another run" in text or "has just begun" in text
                for text in refused
            )
            and is_whole(output)
            and published(output) in {fingerprints[method] for method in methods},
            f"exit {codes}: {[text[-LAST_WORDS:] for text in told]}",
        )


def test_readers_while_a_release_is_replaced(
    trials: Trials,
    crowd: Path,
    fingerprints: dict[str, str],
    tmp_path: Path,
) -> None:
    """A reader that opens the release has the rows of one release, and its certificate. If it is
    replaced while a reader opens its files, the reader gets an error and opens it again.
    """
    output, methods, seen = tmp_path / "out", ("closeness_tree", "stack_and_deal"), set()
    counts, wrong, stop = {fingerprints[name]: None for name in methods}, [], threading.Event()

    def read() -> None:
        while not stop.is_set():
            try:
                before = json.loads((output / "public/certificate.json").read_text())["release"]
                table = DeltaTable(output / "public/release").to_pyarrow_table()
                after = json.loads((output / "public/certificate.json").read_text())["release"]
            except FileNotFoundError:
                continue
            except Exception as error:
                wrong.append(repr(error))
                continue
            if before == after:
                seen.add(before["fingerprint"])
                classes = (
                    table.select(before["columns"][:-1])
                    .group_by(before["columns"][:-1])
                    .aggregate([])
                    .num_rows
                )
                if (
                    before["fingerprint"] not in counts
                    or table.num_rows != before["rows"]
                    or classes > before["classes"]
                ):
                    wrong.append(f"{before}: {table.num_rows} rows, {classes} classes")

    assert Command(crowd / f"{methods[1]}.yaml", output, "local").run().returncode == 0
    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in trials(10):
            begun = len(wrong)
            method = methods[number % 2]
            done = Command(crowd / f"{method}.yaml", output, "local", ("--overwrite",)).run()
            trials.well(
                done.returncode == 0 and len(wrong) == begun,
                f"{wrong[begun : begun + 3]} {done.stderr[-300:]}",
            )
    finally:
        stop.set()
        reader.join()
    assert len(seen) == min(2, trials.tried + 1)
