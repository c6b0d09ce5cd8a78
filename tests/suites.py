"""The suites that a change need not pass: their commands, and what their last runs found.

`make everything` runs each once and records it in docs/tested.json; docs/how-it-is-tested.md shows
the records. `make lint` names those that ran long ago: what nobody runs decays.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tried import PAGE, RECORDED, put_into_page

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("python3.11", "python3.12", "python3.13")

SUITES: dict[str, Sequence[str]] = {
    "test-clusters": (),
    "test-slow": (),
    "test-bounds": (),
    "chaos CHAOS_TRIALS=0.1": (),
    "test-connect": (),
    "test-local": (),
    "test-pipelines": (),
    "test-hive": (),
    "test-yarn": ("mvn",),
    "test-iceberg": ("mvn",),
    "test-s3": ("go",),
    "test-azure": ("npm",),
    "test-gcs": ("go", "mvn"),
    "test-airflow": (),
    "test-databricks": (),
    "test-connect SPARK=4.0": (),
    "test-clusters SPARK=4.0": (),
    "test-wheel": PYTHONS,
    "test-matrix": PYTHONS,
    "fuzz FUZZ_SECONDS=120": (),
    "fuzz-parsers FUZZ_SECONDS=120": (),
    "lint-images": (),
    "test-image": ("buildah", "debootstrap"),
    "test-spark PART=1/4": (),
    "test-spark PART=2/4": (),
    "test-spark PART=3/4": (),
    "test-spark PART=4/4": (),
}
"""The programs that each suite needs, by the arguments of make that run it. `make mutants` is none
of them: it finds a share, and some mutants always survive.
"""

MOST_COMMITS = 200
"""The age of a record, in commits, up to which lint is silent."""

BEGIN, END = "<!-- suites: made from docs/tested.json -->\n", "<!-- end of suites -->"
WRITTEN = [str(file.relative_to(ROOT)) for file in (RECORDED, PAGE)]
"""What records change."""
SUMMARY = re.compile(r"^(?:=+ )?(\d+ [a-z]+(?:, \d+ [a-z]+)*) in \d[\d.]*s", re.MULTILINE)
"""The last line of a run of pytest."""
NOT_MADE = re.compile(r"^make.* (\S+)/\.ready\] Error", re.MULTILINE)
"""What make writes if it cannot make an environment."""
STOPPED = re.compile(r"^make.*\] (Killed|Terminated|Interrupt|Hangup)", re.MULTILINE)
"""What make writes if a signal ends a command."""

Ran = Mapping[str, Any]
"""The record of a run: its commit and date; how many tests passed, failed and were skipped, or why
it cannot run.
"""


def main(arguments: Sequence[str]) -> int:
    """Runs the suites that the arguments name (see `is_chosen`); 1 if one fails, 2 if nothing can
    be recorded, or a word names no suite.
    """
    if arguments == ["--old"]:
        for line in old_ones(json.loads(RECORDED.read_text())["suites"]):
            print(line)
        return 0
    words = " ".join(arguments).split()
    chosen = [suite for suite in SUITES if is_chosen(suite, words)]
    targets = {suite.split()[0] for suite in chosen}
    unknown = [word for word in words if "=" not in word and word not in targets]
    if unknown or not chosen:
        print(f"no suite is {' or '.join(unknown or words)}; expected some of: {', '.join(SUITES)}")
        return 2
    changed = git(
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        ".",
        *(f":!{file}" for file in WRITTEN),
    )
    if changed != "":
        print(
            f"commit first: a record names the commit that ran\n{changed or 'there is no commit'}",
        )
        return 2
    failed = 0
    for suite in chosen:
        ran = run(suite, SUITES[suite])
        if ran is None:
            print(f"make {suite}: was stopped, so its record stays as it was", flush=True)
            return 1
        record(suite, ran)
        print(row_of(suite, ran), flush=True)
        failed += ran.get("failed", 0)
    return 1 if failed else 0


def is_chosen(suite: str, words: Sequence[str]) -> bool:
    """Whether words name a suite: its target, and no other value of its settings. Without words,
    all suites are chosen.
    """
    target, *settings = suite.split()
    own = dict(setting.split("=", 1) for setting in settings)
    given = dict(word.split("=", 1) for word in words if "=" in word)
    agree = all(given.get(name, value) == value for name, value in own.items())
    return not words or (target in words and agree)


def git(*arguments: str) -> str | None:
    """What git prints; None if it fails, or there is no git."""
    if shutil.which("git") is None:
        return None
    done = subprocess.run(
        ["git", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() if done.returncode == 0 else None


def run(suite: str, needs: Sequence[str]) -> Ran | None:
    """The record of a suite that runs now; None if someone stopped it. Its output is in
    build/everything.
    """
    begun = {
        "commit": git("rev-parse", "--short=12", "HEAD"),
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
    }
    missing = [program for program in needs if shutil.which(program) is None]
    if missing:
        return {**begun, "cannot run": f"no {' and no '.join(missing)}"}
    log = ROOT / "build/everything" / f"{re.sub('[ /]', '-', suite)}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    env = {**os.environ, "PYTEST_ADDOPTS": "-ra"}  # the log has the reasons of skipped tests
    with log.open("w") as out:
        # figures of docs/tested.json come from complete runs, not from a tenth of one
        command = ["make", *suite.split(), "RECORD="]
        code = subprocess.run(
            command,
            cwd=ROOT,
            env=env,
            stdout=out,
            stderr=out,
            check=False,
        ).returncode
    output = log.read_text()
    return None if code != 0 and STOPPED.search(output) else {**begun, **found_in(output, code)}


def found_in(output: str, code: int) -> dict[str, Any]:
    """What a suite found, by its output and exit code. A suite without pytest counts as one
    test.
    """
    if code != 0 and (environment := NOT_MADE.search(output)):
        return {"cannot run": f"make cannot build {environment[1]}"}
    counts: Counter[str] = Counter()
    for summary in SUMMARY.findall(output):
        for count in summary.split(", "):
            number, what = count.split()
            counts[what.removesuffix("s")] += int(number)
    if code == 0 and not counts:
        counts["passed"] = 1
    failed = counts["failed"] + counts["error"] or int(code != 0)
    return {"passed": counts["passed"], "failed": failed, "skipped": counts["skipped"]}


def record(suite: str, ran: Ran) -> None:
    """Writes a record into the file, and its row into the page."""
    known = json.loads(RECORDED.read_text())
    known.setdefault("suites", {})[suite] = dict(ran)
    RECORDED.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    put_into_page(BEGIN, table_of(known["suites"]), END)


def table_of(suites: Mapping[str, Ran]) -> str:
    """The records as a table of the page."""
    head = ["| suite | passed | failed | skipped | commit | date |", "|---|---|---|---|---|---|"]
    rows = [row_of(suite, suites[suite]) for suite in SUITES if suite in suites]
    return "\n".join(["", *head, *rows, "", ""])


def row_of(suite: str, ran: Ran) -> str:
    if "cannot run" in ran:
        found = f"cannot run: {ran['cannot run']} | |"
    else:
        found = " | ".join(f"{ran[what]:,}" for what in ("passed", "failed", "skipped"))
    return f"| `make {suite}` | {found} | {ran['commit']} | {ran['date'].split()[0]} |"


def old_ones(suites: Mapping[str, Ran]) -> list[str]:
    """A line for each suite that has no record or an old one, and one for those whose commit is
    unknown here.
    """
    lines, unknown = [], []
    for suite in SUITES:
        if suite not in suites:
            lines.append(
                f'make {suite}: has no record; `make everything SUITES="{suite}"` makes one',
            )
            continue
        ran = suites[suite]
        age = git("rev-list", "--count", f"{ran['commit']}..HEAD")
        if age is None:
            unknown.append(suite)
            age = git("rev-list", "--count", f"--since={ran['date']} +0000", "HEAD")
        if age is not None and int(age) > MOST_COMMITS:
            lines.append(
                f'make {suite}: ran {age} commits ago; `make everything SUITES="{suite}"` runs it',
            )
    if unknown:
        lines.append(
            "not in this history, so counted from their dates, are the commits of: "
            f"{', '.join(unknown)}",
        )
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
