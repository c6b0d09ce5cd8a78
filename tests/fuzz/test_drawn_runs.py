"""Drawn runs: a few seeds in each test run, and by the hour with `make fuzz`. Seeds that failed
once stay in SEEDS.
"""

from __future__ import annotations

import json
import os
import time
import traceback
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from drawn_cases import draw_case
from judged_cases import problems_of
from tried import record

QUICK, MORE = 6, 25
REFUSED = {1, 2, 16, 17, 20}
FOUND = Path(__file__).with_name("seeds.json")
SEEDS: list[int] = json.loads(FOUND.read_text())


@pytest.mark.parametrize(
    "seed",
    [
        *range(QUICK),
        *(pytest.param(seed, marks=pytest.mark.more) for seed in range(QUICK, MORE)),
        *SEEDS,
    ],
)
def test_a_drawn_run_holds_or_is_refused(seed: int, tmp_path: Path) -> None:
    problems = problems_of(draw_case(seed, tmp_path))
    assert not problems
    assert (problems is None) == (seed in REFUSED)


@pytest.mark.skipif("FUZZ_SECONDS" not in os.environ, reason="make fuzz")
def test_drawn_runs_by_the_hour() -> None:
    """FUZZ_SECONDS of cases from FUZZ_FIRST on. build/fuzz.json has the seeds that failed,
    and why.
    """
    first, end = (
        int(os.environ.get("FUZZ_FIRST", "1000")),
        time.monotonic() + float(os.environ["FUZZ_SECONDS"]),
    )
    released = refused = 0
    failed: dict[int, str] = {}
    seed = first
    while time.monotonic() < end:
        with TemporaryDirectory() as folder:
            try:
                problems = problems_of(draw_case(seed, Path(folder)))
            except Exception:
                problems = [traceback.format_exc()]
        released += problems == []
        refused += problems is None
        if problems:
            failed[seed] = "\n".join(problems)
        seed += 1
    report = Path(__file__).resolve().parents[2] / "build/fuzz.json"
    report.parent.mkdir(exist_ok=True)
    report.write_text(json.dumps(failed, indent=1) + "\n")
    if "TCLOSE_RECORD" in os.environ:
        record("drawn runs", "released and judged, or refused", seed - first, released + refused)
    assert not failed, f"{len(failed)} of {seed - first} cases, see {report}"
