"""Every figure and table of the five papers, beside the printed values: `make papers`.

    PYTHONPATH=.:tests:tests/methods/exact python -m benchmarks.papers

Writes docs/papers.json, which `tests/docs/test_papers.py` holds, and the pictures below
docs/pictures/papers. It prints the figures that differ from printed ones. TCLOSE_DATA is the folder
of the real tables.
"""

from __future__ import annotations

import time

from benchmarks.papers import adult, fragments, optima, partitions, tables
from benchmarks.papers.figure import PICTURES, write


def main() -> None:
    begun = time.perf_counter()
    PICTURES.mkdir(parents=True, exist_ok=True)
    found = []
    for part in (
        tables.cheap,
        fragments.cheap,
        optima.cheap,
        partitions.all_figures,
        adult.all_figures,
    ):
        found += part()
        print(
            f"{part.__module__}: {len(found)} figures after {time.perf_counter() - begun:.0f} s",
            flush=True,
        )
    fragments.picture()
    write(found)
    for figure in found:
        if figure.printed is not None and abs(figure.ours - figure.printed) > figure.tolerance:
            print(
                f"{figure.place}, {figure.what}: {figure.ours:g}, printed {figure.printed:g} "
                f"({figure.why})",
            )


if __name__ == "__main__":
    main()
