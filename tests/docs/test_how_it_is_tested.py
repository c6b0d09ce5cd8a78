"""docs/how-it-is-tested.md has the figures that were recorded, and all of them are good."""

from __future__ import annotations

import json

import suites
import yaml
from mutants.survivors import BEGIN as MUTANTS_BEGIN
from mutants.survivors import END as MUTANTS_END
from mutants.survivors import REASONS, page_of
from tried import BEGIN, COMMANDS, END, PAGE, RECORDED, table_of


def test_the_page_has_the_recorded_figures() -> None:
    assert PAGE.read_text().partition(BEGIN)[2].partition(END)[0] == table_of(
        json.loads(RECORDED.read_text()),
    )


def test_the_page_has_the_records_of_suites() -> None:
    records = json.loads(RECORDED.read_text())["suites"]
    assert records.keys() <= suites.SUITES.keys()
    found = PAGE.read_text().partition(suites.BEGIN)[2].partition(suites.END)[0]
    assert found == suites.table_of(records)


def test_all_ended_as_required() -> None:
    figures = json.loads(RECORDED.read_text())
    assert figures.keys() == {*COMMANDS, "suites"}
    for part in COMMANDS:
        for figure in figures[part].values():
            assert part == "mutants" or figure["tried"] == figure["as required"] > 0


def test_nine_of_ten_mutants_are_killed_and_each_other_has_a_reason() -> None:
    figures = json.loads(RECORDED.read_text())["mutants"].values()
    tried, killed = (sum(figure[what] for figure in figures) for what in ("tried", "as required"))
    groups = yaml.safe_load(REASONS.read_text())
    assert killed >= 0.9 * tried
    assert sum(len(group["mutants"]) for group in groups) == tried - killed
    assert PAGE.read_text().partition(MUTANTS_BEGIN)[2].partition(MUTANTS_END)[0] == page_of(
        killed,
        tried,
    )
