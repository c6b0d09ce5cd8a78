"""Values decide where names do not: dates in other forms, weights, keys of people, words for
missing numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest
import yaml
from columns import facts, gathered

import tclose_spark as tc
from tclose_spark.comparing.result import Outcome
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.suggesting import trial as trying
from tclose_spark.suggesting.judging import suggest_role
from tclose_spark.suggesting.settings import quasi_identifier_settings
from tclose_spark.suggesting.suggestion import Suggestion
from tclose_spark.suggesting.trial import _helpful, changes, try_suggestion
from tclose_spark.suggesting.views import summary_lines

DAYS = [date(1930, 1, 1) + timedelta(days=37 * i) for i in range(600)]
DRAW = np.random.default_rng(11)


def shop(rows: int = 600) -> dict[str, Any]:
    """Orders of customers, who have three each. Nearly every order comes from an address of its
    own.
    """
    address = [f"10.{i // 250}.{i % 250}.7" for i in range(rows)]
    return {
        "Kunden-ID": [f"K{i // 3:05d}" for i in range(rows)],
        "client": [address[max(i, rows // 50)] for i in range(rows)],
        "last_login": [
            f"2024-01-{i % 28 + 1:02d} {i % 24:02d}:{i * 7 % 60:02d}:{i % 60:02d}"
            for i in range(rows)
        ],
        "age": (20 + DRAW.integers(0, 60, rows)).tolist(),
        "disease": DRAW.choice(["flu", "gout", "cold"], rows).tolist(),
    }


def suggested(table: pa.Table, **options: Any) -> Suggestion:
    return tc.suggest(table, name="people", engine="local", log=None, **options)


def visits() -> dict[str, Any]:
    """Visits of people who are numbered within sites, with an answer that nobody knows."""
    numbers = np.concatenate([np.arange(size) + 1 for size in range(30, 60, 4)])
    site = np.repeat(np.arange(8), range(30, 60, 4))
    of_row = np.repeat(np.arange(len(site)), 4)
    people = len(site)
    return {
        "centre": site[of_row],
        "subj": numbers[of_row],
        "sex": DRAW.choice(["m", "f"], people)[of_row],
        "age": DRAW.integers(18, 90, people)[of_row],
        "region": DRAW.choice(list("ABCD"), people)[of_row],
        "antwort": DRAW.choice(["ja", "nein"], len(of_row)),
    }


@pytest.mark.parametrize("name", ["member", "tenant", "guest", "driver"])
def test_an_answer_about_people_is_no_identifier(name: str) -> None:
    table = pa.table(shop(60)).append_column(name, pa.array(["yes", "no"] * 30))
    draft = suggested(table, trial=False)
    assert not any(name in note for note in draft.warnings)
    many = suggested(table.set_column(5, name, pa.array([i // 2 for i in range(60)])), trial=False)
    assert any(one.column == name for one in many.repeated)


def test_half_of_a_persons_key_is_published_in_no_role() -> None:
    suggestion = suggested(pa.table(visits()), trial=False)
    assert suggestion.roles["subj"] == "direct identifier"
    assert suggestion.person is None
    assert any("'subj'" in note and "'centre'" in note for note in suggestion.warnings)
    assert not any("'subj' looks like" in note for note in suggestion.warnings)


def test_a_guess_of_a_quasi_identifier_is_not_ready() -> None:
    suggestion = suggested(pa.table(visits()).drop_columns("subj"), trial=False)
    assert suggestion.roles["antwort"] == "quasi-identifier"
    assert any("antwort" in line and line.startswith("Not ready") for line in suggestion.decisions)
    without = suggested(pa.table(visits()).drop_columns(["subj", "antwort"]), trial=False)
    assert not any("antwort" in line for line in without.decisions)


def test_a_draft_without_a_sensitive_attribute_has_no_copy_that_stays_wrong() -> None:
    draft = suggested(pa.table(visits()).drop_columns("subj"), trial=False)
    tree = yaml.safe_load(draft.yaml)
    attributes = tree["attributes"]
    assert not attributes["sensitive_attributes"]
    attributes["sensitive_attributes"] = {"antwort": {"t": 1}}
    del attributes["quasi_identifiers"]["antwort"]
    assert ReleaseSpec.model_validate(tree).suggested is None


def test_many_rows_without_a_person_are_not_ready() -> None:
    table = pa.table(shop(900))
    keys = table["Kunden-ID"].to_pylist()
    for share, expected in ((0.2, False), (0.7, True)):
        unknown = [key if i % 10 >= 10 * share else "-" for i, key in enumerate(keys)]
        place = table.schema.get_field_index("Kunden-ID")
        given = table.set_column(place, "Kunden-ID", pa.array(unknown))
        lines = suggested(given, trial=False).decisions
        assert any("of rows have no person" in line for line in lines) == expected


def test_a_person_is_a_key_that_repeats_and_not_an_address_of_a_network() -> None:
    suggestion = suggested(pa.table(shop()), trial=False)
    assert suggestion.roles["Kunden-ID"] == "person"
    assert suggestion.roles["client"] == "direct identifier"
    assert suggestion.roles["last_login"] in ("quasi-identifier", "left out")
    alone = suggested(pa.table(shop()).drop_columns(["Kunden-ID"]), trial=False)
    assert (alone.person, alone.repeated) == (None, ())


@pytest.mark.parametrize("value", ["2001:db8::{:x}", "fe80::1:{:x}", "::ffff:{:x}", "192.168.4.{}"])
def test_every_form_of_network_address_is_direct(value: str) -> None:
    judged = suggest_role(facts("x", [value.format(i % 250) for i in range(1000)]))
    assert (judged.role, "IP addresses" in judged.why) == ("direct", True)


@pytest.mark.parametrize("value", ["12:30:{:02d}", "a:{}", "1:2:{}"])
def test_times_and_ratios_are_no_network_addresses(value: str) -> None:
    assert not facts("x", [value.format(i % 60) for i in range(1000)]).identifying


@pytest.mark.parametrize("name", ["last_login", "login", "phone", "signature"])
def test_dates_are_never_names_or_contacts(name: str) -> None:
    judged = suggest_role(facts(name, [str(day) for day in DAYS]))
    assert (judged.role, judged.concept and judged.concept.name) == ("quasi", "event")


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("{0.day:02d}.{0.month:02d}.{0.year}", "%d.%m.%Y"),
        ("{0.day}.{0.month}.{0.year}", "%d.%m.%Y"),
        ("{0.month:02d}/{0.day:02d}/{0.year}", "%m/%d/%Y"),
        ("{0.day:02d}/{0.month:02d}/{0.year}", "%d/%m/%Y"),
        ("{0.month}-{0.day}-{0.year}", "%m-%d-%Y"),
        ("{0.year}/{0.month:02d}/{0.day:02d}", "%Y/%m/%d"),
        ("{0.year}{0.month:02d}{0.day:02d}", "%Y%m%d"),
        ("{0:%d-%b-%Y}", "%d-%b-%Y"),
        ("{0.day} {0:%b} {0.year}", "%d %b %Y"),
        ("{0.day:02d}{0:%b}{0.year}", "%d%b%Y"),
    ],
)
def test_dates_in_another_form_have_that_form(written: str, form: str) -> None:
    line = quasi_identifier_settings(
        suggest_role(facts("birth_date", [written.format(day) for day in DAYS])),
    )
    assert line.settings == {"type": "date", "date_format": form}
    assert not any("dates as text" in said for said in line.said)


def test_whole_numbers_that_are_all_dates_are_dates() -> None:
    days = [int(f"{day:%Y%m%d}") for day in DAYS]
    assert (
        quasi_identifier_settings(suggest_role(facts("admitted", days))).settings["date_format"]
        == "%Y%m%d"
    )
    assert facts("admitted", [*days, 20240230]).date_formats == ()


def test_numbers_of_other_people_and_quantities_are_no_person() -> None:
    rows = 600
    table = with_word("65").append_column("officer_id", pa.array(DRAW.integers(100, 150, rows)))
    table = table.append_column("duration_sec", pa.array(DRAW.integers(60, 5000, rows)))
    times = [f"{i % 24:02d}:{i % 60:02d}:{i % 7:02d}" for i in range(rows)]
    table = table.append_column("stop_time", pa.array([*times[:400], *times[:200]]))
    suggestion = tc.suggest(table, log=None, engine="local")
    assert "person" not in suggestion.spec["attributes"]
    assert "duration_sec" not in suggestion.spec["attributes"]["direct_identifiers"]


def test_a_day_that_may_be_a_month_is_left_to_the_reader() -> None:
    either = [f"{day.day % 12 + 1:02d}/{day.month:02d}/{day.year}" for day in DAYS]
    line = quasi_identifier_settings(suggest_role(facts("birth_date", either)))
    assert line.settings["type"] == "categorical"
    assert any('date_format: "%d/%m/%Y" or "%m/%d/%Y"' in said for said in line.said)


@pytest.mark.parametrize("wrong", ["31.02.1964", "18.10.64", "unknown"])
def test_one_text_that_is_no_such_date_decides_for_all(wrong: str) -> None:
    dates = [f"{day:%d.%m.%Y}" for day in DAYS]
    assert facts("birth_date", dates).date_formats == ("%d.%m.%Y",)
    assert facts("birth_date", [*dates, wrong]).date_formats == ()


def test_a_file_with_german_dates_is_released_as_suggested(
    tclose: Callable[..., Any],
    tmp_path: Path,
) -> None:
    table = {
        "Straße": [f"Gasse {i}" for i in range(600)],
        "Größe": [150 + i % 50 for i in range(600)],
        "birth_date": [f"{day:%d.%m.%Y}" for day in DAYS],
        "sex": ["f", "m"] * 300,
        "disease": DRAW.choice(["flu", "gout", "cold"], 600).tolist(),
    }
    csv.write_csv(pa.table(table), tmp_path / "people.csv")
    assert (
        tclose("suggest", tmp_path / "people.csv", "--output", tmp_path / "run.yaml", "--t", "0.5")[
            0
        ]
        == 0
    )
    text = (tmp_path / "run.yaml").read_text(encoding="utf-8")
    assert 'birth_date: {type: date, date_format: "%d.%m.%Y"}' in text
    assert "Straße" in text
    assert "\\x" not in text
    code, _, err = tclose("release", tmp_path / "run.yaml")
    assert code == 0, err


@pytest.mark.parametrize(
    ("values", "role", "about"),
    [
        ((55 + 60 * DRAW.random(1000)).round(1), "quasi", "what is seen"),
        (DRAW.integers(45, 120, 1000), "quasi", "what is seen"),
        ((0.2 + 4 * DRAW.random(1000)).round(3), "weight", "survey weight"),
        (np.exp(DRAW.normal(4.4, 0.9, 1000)).round(4), "weight", "survey weight"),
        (DRAW.integers(3, 20_000, 1000), "weight", "survey weight"),
        ((0.5 + 1.2 * DRAW.random(1000)).round(1), "weight", "survey weight"),
        (DRAW.integers(1, 9, 1000), "open", None),
        ((60 + DRAW.random(1000)).round(3), "open", None),
        ((2.5 + 2 * DRAW.random(1000)).round(2), "open", None),
        (DRAW.integers(-3, 90, 1000), "open", None),
    ],
)
@pytest.mark.parametrize("name", ["weight", "Gewicht"])
def test_a_weight_is_that_of_a_body_or_of_a_row(
    name: str,
    values: Any,
    role: str,
    about: str | None,
) -> None:
    judged = suggest_role(facts(name, [str(value) for value in values.tolist()]))
    assert (judged.role, judged.concept and judged.concept.name) == (role, about)
    assert ("weight of a body" in judged.why) == (role == "open")


def with_word(word: str, other: str = "b") -> pa.Table:
    rows = 600
    return pa.table(
        {
            "age": [word if i % 9 == 0 else str(20 + i % 60) for i in range(rows)],
            "sex": ["f", "m"] * 300,
            "income": [word if i % 7 == 0 else str(1000 + 13 * i % 5000) for i in range(rows)],
            "kind": ["a", other, "c"] * 200,
        },
    )


@pytest.mark.parametrize("word", ["NA", "n/a", "unknown"])
def test_a_word_for_missing_numbers_is_read_as_missing(
    tclose: Callable[..., Any],
    tmp_path: Path,
    word: str,
) -> None:
    csv.write_csv(with_word(word), tmp_path / "people.csv")
    suggestion = tc.suggest(
        tmp_path / "people.csv",
        file=tmp_path / "run.yaml",
        t="0.5",
        log=None,
        engine="local",
    )
    attributes = suggestion.spec["attributes"]
    assert attributes["quasi_identifiers"]["age"] == {"type": "numeric", "missing_values": [word]}
    ordered = {"distance": "ordered", "t": 0.5, "missing": "lowest", "missing_values": [word]}
    assert attributes["sensitive_attributes"]["income"] == ordered
    suggestion.write(tmp_path / "run.yaml")
    code, _, err = tclose("release", tmp_path / "run.yaml")
    assert code == 0, err


def test_codes_of_an_insensitive_column_are_read_as_missing(tmp_path: Path) -> None:
    table = with_word("65").append_column(
        "wave",
        pa.array(DRAW.permutation([1, 2, 3, 1, 2, 9] * 100)),
    )
    suggestion = tc.suggest(table, log=None, engine="local")
    assert suggestion.spec["attributes"]["missing_values"] == {"wave": [9]}
    assert (
        tc.release(table, suggestion.spec, engine="local", log=None, output=tmp_path)
        .to_arrow()["wave"]
        .null_count
        == 100
    )


def test_a_text_among_numbers_is_no_word_for_missing() -> None:
    assert not facts("age", [*map(str, range(50)), "CANARY-7f3"]).codes.rows
    assert facts("age", [*map(str, range(50)), "NA", "none"]).codes.rows == {"NA": 1, "none": 1}


def mostly_missing(rows: int = 1000) -> pa.Table:
    """Dates of death that one in three has, most of them of cancer: closeness mixes them with those
    who live.
    """
    draw = np.random.default_rng(5)
    died = [str(DAYS[i % 600]) if draw.random() < 0.33 else None for i in range(rows)]
    table = {
        "age": draw.integers(20, 80, rows),
        "date_of_death": pa.array(died),
        "sex": draw.choice(["f", "m"], rows),
    }
    of_life = draw.choice(["flu", "gout", "cold"], rows)
    disease = [
        of_life[i] if day is None or draw.random() < 0.2 else "cancer" for i, day in enumerate(died)
    ]
    return pa.table({**table, "disease": disease})


def test_missing_values_that_may_be_any_are_tried(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    table = mostly_missing()
    suggestion = suggested(table, trial=False)
    change, tree = next(iter(changes(suggestion, suggestion.spec, {})))
    assert change == "date_of_death with missing: any"
    quasi = tree["attributes"]["quasi_identifiers"]
    assert [name for name, settings in quasi.items() if settings.get("missing") == "any"] == [
        "date_of_death",
    ]
    monkeypatch.setattr(trying, "BAD", 0.0)
    monkeypatch.setattr(trying, "HELPS", 0.0)
    lines = try_suggestion(suggestion, suggestion.spec, gathered(table), str(tmp_path / "work"))
    figures = re.search(
        r"date_of_death with missing: any: NCP (0\.\d+) instead of (0\.\d+)",
        " ".join(lines),
    )
    assert figures is not None, lines
    assert float(figures[1]) < float(figures[2])


def test_few_missing_values_are_not(tmp_path: Path) -> None:
    table = mostly_missing()
    few = [None if i % 10 == 0 else str(DAYS[i % 600]) for i in range(table.num_rows)]
    suggestion = suggested(table.set_column(1, "date_of_death", pa.array(few)), trial=False)
    assert not any(
        "missing: any" in change for change, _ in changes(suggestion, suggestion.spec, {})
    )


def test_changes_that_do_not_help_are_counted() -> None:
    def outcome(loss: float) -> Outcome:
        return Outcome(
            method="closeness_tree",
            k=2,
            t="0.2",
            state="released",
            figures={"ncp": loss},
        )

    first, same = outcome(0.9), ("sex as sets", outcome(0.9))
    assert [*_helpful(first, [same])] == ["Changes that were tried, and do not help much: 1"]
    assert [*_helpful(first, [same, same])] == ["Changes that were tried, and do not help much: 2"]
    assert [*_helpful(first, [("sex as sets", outcome(0.4))])] == [
        "sex as sets: NCP 0.40 instead of 0.90",
    ]


def test_changes_are_tried_with_little_effort_and_the_run_file_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    efforts: list[str | None] = []

    def carried_out(tree: trying.Tree, rows: pa.Table, folder: str) -> Outcome:
        efforts.append(tree["method"].get("effort"))
        return real(tree, rows, folder)

    real = trying._carried_out
    monkeypatch.setattr(trying, "_carried_out", carried_out)
    monkeypatch.setattr(trying, "BAD", 0.0)
    suggestion = suggested(mostly_missing(300), trial=False)
    try_suggestion(
        suggestion,
        suggestion.spec,
        gathered(mostly_missing(300)),
        str(tmp_path / "work"),
    )
    assert efforts == [None, "fast", "fast", "fast"]


def test_columns_that_make_people_rare_are_named() -> None:
    age = [*range(20, 60)] * 2
    people = pa.table(
        {"age": age, "sex": ["f", "m"] * 40, "disease": ["flu", "gout", "flu", "cold"] * 20},
    )
    found = suggested(people, trial=False)
    ages, pairs, sexes = 40, 40, 0  # each age is in two rows, of one sex
    named = f"age {(ages + pairs) / (ages + pairs):.0%}, sex {(sexes + pairs) / (ages + pairs):.0%}"
    assert f"with {named}" in found.rare
    assert found.rare.split(":")[0] in found.yaml
    assert any(
        "Rare cells (below 3 rows, by up to 2 columns)" in line for line in summary_lines(found)
    )


def test_far_numbers_that_few_people_share_are_counted_and_not_named() -> None:
    people = pa.table(
        {"age": [*range(20, 60)] * 10 + [999] * 4, "disease": ["flu", "gout", "flu", "cold"] * 101},
    )
    found = suggested(people, trial=False)
    shown = [line.strip() for line in summary_lines(found)]
    assert "age: 4 rows have numbers far from all others" in shown
    assert "999" not in "\n".join([*shown, found.yaml])
