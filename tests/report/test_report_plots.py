"""Plots of the reports: legible with 2 and with 1,000 values, with 10 and with a million classes;
text is data; the same figures give the same text.
"""

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from tclose_spark.measures.distances.bins import MOST_SHOWN, group_values
from tclose_spark.report import sections
from tclose_spark.report.page import percent
from tclose_spark.report.plots import bars, lines, shortened
from tclose_spark.report.sections import (
    MOST_BARS,
    class_sizes,
    closeness_of_all,
    precision_of,
    worst_class,
)
from tclose_spark.requirements.figures import FarthestClass
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

T = {"required": 0.2, "achieved": 0.19}


def texts(svg: str) -> list[str]:
    """The letters of a plot."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def size_bin(least: int, classes: int, most: int | None = None) -> dict[str, int]:
    return {"from": least, "to": most or least, "classes": classes, "rows": least * classes}


@pytest.mark.parametrize(
    "svg",
    [bars([3, 1], [(0, "5")], "told", "x", "y"), lines(["a"], [("class", [0.5])], "t", "x")],
)
def test_a_plot_is_an_element_of_a_page_that_needs_nothing(svg):
    assert svg.startswith("<svg viewBox=")
    assert 'role="img" aria-label=' in svg
    for what in (
        "http",
        "xlink",
        "<style",
        "<use",
        " id=",
        "url(",
        "#0",
        "<metadata",
        "<!DOCTYPE",
        "font-family",
    ):
        assert what not in svg, what
    assert "var(--fill)" in svg


def test_the_same_figures_give_the_same_text():
    assert bars([3, 1], [(0, "5")], "told", "x", "y") == bars([3, 1], [(0, "5")], "told", "x", "y")


def test_names_are_data_in_plots_too():
    svg = lines(['<b id="x">a & $y_1$', "#010101"], [("class", [0.5, 0.25])], 'a "<told>"', "x")
    assert "&lt;b id=&#34;x&#34;&gt;a &amp; $y_1$" in texts(svg)
    assert "#010101" in texts(svg)
    assert 'aria-label="a &#34;&lt;told&gt;&#34;"' in svg


def test_numbers_of_an_axis_keep_their_digits():
    assert "0.0375" in texts(bars([3, 1], [(0, "0.0375")], "told", "x", "y"))


def test_long_labels_are_cut():
    assert shortened("x" * 44) == "x" * 44
    assert shortened("x" * 45) == "x" * 43 + "…"


def test_a_limit_is_drawn_and_lies_inside():
    svg = bars([1.0] * 3, [], "told", "x", "y", 40.0)
    assert "t" in texts(svg)
    assert "var(--other)" in svg
    assert "var(--other)" not in bars([1.0] * 3, [], "told", "x", "y")


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0%"), (1e-5, "< 0.1%"), (0.0005, "0.1%"), (0.5, "50%"), (0.9999, "> 99.9%"), (1, "100%")],
)
def test_percentages_never_round_to_nothing_or_everything(share, text):
    assert percent(share) == text


# --- many classes, many values


@pytest.mark.parametrize(
    "sizes",
    [[(5, 10)], [(5 + i, 10**6) for i in range(200)], [(20, 7), (40, 3)]],
)
def test_class_sizes_fit_a_plot_whatever_their_number(sizes):
    found = class_sizes([size_bin(*each) for each in sizes], sizes[0][0], sizes[-1][0])
    assert found.svg.count("<path") <= MOST_BARS + 4  # the axes and their lines
    assert found.facts.startswith(
        f"{sum(n for _, n in sizes):,} classes, of {sizes[0][0]:,} to {sizes[-1][0]:,} rows.",
    )
    assert len(texts(found.svg)) < 16


def test_bars_of_many_sizes_are_of_one_factor():
    """Or the last of equal numbers of classes would look like a peak."""
    many = [size_bin(least, 1) for least in range(20, 64)] + [
        size_bin(64, 6, 69),
        size_bin(70, 7, 75),
    ]
    starts = [group[0]["from"] for group in sections._joined(many)]
    assert starts == [20, 24, 29, 35, 42, 50, 59, 70]
    assert [group[0]["from"] for group in sections._joined(many[:5])] == [20, 21, 22, 23, 24]


def test_the_median_class_and_the_median_row():
    found = class_sizes([size_bin(2, 6), size_bin(10, 3), size_bin(100, 1)], 2, 100)
    assert (
        "Half of the classes have at most 2 rows, and half of the rows are in classes of at most "
        "100." in found.facts
    )


def test_distances_of_all_classes_against_t():
    emd = [
        {"bin": 0, "to": 0.0, "classes": 1, "rows": 9},
        {"bin": 20, "to": 0.1, "classes": 4, "rows": 9},
        {"bin": 40, "to": 0.2, "classes": 5, "rows": 9},
    ]
    found = closeness_of_all("pay", emd, T)
    assert "The farthest class is 0.19 from the table; 0.2 is required." in found.facts
    assert (
        "50% of the classes are within half of that, and 50% are beyond 90% of it." in found.facts
    )
    assert found.facts in found.svg
    beside = closeness_of_all("pay", emd, {"required": 0.2, "achieved": 0.19999871})
    assert "The farthest class is 0.199999 from the table; 0.2 is required." in beside.facts
    measured = closeness_of_all("pay", emd, {"required": None, "achieved": 0.19})
    assert "no limit was required" in measured.facts
    assert "var(--other)" not in measured.svg


@pytest.mark.parametrize("m", [2, 1000])
@pytest.mark.parametrize("cumulative", [True, False])
def test_a_distribution_is_legible_with_few_values_and_with_many(m, cumulative):
    part, whole = np.arange(m) % 7 + 1, np.ones(m, dtype=np.int64)
    groups = group_values([f"value {i}" for i in range(m)], part, whole, cumulative)
    assert len(groups) == min(m, MOST_SHOWN)
    assert (sum(g.part for g in groups), sum(g.whole for g in groups)) == (part.sum(), m)
    entry = FarthestClass(
        labels={},
        size=int(part.sum()),
        emd=0.1,
        values=m,
        groups=groups,
        moved=0.25,
        moves=[],
        more_moves=0,
    )
    found = worst_class("pay", entry, 0.2, "whole table")
    assert found.plot.facts.startswith("25% of the class would have to move")
    beside = worst_class("pay", replace(entry, emd=0.19999871), 0.2, "whole table")
    assert "Weighted by distance, that is 0.199999." in beside.plot.facts
    assert (f"The {m:,} values are shown in {len(groups)} groups." in found.plot.facts) == (
        m > MOST_SHOWN
    )
    assert len(texts(found.plot.svg)) < MOST_SHOWN + 12


def test_ranges_are_named_by_their_ends_and_the_most_different_values_by_themselves():
    values = [str(i) for i in range(6)]
    part, whole = np.array([9, 1, 1, 1, 1, 1]), np.array([1, 1, 1, 1, 1, 9])
    assert [g.name for g in group_values(values, part, whole, True, most=2)] == ["0 to 2", "3 to 5"]
    assert [g.name for g in group_values(values, part, whole, False, most=3)] == [
        "0",
        "5",
        "all others",
    ]
    assert group_values([None], np.array([2]), np.array([3]), True)[0].name == "(missing)"


CODES = Hierarchy(
    tuple((f"{i:03}", f"block {i // 10:02}", f"chapter {i // 50:02}", "*") for i in range(400)),
).with_missing("codes")


def test_many_codes_of_a_hierarchy_are_grouped_by_its_lowest_level_that_fits():
    values = [None if leaf == "(missing)" else leaf for leaf in CODES.leaves]
    part, whole = np.zeros(401, dtype=np.int64), np.ones(401, dtype=np.int64)
    part[[50, 51, 400]] = 3, 2, 1
    groups = group_values(values, part, whole, False, CODES)
    assert [g.name for g in groups] == [*(f"chapter {i:02}" for i in range(8)), "(missing)"]
    assert [g.part for g in groups] == [0, 5, 0, 0, 0, 0, 0, 0, 1]
    assert [g.whole for g in groups] == [50] * 8 + [1]
    blocks = group_values(values, part, whole, False, CODES, most=41)
    assert [g.name for g in blocks] == [*(f"block {i:02}" for i in range(40)), "(missing)"]
    assert len(group_values(values, part, whole, False, CODES, most=40)) == 9


def test_where_only_the_root_is_small_enough_the_nodes_below_it_are_grouped_as_values_are():
    values = [None if leaf == "(missing)" else leaf for leaf in CODES.leaves]
    part = np.zeros(401, dtype=np.int64)
    part[[50, 51, 400]] = 3, 2, 1
    groups = group_values(values, part, np.ones(401, dtype=np.int64), False, CODES, most=3)
    assert [(g.name, g.part, g.whole) for g in groups] == [
        ("chapter 01", 5, 50),
        ("(missing)", 1, 1),
        ("all others", 0, 350),
    ]


def test_few_codes_of_a_hierarchy_are_shown_by_themselves():
    few = Hierarchy(CODES.paths[:MOST_SHOWN])
    ones = np.ones(MOST_SHOWN, dtype=np.int64)
    assert [g.name for g in group_values(few.leaves, ones, ones, False, few)] == [*few.leaves]


def test_precision_is_reported_in_shares_of_the_rows():
    found = precision_of(
        "age",
        [{"precision": "the value", "rows": 3}, {"precision": "* (nothing)", "rows": 1}],
    )
    assert found.lines == [("the value", 3, 0.75), ("* (nothing)", 1, 0.25)]
    assert found.share("* (nothing)") == 0.25
    assert found.share("level 1 of its hierarchy") == 0


def test_plots_need_no_matplotlib():
    draw = "from tclose_spark.report.plots import bars; bars([1], [], 'd', 'x', 'y')"
    code = f"import sys; {draw}; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
