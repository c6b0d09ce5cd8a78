"""The frontier, the table and the page."""

import re
from itertools import product
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.comparing.request import AS_ASKED
from tclose_spark.comparing.result import ComparisonResult, Outcome, frontier
from tclose_spark.comparing.views import comparison_table, render_page
from tclose_spark.report.plots import CURVES, LIGHT

FIGURES = {"classes": 10, "average": 4.0, "discernibility": 160, "suppressed": 0}


def released(method, k, t, ncp, **more):
    return Outcome(
        method=method,
        k=k,
        t=t,
        state="released",
        figures={"ncp": ncp, **FIGURES, **more},
        seconds=1.5,
    )


def without(method, k, t, state, why):
    return Outcome(method=method, k=k, t=t, state=state, why=why, figures={})


MIXED = ComparisonResult(
    name="people <1>",
    rows=40,
    whole=400,
    outcomes=(
        released("tree", 5, "0.1", 0.5, query_error=0.25),
        without("deal", 5, "0.1", "unreachable", "no class size meets the requirements"),
        without("cells", 5, "0.1", "refused", "makes no l < 2"),
        released("tree", 5, "0.2", 0.25, query_error=0.125),
        released("deal", 5, "0.2", 0.75, query_error=0.5),
        without("cells", 5, "0.2", "refused", "makes no l < 2"),
        without("tree", 10, "0.2", "broken", ""),
    ),
)

outcomes = st.lists(
    st.builds(
        lambda k, t, ncp, made: (
            released("m", k, t, ncp) if made else without("m", k, t, "unreachable", "no")
        ),
        st.integers(2, 4),
        st.sampled_from(["0.1", "0.2", "1"]),
        st.sampled_from([0.1, 0.2, 0.3]),
        st.booleans(),
    ),
    max_size=12,
)


@drawn(200)
@given(outcomes)
def test_the_frontier_is_what_no_other_beats(made):
    """By the definition: a release is beaten by one that is at least as good in all three, and
    better in one.
    """
    best = frontier(made)
    for one, is_best in zip(made, best, strict=True):
        beaten = any(
            other.loss is not None
            and other.k >= one.k
            and float(other.t) <= float(one.t)
            and other.loss <= (one.loss or 0)
            and (other.k, other.t, other.loss) != (one.k, one.t, one.loss)
            for other in made
        )
        assert is_best == (one.loss is not None and not beaten)


def test_outcomes_are_kept_whole():
    assert [Outcome.from_json(one.to_json()) for one in MIXED.outcomes] == list(MIXED.outcomes)


def test_the_table_names_what_there_is_no_release_of_and_why():
    table, notes = comparison_table(MIXED)
    columns = {str(column.header): list(column.cells) for column in table.columns}
    assert columns["method"] == ["tree", "deal", "cells", "tree", "deal", "cells", "tree"]
    assert columns["NCP"] == ["0.5000", "-", "-", "0.2500", "0.7500", "-", "-"]
    assert columns[""] == ["*", "unreachable", "refused", "*", "", "refused", "broken"]
    assert "suppressed" not in columns  # there are none
    assert "sample of 400" in str(table.title)
    assert notes[1:3] == [
        "deal: unreachable (k = 5, t = 0.1): no class size meets the requirements",
        "cells: refused: makes no l < 2",
    ]


def test_the_page_needs_nothing_else_and_says_that_it_is_internal():
    page, _ = render_page(MIXED)
    assert "Internal." in page
    assert "people &lt;1&gt;" in page
    assert "people <1>" not in page
    assert "no class size meets the requirements" in page
    assert not re.search(r"(src|href)=|@import|url\(", page.replace("url(#", ""))
    assert "<figure" in page


def test_the_plot_shows_every_release_and_what_is_out_of_reach():
    _, plot = render_page(MIXED)
    texts = [element.text for element in ElementTree.fromstring(plot).iter() if element.text]
    assert {"k = 5", "t", "0.1", "0.2", "tree", "deal", "cells: refused"} <= set(texts)
    assert "k = 10" not in texts
    assert len(places(plot, CURVES[0])) == 2 + 1  # one in the legend
    assert len(places(plot, CURVES[1])) == 2 + 1  # one of them a cross
    assert len(places(plot, LIGHT["--ink"])) == 2  # rings, of the frontier


def places(plot, colour):
    """Where the marks of a colour are."""
    marks = re.findall(r'<path [^>]*transform="translate\(([^ ]+) ([^)]+)\)" style="([^"]*)"', plot)
    return [(float(x), float(y)) for x, y, style in marks if colour in style]


def test_what_is_too_coarse_is_reported_and_drawn_where_nothing_is_reached():
    coarse = without("deal", 5, "0.1", "coarse", "labels of age are coarser than coarsest")
    both = ComparisonResult(
        name="x",
        rows=4,
        whole=4,
        outcomes=(released("tree", 5, "0.1", 0.5), coarse),
    )
    _, notes = comparison_table(both)
    assert notes[1:2] == ["deal: coarse (k = 5, t = 0.1): labels of age are coarser than coarsest"]
    page, plot = render_page(both)
    assert "labels of age are coarser" in page
    assert ">deal<" in plot
    assert "deal: refused" not in plot
    assert both.broken == []
    assert page


def test_a_t_that_is_a_fraction_has_its_place():
    made = tuple(released("tree", 5, t, 0.5) for t in ("1/10", "0.2", "3/10"))
    _, plot = render_page(ComparisonResult(name="x", rows=4, whole=4, outcomes=made))
    x1, x2, x3 = sorted(x for x, _ in places(plot, CURVES[0]))[-3:]
    assert abs((x2 - x1) - (x3 - x2)) < 0.5


def test_plans_are_shown_with_their_figures():
    plans = (
        Outcome(
            method="deal",
            k=5,
            t="0.1",
            state="planned",
            figures={"plan": {"class_size": 1234}},
        ),
    )
    table, _ = comparison_table(ComparisonResult(name="x", rows=4, whole=4, outcomes=plans))
    assert [(str(c.header), list(c.cells)) for c in table.columns][2] == (
        "plan",
        ["class size 1,234"],
    )
    assert (
        "class size 1,234"
        in render_page(ComparisonResult(name="x", rows=4, whole=4, outcomes=plans))[0]
    )


def test_a_plot_of_one_t_of_the_run_file_and_of_nothing():
    one = ComparisonResult(
        name="one",
        rows=4,
        whole=4,
        outcomes=(released("tree", 5, AS_ASKED, 0.0),),
    )
    ElementTree.fromstring(render_page(one)[1])
    none = ComparisonResult(
        name="none",
        rows=4,
        whole=4,
        outcomes=(without("tree", 5, AS_ASKED, "refused", "why"),),
    )
    assert render_page(none)[1] == ""


def test_places_in_the_plot_follow_t_and_loss():
    losses = dict(
        zip(product(("0.1", "0.2", "0.4"), "ab"), (0.9, 0.8, 0.5, 0.3, 0.2, 0.1), strict=True),
    )
    made = tuple(released(method, 5, t, loss) for (t, method), loss in losses.items())
    _, plot = render_page(ComparisonResult(name="x", rows=1, whole=1, outcomes=made))
    for colour in CURVES[:2]:
        (x1, y1), (x2, y2), (x3, y3) = sorted(places(plot, colour)[:3])
        assert 2 * (x2 - x1) == (x3 - x2) or abs(2 * (x2 - x1) - (x3 - x2)) < 0.5
        assert y1 < y2 < y3  # less loss is further down
