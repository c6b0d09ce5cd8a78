"""What tables of damages and of hostile inputs tried and found: `docs/tested.json`.

`make tested` records the figures again. Other runs compare how many were tried, so the file cannot be out of date.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

RECORDED = Path(__file__).resolve().parent.parent / "docs/tested.json"


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
            known = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
            known.setdefault(self.part, {})[self.what] = {"tried": len(self.cases), "found": len(self._found)}
            RECORDED.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
        recorded = json.loads(RECORDED.read_text())[self.part][self.what]
        assert recorded == {"tried": len(self.cases), "found": len(self.cases)}
