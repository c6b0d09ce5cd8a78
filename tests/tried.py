"""What was tried, and how much of it ended as required: `docs/tested.json`, and its table in
docs/how-it-is-tested.md. The file also has the records of suites (`suites.py`).

`make tested`, `make chaos` and `make fuzz` record the figures again. Other runs compare how many
damages and inputs were tried, so the file cannot be out of date.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

RECORDED = Path(__file__).resolve().parent.parent / "docs/tested.json"


PAGE = RECORDED.with_name("how-it-is-tested.md")
BEGIN, END = "<!-- figures: made from docs/tested.json -->\n", "<!-- end of figures -->"
COMMANDS = {
    "damages": "make tested",
    "hostile inputs": "make tested",
    "faults": "make chaos",
    "drawn runs": "make fuzz",
    "mutants": "make mutants",
}


def record(part: str, what: str, tried: int, as_required: int) -> None:
    """Writes figures into the file, and its table into the page."""
    known = json.loads(RECORDED.read_text())
    known.setdefault(part, {})[what] = {"tried": tried, "as required": as_required}
    RECORDED.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    put_into_page(BEGIN, table_of(known), END)


def put_into_page(begin: str, text: str, end: str) -> None:
    """Replaces what the page has between two marks."""
    before, _, rest = PAGE.read_text().partition(begin)
    PAGE.write_text(f"{before}{begin}{text}{end}{rest.partition(end)[2]}")


def table_of(known: Mapping[str, Mapping[str, Mapping[str, int]]]) -> str:
    """The figures as a table of the page: a line for each part. The file has their kinds."""
    rows = ["| what | tried | as required | again |", "|---|---|---|---|"]
    for part, command in sorted(COMMANDS.items()):
        tried, good = (
            sum(one[what] for one in known[part].values()) for what in ("tried", "as required")
        )
        rows.append(f"| {part} | {tried:,} | {good:,} | `{command}` |")
    return "\n".join(["", *rows, "", ""])


class Tried:
    """The cases of one table, and those that were found so far.

    part, what: the keys of the figures in the file.
    """

    def __init__(self, part: str, what: str, cases: Iterable[str]) -> None:
        self.part, self.what, self.cases = part, what, set(cases)
        self._found: set[str] = set()

    def found(self, case: str) -> None:
        """Counts a case; called when all that its test requires holds."""
        assert case in self.cases
        self._found.add(case)

    def compare(self) -> None:
        """Compares the figures with the recorded ones, or records them if TCLOSE_RECORD is set."""
        if "TCLOSE_RECORD" in os.environ:
            assert self._found == self.cases, "record from a run of all cases that passed"
            record(self.part, self.what, len(self.cases), len(self._found))
        recorded = json.loads(RECORDED.read_text())[self.part][self.what]
        assert recorded == {"tried": len(self.cases), "as required": len(self.cases)}
