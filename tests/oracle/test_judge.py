"""The second implementation accepts a release as it is, and refuses what breaks a promise."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import pandas as pd
import pytest
from people import PEOPLE, read

from oracle.judge import judge


def changed(output: Path, change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    """Replaces the rows of a release."""
    release = output / "public/release"
    deltalake.write_deltalake(str(release), change(read(release)), mode="overwrite")


def in_certificate(output: Path, *path: str, value: Any) -> None:
    file = output / "public/certificate.json"
    holder = whole = json.loads(file.read_text())
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    file.write_text(json.dumps(whole))


BROKEN: dict[str, tuple[Callable[[Path], None], str]] = {
    "k": (
        lambda it: in_certificate(it, "guarantees", "k", "required", value=50),
        "a class has 5 rows|has 6 rows",
    ),
    "k achieved": (
        lambda it: in_certificate(it, "guarantees", "k", "achieved", value=50),
        "the certificate says",
    ),
    "t": (
        lambda it: in_certificate(
            it,
            "guarantees",
            "t",
            "disease",
            "required_exact",
            value="1/1000",
        ),
        "disease: a class is .* from the table, more than 1/1000",
    ),
    "t achieved": (
        lambda it: in_certificate(
            it,
            "guarantees",
            "t",
            "disease",
            "achieved_exact",
            value="1/1000",
        ),
        "the certificate says",
    ),
    "l": (
        lambda it: in_certificate(
            it,
            "guarantees",
            "l",
            "disease",
            "distinct",
            "required",
            value=4,
        ),
        "disease: a class has distinct l 3, less than 4",
    ),
    "regions": (
        lambda it: in_certificate(it, "regions", value="disjoint"),
        "the regions of .* meet",
    ),
    "a label beside the people": (
        lambda it: changed(it, lambda rows: rows.assign(age="[90, 99]")),
        "48 released rows cover no row",
    ),
    "a label of another branch": (
        lambda it: changed(it, lambda rows: rows.assign(city="France")),
        "released rows cover no row",
    ),
    "a row twice": (
        lambda it: changed(it, lambda rows: pd.concat([rows, rows[:1]], ignore_index=True)),
        "1 released rows cover no row",
    ),
    "a value swapped": (
        lambda it: changed(
            it,
            lambda rows: rows.assign(disease=[*rows["disease"][1:], rows["disease"][0]]),
        ),
        "the certificate says|cover no row",
    ),
}


def test_a_release_as_it_is(finished: Path) -> None:
    assert judge(finished / "public", PEOPLE, ["region"]) == []


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_refused(output: Path, name: str) -> None:
    damage, expected = BROKEN[name]
    damage(output)
    found = " | ".join(judge(output / "public", PEOPLE, ["region"]))
    assert pd.Series([found]).str.contains(expected).all(), found
