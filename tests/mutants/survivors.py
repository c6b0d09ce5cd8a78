"""The figures of the mutants, for docs/how-it-is-tested.md, and the reasons why survivors are
harmless.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import yaml
from tried import put_into_page, record

REASONS = Path(__file__).with_name("harmless.yaml")
BEGIN, END = "<!-- made from docs/tested.json -->\n", "<!-- end of survivors -->"

Z = 1.96
"""The deviations that hold 95 % of a normal distribution."""


def interval(killed: int, tried: int) -> tuple[float, float]:
    """Wilson's interval of 95 % for the share of all mutants that the tests kill."""
    share, n = killed / tried, tried
    middle, half = share + Z * Z / (2 * n), Z * sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return (middle - half) / (1 + Z * Z / n), (middle + half) / (1 + Z * Z / n)


def key_of(one: Mapping[str, Any]) -> tuple[str, str, str]:
    """The module and the changed lines: what stays the same if lines are added above."""
    return one["path"], one["before"], one["after"]


def report(found: Sequence[Mapping[str, Any]]) -> int:
    """Prints the figures of the tried mutants, and the survivors without a reason; 1 if there are
    any, else 0.

    If TCLOSE_RECORD is set and all have a reason, writes the figures into the docs, and the reasons
    that are left.
    """
    survived = [one for one in found if one["survived"]]
    groups = yaml.safe_load(REASONS.read_text())
    listed = {key_of(one) for group in groups for one in group["mutants"]}
    unlisted = [one for one in survived if key_of(one) not in listed]
    for one in unlisted:
        print(
            "\n"
            f"{one['path']}:{one['line']} survived {one['tests']} tests\n"
            f"- {one['before']}\n"
            f"+ {one['after']}",
        )
    tried = Counter(folder_of(one) for one in found)
    killed = Counter(folder_of(one) for one in found if not one["survived"])
    print(
        *(f"{folder}: {killed[folder]} of {n} killed" for folder, n in sorted(tried.items())),
        sep="\n",
    )
    print(summary(killed.total(), tried.total()))
    if "TCLOSE_RECORD" in os.environ and not unlisted:
        kept = {key_of(one) for one in survived}
        groups = [
            {**group, "mutants": [one for one in group["mutants"] if key_of(one) in kept]}
            for group in groups
        ]
        groups = [group for group in groups if group["mutants"]]
        REASONS.write_text(yaml.safe_dump(groups, sort_keys=False, allow_unicode=True, width=110))
        for folder, n in tried.items():
            record("mutants", folder, n, killed[folder])
        put_into_page(BEGIN, page_of(killed.total(), tried.total()), END)
    return 1 if unlisted else 0


def folder_of(one: Mapping[str, Any]) -> str:
    return str(one["path"]).split("/")[1]


def summary(killed: int, tried: int) -> str:
    low, high = interval(killed, tried)
    return (
        f"{killed:,} of {tried:,} mutants were killed: {killed / tried:.1%} (95 % interval "
        f"{low:.1%} to {high:.1%})."
    )


def page_of(killed: int, tried: int) -> str:
    """The figures as they are on the page."""
    return f"\n{summary(killed, tried)}\n\n"
