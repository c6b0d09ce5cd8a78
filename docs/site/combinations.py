"""The tables of docs/known-limits.md, from the rules of the run file: run this module to write them
into the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tclose_spark.runfile.combinations import A_T, OF_RUN, SENSITIVE, Exclusion, Need

PAGE = Path(__file__).resolve().parent.parent / "known-limits.md"
TABLE = re.compile(r"(?<=<!-- combinations -->\n).*?(?=\n<!-- end -->)", re.DOTALL)
"""What is between the two comments of the page."""
EXPLAINED = {
    "output.after": "every_month.md#what-a-line-needs",
    "attributes.person": "people.md#together-or-apart",
    "attributes.household": "population.md#households",
    "release.form": "forms.md#what-does-not-fit",
    "attributes.sensitive_attributes.*.domain": "reference/run_file.md#bins-of-equal-width-and-equal-steps",
    "privacy.joint": "several.md#close-together",
    "attributes.quasi_identifiers.*.missing: any": "reference/run_file.md#missing-values",
}
"""The place of a key in the documentation."""
OWN_NAMES = {
    f"{SENSITIVE}.brought": "requirements of other packages",
    A_T: A_T,
    "privacy.suppression_limit with cuts_regions": "`privacy.suppression_limit`, with a method that cuts regions",
}
"""What the rules say of keys that a run file does not have."""


def with_tables(page: str) -> str:
    """The page with the tables that the rules make."""
    return TABLE.sub(lambda _: "\n".join(_lines()), page)


def _lines() -> Iterator[str]:
    """A row for each rule, first those that exclude."""
    yield from ("", "| key | does not go with | because |", "|---|---|---|")
    for rule in OF_RUN:
        if isinstance(rule, Exclusion):
            yield f"| {_keys(rule.keys)} | {_keys(rule.others)} | {_reason(rule.reason)} |"
    yield from ("", "| key | needs | because |", "|---|---|---|")
    for rule in OF_RUN:
        if isinstance(rule, Need):
            yield f"| {_keys(rule.keys)} | {_keys(rule.others)} | {_reason(rule.reason)} |"
    yield ""


def _keys(keys: Iterable[str]) -> str:
    return ", ".join(map(_key, keys))


def _key(key: str) -> str:
    if key in OWN_NAMES:
        return OWN_NAMES[key]
    shown = " with ".join(f"`{part}`" for part in key.split(" with "))
    return f"[{shown}]({EXPLAINED[key]})" if key in EXPLAINED else shown


def _reason(reason: str) -> str:
    return reason.rpartition("since ")[2]


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text()))
