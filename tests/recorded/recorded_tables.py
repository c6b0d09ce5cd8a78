"""The synthetic tables of recorded releases and audits. Each is drawn anew from a fixed seed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from strategies import CITIES

DISEASES = ["flu", "gout", "ulcer", "angina", "cold"]
FIRST_DAY = date(1950, 1, 1)
FIRST_TIME = datetime(2024, 1, 1)


def _pick(draw: np.random.Generator, values: Sequence[Any], rows: int) -> list[Any]:
    return [values[place] for place in draw.integers(len(values), size=rows)]


def survey(rows: int = 240, seed: int = 5) -> pa.Table:
    """Rows of different people, in households of about three, with a weight. They have every kind
    of column.
    """
    draw = np.random.default_rng(seed)
    household = np.sort(draw.integers(rows // 3, size=rows))
    city = draw.integers(5, size=rows)[household]
    usual = np.where(city < 3, 0, 1)
    disease = np.where(draw.random(rows) < 0.3, usual, draw.integers(5, size=rows))
    columns = {
        "name": [f"name {row}" for row in range(rows)],
        "household": [f"home {number}" for number in household],
        "weight": draw.integers(20, 180, rows) / 4,
        "age": draw.integers(18, 80, rows),
        "height": np.round(1.5 + draw.random(rows) / 2, 2),
        "visits": _pick(draw, [None, *range(9)], rows),
        "born": [FIRST_DAY + timedelta(days=int(days)) for days in draw.integers(9000, size=rows)],
        "seen": [
            FIRST_TIME + timedelta(minutes=int(minutes))
            for minutes in draw.integers(400_000, size=rows)
        ],
        "city": np.array(CITIES.leaves)[city],
        "zip": [f"9{number:02d}" for number in draw.integers(40, 60, rows)],
        "sex": _pick(draw, ["f", "m"], rows),
        "site": _pick(draw, ["North", "north ", "south", "a, b"], rows),
        "grade": _pick(draw, ["a", "b", "c", "d", "e"], rows),
        "disease": np.array(DISEASES)[disease],
        "ward": _pick(draw, ["w1", "w2", "w3", None], rows),
        "mood": _pick(draw, ["low", "middle", "high", None], rows),
        "pay": draw.integers(900, 930, rows),
        "town": _pick(draw, ["Pisa", "Siena", "Lyon"], rows),
        "region": _pick(draw, ["east", "west", "9"], rows),
    }
    return pa.table(columns).take(pa.array(draw.permutation(rows)))


def stays(people: int = 160, seed: int = 7, varying: bool = False) -> pa.Table:
    """Rows of people with one to six rows each, in households. varying: whether age and city differ
    by row.
    """
    draw = np.random.default_rng(seed)
    home_of = np.sort(draw.integers(people // 3, size=people))
    times = draw.geometric(0.65, people)
    who = np.repeat(np.arange(people), np.where(times > 3, 6, times))
    rows = len(who)
    usual = draw.integers(5, size=people)[who]
    age = draw.integers(20, 70, people)[who]
    city = draw.integers(5, size=people)[who]
    if varying:
        age = age + draw.integers(3, size=rows)
        city = np.where(draw.random(rows) < 0.2, draw.integers(5, size=rows), city)
    columns = {
        "patient": [f"patient {person}" for person in who],
        "household": [f"home {number}" for number in home_of[who]],
        "age": age,
        "sex": np.array(["f", "m"])[draw.integers(2, size=people)[who]],
        "city": np.array(CITIES.leaves)[city],
        "disease": np.array(DISEASES)[
            np.where(draw.random(rows) < 0.5, usual, draw.integers(5, size=rows))
        ],
        "pay": draw.integers(900, 920, rows),
        "town": np.array(CITIES.leaves)[draw.integers(5, size=rows)],
        "region": _pick(draw, ["east", "west"], rows),
    }
    return pa.table(columns).take(pa.array(draw.permutation(rows)))


def month(number: int, people: int = 220, seed: int = 11) -> pa.Table:
    """A town in a month: each month a tenth of the people arrive, some leave, and some have another
    disease.
    """
    draw = np.random.default_rng(seed)
    most = people + people // 10 * 3
    age, sex = draw.integers(20, 70, most), draw.integers(2, size=most)
    leaves_in = np.where(draw.random(most) < 0.08, draw.integers(1, 4, most), 9)
    changes_in = np.where(draw.random(most) < 0.05, draw.integers(1, 4, most), 9)
    before, after = draw.integers(4, size=most), draw.integers(4, size=most)
    disease = np.where(changes_in <= number, after, before)
    here = np.flatnonzero((np.arange(most) < people + people // 10 * number) & (leaves_in > number))
    return pa.table(
        {
            "patient": [f"patient {person}" for person in here],
            "age": age[here],
            "sex": np.array(["f", "m"])[sex[here]],
            "disease": np.array(DISEASES)[disease[here]],
        },
    )


def pairs(rows: int) -> pa.Table:
    """A table that is small enough for the exact method."""
    draw = np.random.default_rng(13)
    return pa.table(
        {
            "age": draw.integers(20, 40, rows),
            "sex": _pick(draw, ["f", "m"], rows),
            "disease": _pick(draw, ["flu", "gout", "ulcer"], rows),
        },
    )


def population(rows: int = 2000) -> pa.Table:
    """A population that `survey` could be drawn from, with its raw quasi-identifiers."""
    draw = np.random.default_rng(17)
    return pa.table({"age": draw.integers(18, 80, rows), "sex": _pick(draw, ["f", "m"], rows)})


def grouped(table: pa.Table, width: int = 20, overlap: int = 0) -> pa.Table:
    """A table as any tool could publish it: ages as intervals of this width.

    overlap: how far the intervals of every other row are moved up.
    """
    shift = np.where(np.arange(table.num_rows) % 2, overlap, 0)
    low = (np.asarray(table["age"]) - shift) // width * width + shift
    labels = pa.array([f"[{age}, {age + width - 1}]" for age in low])
    return table.set_column(table.column_names.index("age"), "age", labels)


def foreign() -> pa.Table:
    """Labels of several tools, of which some are no intervals."""
    draw = np.random.default_rng(19)
    rows = 300
    return pa.table(
        {
            "age": _pick(draw, ["[20, 30[", "[30, 40[", "40-49", "50s", "*", None], rows),
            "zip": _pick(draw, ["94***", "95***", "941**", "*"], rows),
            "job": _pick(draw, ["{cook, nurse}", "clerk", "*", "nurse"], rows),
            "born": _pick(
                draw,
                ["[1950-01-01, 1959-12-31]", "[1960-01-01, 1969-12-31]", "1961"],
                rows,
            ),
            "sex": _pick(draw, ["f", "m", "other"], rows),
            "disease": _pick(draw, DISEASES, rows),
            "pay": draw.integers(900, 920, rows),
        },
    )
