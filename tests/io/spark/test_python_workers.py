"""Python workers: texts are made of values in the same way on Spark 4.1 and on 4.0; modules cost a task nothing."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from tclose_spark.io.spark.capabilities import MAPS_ARROW
from tclose_spark.io.spark.workers import by_arrow, by_value, freeze_modules
from tclose_spark.runfile.attributes import Text
from tclose_spark.table.writing import write_number

WAYS = [pytest.param(by_arrow, marks=pytest.mark.skipif(not MAPS_ARROW, reason="came with Spark 4.1")), by_value]
FOLDED = Text(strip=True, case="fold", normal_form="NFC").of
CASES: dict[str, tuple[str, Callable[[Any], str], list[Any], list[str | None]]] = {
    "long integers beside NULL": (
        "bigint",
        write_number,
        [2**53 + 1, None, -(2**63), 0],
        ["9007199254740993", None, "-9223372036854775808", "0"],
    ),
    "doubles, NaN and NULL": ("double", write_number, [39.0, None, 0.1, float("nan")], ["39", None, "0.1", "nan"]),
    "texts like missing values": (
        "string",
        FOLDED,
        [" NaN", None, "None ", "", "  ", "nan", "NULL", "<NA>"],
        ["nan", None, "none", "", "", "nan", "null", "<na>"],
    ),
    "texts beyond ASCII": (
        "string",
        FOLDED,
        ["e\u0301", "\u00c9", "\U0001f600 ", "Stra\u00dfe"],
        ["\u00e9", "\u00e9", "\U0001f600", "strasse"],
    ),
    "NULL only": ("string", FOLDED, [None, None], [None, None]),
    "no rows": ("string", FOLDED, [], []),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("way", WAYS)
def test_texts_are_made_of_values(spark: SparkSession, way: Callable[..., Column], case: str) -> None:
    kind, text_of, values, texts = CASES[case]
    table = spark.createDataFrame(list(enumerate(values)), f"place int, value {kind}").repartition(3)
    made = table.select("place", way(F.col("value"), text_of).alias("text"))
    assert made.schema["text"].dataType.simpleString() == "string"
    assert [row.text for row in sorted(made.collect())] == texts


@pytest.mark.parametrize("way", WAYS)
def test_several_columns_and_other_expressions_go_together(spark: SparkSession, way: Callable[..., Column]) -> None:
    table = spark.createDataFrame([(" A", 2.0, 1), (None, None, 2)], "name string, size double, place int")
    made = table.select(
        way(F.col("name"), FOLDED).alias("name"),
        F.coalesce(way(F.col("size"), write_number), F.lit("?")).alias("size"),
        F.col("place") + 1,
    )
    assert sorted(map(tuple, made.collect()), key=lambda row: row[2]) == [("a", "2", 2), (None, "?", 3)]


def test_the_garbage_collector_skips_modules_once_they_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        monkeypatch.setitem(sys.modules, "loaded_first", ModuleType("loaded_first"))
        freeze_modules()
        frozen = gc.get_freeze_count()
        assert frozen > 10_000
        made = [[] for _ in range(100)]  # of a task; not frozen, so that cycles of tasks are collected
        freeze_modules()
        assert gc.get_freeze_count() <= frozen
        monkeypatch.setitem(sys.modules, "loaded_later", ModuleType("loaded_later"))
        freeze_modules()
        assert gc.get_freeze_count() > frozen + len(made) / 2
    finally:
        gc.unfreeze()
