"""Tables, run files and formats drawn at random: odd names, odd values, every method, distance and
kind of label.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import yaml
from deltalake import write_deltalake

MARK = "\N{SECTION SIGN}"
"""In each drawn text: an error that shows it has shown a person's value."""
PLAIN = ["age", "Größe", "select", "née", "N", "order", "class", "t"]
NAMES = [*PLAIN, "zip.code", "x`y", 'q"q', "_hash", "%s", "1st", "-"]
ODD = [
    "",
    "=1+1",
    "<b>",
    "'",
    '"',
    "; ",
    ",",
    "ß",
    "İ",
    "e\u0301",
    "\N{SNOWMAN}",
    "NULL",
    "*",
    "{a, b}",
    "[1, 2]",
    "\\",
]
METHODS: list[dict[str, Any]] = [
    {"name": "closeness_tree", "effort": "fast"},
    {"name": "closeness_tree", "effort": "balanced"},
    {"name": "closeness_tree", "effort": "fast", "overlap": "none"},
    {"name": "stack_and_deal"},
    {"name": "stack_and_deal", "deal": "round_robin"},
    {"name": "stack_and_deal", "deal": "layered"},
    {"name": "stack_and_deal", "stack_order": "value"},
    {"name": "fragmentation"},
    {"name": "fragmentation", "sizing": "measured"},
    {"name": "t_mondrian"},
    {"name": "t_incognito"},
    {"name": "microaggregation"},
    {"name": "microaggregation", "cells": "clusters"},
    {"name": "microaggregation", "cells": "first_component"},
    {"name": "sabre"},
]
RECURSIVE: list[dict[str, Any]] = [
    {"distinct": 2},
    {"entropy": 1.5},
    {"recursive": {"c": 3, "l": 2}},
]
L_OF = {"stack_and_deal": RECURSIVE, "t_incognito": RECURSIVE, "fragmentation": []}
"""What l each method makes; the others make a distinct one."""
COUNT_PEOPLE = ("closeness_tree", "t_mondrian", "t_incognito")
Draw = random.Random
Column = tuple[list[Any], dict[str, Any]]
"""Values, and settings of a quasi-identifier."""


@dataclass(frozen=True)
class Case:
    """A drawn table and its run file. quasi, sensitive: settings by column."""

    path: Path
    table: pa.Table
    quasi: dict[str, dict[str, Any]]
    sensitive: dict[str, dict[str, Any]]


def draw_case(seed: int, folder: Path) -> Case:
    """A case, written to the folder: its table, hierarchies and run file."""
    draw = random.Random(f"case {seed}")
    rows = draw.choice([12, 40, 120, 400, 900])
    kind = draw.choice(["csv", "parquet", "parquet", "delta"])
    names = draw.sample(NAMES if kind == "parquet" else PLAIN, 7)
    method = draw.choice(METHODS)
    columns, quasi, sensitive = {}, {}, {}
    for name in names[: draw.randint(1, 4)]:
        make = draw.choice(QUASI[:3] if kind == "csv" else QUASI)
        columns[name], quasi[name] = make(draw, rows, folder)
    for name in names[4 : 4 + (1 if method["name"] == "sabre" else draw.choice([1, 1, 2]))]:
        columns[name], sensitive[name] = draw_sensitive(draw, rows, folder, kind == "csv")
        if (made := L_OF.get(method["name"], [{"distinct": 2}])) and draw.random() < 0.2:
            sensitive[name]["l"] = draw.choice(made)
    columns[names[6]] = [f"{MARK}{draw.choice('abc')}" for _ in range(rows)]
    privacy: dict[str, Any] = {"k": min(draw.choice([2, 2, 3, 5, 12]), rows)}
    if draw.random() < 0.25:
        privacy["suppression_limit"] = draw.choice(["0.05", "0.3"])
        privacy["of"] = draw.choice(["input", "released"])
    if draw.random() < 0.15:
        privacy["nt"] = {"n": draw.choice([5, rows // 2 + 1, rows])}
    tree: dict[str, Any] = {
        "name": "drawn",
        "input": {"path": f"people.{kind}", "format": kind},
        "output": {"path": "out", "export": draw.choice([[], [], ["csv"], ["parquet", "csv"]])},
        "attributes": {
            "quasi_identifiers": quasi,
            "sensitive_attributes": sensitive,
            "insensitive_attributes": [names[6]] if draw.random() < 0.5 else [],
            "drop_others": True,
        },
        "privacy": privacy,
        "method": method,
    }
    if method["name"] in COUNT_PEOPLE and draw.random() < 0.2:
        columns["person"] = some(draw, [f"{MARK}{i}" for i in range(rows // 2 + 1)], rows)
        tree["attributes"]["person"] = {
            "column": "person",
            "rows": draw.choice(["together", "apart"]),
        }
    table = pa.table(columns)
    if kind == "csv":
        tree["input"]["options"] = {"header": "true"}
        pc.write_csv(table, folder / "people.csv")
    elif kind == "parquet":
        pq.write_table(table, folder / "people.parquet", row_group_size=draw.choice([7, 1000]))
    else:
        write_deltalake(folder / "people.delta", table)
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(tree, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return Case(path, table, quasi, sensitive)


def some(draw: Draw, values: Sequence[Any], rows: int, missing: float = 0.0) -> list[Any]:
    """Values drawn with a skew, some of them missing."""
    weights = [draw.random() ** 3 + 0.01 for _ in values]
    drawn = draw.choices(values, weights, k=rows)
    return [None if draw.random() < missing else value for value in drawn]


def draw_text(draw: Draw) -> str:
    """A text with blanks, quotes, letters of many scripts, formulas or tags, and MARK."""
    return f"{draw.choice(ODD)}{MARK}{''.join(draw.choices(string.ascii_letters, k=draw.randint(0, 3)))}"


def texts(draw: Draw, rows: int, _: Path) -> Column:
    """A category."""
    values = [*{draw_text(draw) for _ in range(draw.choice([1, 2, 5, 20]))}]
    settings = draw.choice(
        [{}, {"generalization": "set"}, {"hierarchy": {"prefix": 1}}, {"missing": "any"}],
    )
    return some(draw, sorted(values), rows, draw.choice([0, 0, 0.1])), settings


def trees(draw: Draw, rows: int, folder: Path) -> Column:
    """A category with a hierarchy in a file."""
    leaves = sorted(
        {draw_text(draw).strip("; \\") for _ in range(draw.choice([2, 5, 12]))},
    )  # a file has no blanks at ends
    groups = [f"group {draw.randint(0, 2)}" for _ in leaves]
    name = f"tree{draw.randrange(10**9)}.csv"
    quoted = ['"' + leaf.replace('"', '""') + '"' for leaf in leaves]
    text = "".join(f"{leaf};{group};*\n" for leaf, group in zip(quoted, groups, strict=True))
    (folder / name).write_text(text, encoding="utf-8")
    return some(draw, leaves, rows), {"hierarchy": name}


def integers(draw: Draw, rows: int, _: Path) -> Column:
    """Whole numbers, near each other or far apart."""
    most = draw.choice([1, 5, 90, 10**6, 2**40])
    values = [draw.randint(-most, most) for _ in range(draw.choice([1, 3, 40]))]
    settings: dict[str, Any] = draw.choice(
        [{}, {"numeric_output": "bounds"}, {"round_to": 5}, {"missing": "any"}],
    )
    missing = 0 if settings.get("numeric_output") else draw.choice([0, 0, 0.2])
    return some(draw, values, rows, missing), {"type": "numeric", **settings}


def doubles(draw: Draw, rows: int, _: Path) -> Column:
    """Numbers with a fraction, zeros of both signs, and the extremes."""
    values = [0.0, -0.0, 0.1, 1e-300, 1e300, *(draw.uniform(-5, 5) for _ in range(10))]
    return some(draw, draw.sample(values, draw.choice([1, 4, 9])), rows, 0.05), {"type": "numeric"}


def decimals(draw: Draw, rows: int, _: Path) -> Column:
    """Exact numbers of two places."""
    return some(draw, [Decimal(draw.randrange(10**6)) / 100 for _ in range(8)], rows), {
        "type": "numeric",
    }


def dates(draw: Draw, rows: int, _: Path) -> Column:
    """Days of some decades."""
    values = [
        date(1900, 1, 1) + timedelta(days=draw.randrange(50_000))
        for _ in range(draw.choice([1, 6, 60]))
    ]
    return some(draw, values, rows, 0.05), draw.choice(
        [{"type": "date"}, {"hierarchy": {"dates": ["month", "year"]}}],
    )


def times(draw: Draw, rows: int, _: Path) -> Column:
    """Moments."""
    values = [
        datetime(2000, 1, 1, tzinfo=UTC) + timedelta(microseconds=draw.randrange(10**16))
        for _ in range(9)
    ]
    return some(draw, values, rows), {"type": "timestamp"}


def truths(draw: Draw, rows: int, _: Path) -> Column:
    """True, false, missing."""
    return some(draw, [True, False], rows, 0.1), {}


QUASI: list[Callable[[Draw, int, Path], Column]] = [
    texts,
    trees,
    integers,
    doubles,
    decimals,
    dates,
    times,
    truths,
]


def draw_sensitive(draw: Draw, rows: int, folder: Path, as_text: bool) -> Column:
    """A sensitive attribute with its settings. as_text: its input holds text only."""
    t = draw.choice(["0.05", "0.15", "0.2", "0.3", "0.5", "0.9", "1", "1/3"])
    kind = draw.choice(["equal", "equal", "ordered", "hierarchical"])
    settings: dict[str, Any] = {"distance": kind, "t": t}
    if kind == "hierarchical":
        values, found = trees(draw, rows, folder)
        return values, {**settings, **found}
    if kind == "ordered" and not as_text:
        return some(
            draw,
            [draw.randint(-50, 50) for _ in range(draw.choice([1, 4, 40]))],
            rows,
        ), settings
    if kind == "ordered":
        listed = sorted({draw_text(draw).strip() for _ in range(5)} - {""})
        return some(draw, listed, rows), {**settings, "order": listed}
    return some(
        draw,
        sorted({draw_text(draw) for _ in range(draw.choice([1, 2, 6, 30]))}),
        rows,
        0.05,
    ), settings
