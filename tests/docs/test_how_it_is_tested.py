"""docs/how-it-is-tested.md has the figures that were recorded, and all of them are good."""

from __future__ import annotations

import json

from tried import BEGIN, END, PAGE, RECORDED, table_of


def test_the_page_has_the_recorded_figures() -> None:
    assert PAGE.read_text().partition(BEGIN)[2].partition(END)[0] == table_of(json.loads(RECORDED.read_text()))


def test_all_ended_as_required() -> None:
    figures = json.loads(RECORDED.read_text())
    assert {"damages", "hostile inputs", "faults", "drawn runs"} <= figures.keys()
    for part in figures.values():
        for figure in part.values():
            assert figure["tried"] == figure["as required"] > 0
