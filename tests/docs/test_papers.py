"""docs/papers.md names what is there, and states the figures of docs/papers.json; the quick ones
are computed again.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests/methods/exact")]

from benchmarks.papers import fragments, optima, partitions, tables  # noqa: E402
from benchmarks.papers.figure import DATA, Figure, read  # noqa: E402

PAGE = (ROOT / "docs/papers.md").read_text(encoding="utf-8")
STORED = {(figure.place, figure.what): figure for figure in read()}
PATH = re.compile(r"[\w./-]+/[\w./-]+\.(?:py|md|yaml)|[\w./-]+/")


def in_backticks(text: str) -> set[str]:
    return {text for text in re.findall(r"`([^`\n]+)`", text) if PATH.fullmatch(text)}


def test_every_path_exists() -> None:
    named = in_backticks(PAGE)
    assert len(named) > 40
    lost = [
        place
        for place in named
        if not (ROOT / place).exists() and not (ROOT / "tclose_spark" / place).exists()
    ]
    assert lost == []


@pytest.mark.parametrize(
    "computed",
    [tables.cheap, fragments.cheap, optima.cheap],
    ids=lambda part: part.__module__,
)
def test_quick_figures_are_those_of_the_file(computed: Callable[[], list[Figure]]) -> None:
    found = computed()
    assert len(found) >= 4
    for figure in found:
        stored = STORED[figure.place, figure.what]
        assert figure.ours == pytest.approx(stored.ours, abs=max(stored.tolerance, 1e-6)), figure
        assert figure.printed == stored.printed


def test_the_heart_patients_of_gowda_are_ten_ranges_of_cholesterol() -> None:
    if not DATA.exists():
        pytest.skip("the real tables are not there")
    with (DATA / "heart/heart_1025.csv").open(encoding="utf-8") as file:
        name, *rows = (line.split(",") for line in file)
    values = [int(row[name.index("chol")]) for row in rows]
    assert np.histogram(values, bins=10)[0].tolist() == tables.HEART.tolist()
    printed = [359, 247, 231, 120, 42, 13, 10, 3, 0, 0]
    assert sorted(tables.HEART.tolist(), reverse=True) == printed


def test_figure_5_1_is_that_of_the_file() -> None:
    if not DATA.exists():
        pytest.skip("the real tables are not there")
    dealt = dict(
        zip(
            range(5, 16),
            partitions.chapter_5_dealt(partitions.heart_pairs(), range(5, 16)),
            strict=True,
        ),
    )
    for s, name in enumerate(("blood pressure", "cholesterol")):
        for k in (5, 10, 15):
            stored = STORED["Gowda, Figure 5.1", f"Stack & Deal, {name}, k = {k}"]
            assert dealt[k][s] == pytest.approx(stored.ours, abs=stored.tolerance)


def test_a_figure_that_is_not_as_printed_says_why() -> None:
    """Beside the rounding of what is printed."""
    differing = [
        f
        for f in STORED.values()
        if f.printed is not None and abs(f.ours - f.printed) > f.tolerance
    ]
    assert len(differing) > 5
    assert [figure for figure in differing if not figure.why] == []
    assert [figure for figure in STORED.values() if figure.why and figure not in differing] == []


def test_figures_that_stand_on_the_page_are_those_of_the_file() -> None:
    """Numbers of four and more digits after the point, in rows of papers.json or of a paper."""
    shown = set(re.findall(r"(?<![\w.])\.\d{4,6}(?!\d)", PAGE))
    known = {
        f"{value:.{digits}f}".rstrip("0")[1:]
        for f in STORED.values()
        for value in (f.ours, f.printed or 0.0)
        for digits in (4, 6)
    }
    known |= {f"{f.printed:.6f}"[1:] for f in STORED.values() if f.printed is not None}
    assert len(shown) > 40
    assert {
        number for number in shown if number.rstrip("0") not in known and number not in known
    } == set()


@pytest.mark.parametrize("draw", ["shuffled_even", "uniform_even", "uniform_free"])
def test_random_partitions_have_the_properties_of_their_group(draw: str) -> None:
    table, k, random = np.array([167, 153, 127, 103, 91, 89]), 10, np.random.default_rng(7)
    for _ in range(20):
        if draw == "shuffled_even":
            classes = partitions.shuffled(
                table,
                lambda of, k: partitions.even_sizes(730, of, k),
                random,
                k,
            )
        else:
            classes = getattr(partitions, draw)(table, random, k)
        sizes, spread = classes.sum(axis=1), np.ptp(classes, axis=0)
        assert classes.sum(axis=0).tolist() == table.tolist()
        assert sizes.min() >= k
        assert (np.ptp(sizes) <= 1) == (draw != "uniform_free")
        assert (spread.max() <= 1) == (draw != "shuffled_even")


def test_all_partitions_alike_are_counted_as_stirling_counts_them() -> None:
    """Five rows have 52 partitions, and 11 without a set of one."""
    assert np.exp(partitions.log_partitions(5, 1)[5]) == pytest.approx(52)
    assert np.exp(partitions.log_partitions(5, 2)[5]) == pytest.approx(11)
    random = np.random.default_rng(7)
    drawn = [tuple(sorted(partitions.any_sizes(5, random, 2))) for _ in range(2_000)]
    assert drawn.count((2, 3)) / 2_000 == pytest.approx(10 / 11, abs=0.02)
