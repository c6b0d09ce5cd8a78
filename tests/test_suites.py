"""The records of suites: what is counted, what cannot run, and what lint names."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import suites
import tried
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parent.parent
OUTCOMES = (
    "passed",
    "failed",
    "skipped",
    "deselected",
    "warning",
    "warnings",
    "error",
    "errors",
    "xfailed",
)


def summary_of(counts: dict[str, int], bars: bool) -> str:
    """The last line of pytest, with or without its bars."""
    line = ", ".join(f"{number} {what}" for what, number in counts.items()) + " in 12.34s"
    return f"===== {line} (0:00:12) =====\n" if bars else f"{line}\n"


@given(
    st.lists(
        st.dictionaries(st.sampled_from(OUTCOMES), st.integers(1, 5000), min_size=1),
        min_size=1,
        max_size=3,
    ),
    st.booleans(),
)
def test_counts_are_summed_over_all_runs_of_pytest_in_a_suite(
    runs: list[dict[str, int]],
    bars: bool,
) -> None:
    output = "a test printed: 3 passed\n".join(["", *(summary_of(counts, bars) for counts in runs)])
    wrong = ("failed", "error", "errors")
    expected = {
        "passed": sum(counts.get("passed", 0) for counts in runs),
        "failed": sum(counts.get(what, 0) for counts in runs for what in wrong),
        "skipped": sum(counts.get("skipped", 0) for counts in runs),
    }
    assert suites.found_in(output, 1 if expected["failed"] else 0) == expected


@pytest.mark.parametrize(
    ("output", "code", "found"),
    [
        ("== 3.11.7: one fingerprint\n", 0, {"passed": 1, "failed": 0, "skipped": 0}),
        ("== 3.11.7: two fingerprints\n", 1, {"passed": 0, "failed": 1, "skipped": 0}),
        (
            "5 passed in 1.00s\nthe second part does not begin\n",
            2,
            {"passed": 5, "failed": 1, "skipped": 0},
        ),
        (
            "make[1]: *** [Makefile:9: .venv-s3/.ready] Error 1\n",
            2,
            {"cannot run": "make cannot build .venv-s3"},
        ),
    ],
)
def test_a_suite_counts_by_its_exit_code_where_pytest_counts_nothing(
    output: str,
    code: int,
    found: dict[str, object],
) -> None:
    assert suites.found_in(output, code) == found


def test_each_suite_of_make_that_a_change_need_not_pass_is_one_of_them() -> None:
    targets = re.findall(
        r"^((?:test|lint|fuzz|chaos)[a-z0-9-]*):.*##",
        (ROOT / "Makefile").read_text(),
        re.M,
    )
    always = re.findall(r"^make (\S+)$", (ROOT / ".ci/run").read_text(), re.M)
    assert {suite.split()[0] for suite in suites.SUITES} == set(targets) - {*always, "tested"}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with suites of its own: one that passes, one that fails, and two that cannot
    run.
    """
    monkeypatch.setattr(suites, "ROOT", tmp_path)
    monkeypatch.setattr(suites, "RECORDED", tmp_path / "docs/tested.json")
    monkeypatch.setattr(tried, "PAGE", tmp_path / "docs/how-it-is-tested.md")
    monkeypatch.setattr(
        suites,
        "SUITES",
        {"good": (), "bad X=1": (), "unbuilt": (), "unequipped": ("no-such-program",)},
    )
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/tested.json").write_text('{"suites": {}}')
    (tmp_path / "docs/how-it-is-tested.md").write_text(
        f"before\n{suites.BEGIN}{suites.END}\nafter\n",
    )
    (tmp_path / "Makefile").write_text(
        "good:\n\t@echo 4 passed, 2 skipped in 0.10s\n"
        "bad:\n\t@echo 1 passed, $(X) failed in 0.10s; false\n"
        "unbuilt: .venv-x/.ready\n"
        ".venv-x/.ready:\n\t@false\n"
        "unequipped:\n\t@touch was-run\n",
    )
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    commit(tmp_path)
    return tmp_path


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=a test", "-c", "user.email=test@example.org")
    env = {**os.environ, "GIT_COMMITTER_DATE": "2020-01-01 00:00 +0000"}
    done = subprocess.run(
        ["git", *who, *arguments],
        cwd=folder,
        env=env,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def commit(folder: Path) -> None:
    """A commit of 2020."""
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "a change")


def test_suites_are_run_and_recorded(repository: Path) -> None:
    assert suites.main([]) == 1
    records = json.loads((repository / "docs/tested.json").read_text())["suites"]
    head = git(repository, "rev-parse", "--short=12", "HEAD").strip()
    assert {ran["commit"] for ran in records.values()} == {head}
    found = {
        suite: {what: n for what, n in ran.items() if what not in ("commit", "date")}
        for suite, ran in records.items()
    }
    assert found == {
        "good": {"passed": 4, "failed": 0, "skipped": 2},
        "bad X=1": {"passed": 1, "failed": 1, "skipped": 0},
        "unbuilt": {"cannot run": "make cannot build .venv-x"},
        "unequipped": {"cannot run": "no no-such-program"},
    }
    assert not (repository / "was-run").exists()
    page = (repository / "docs/how-it-is-tested.md").read_text()
    assert page == f"before\n{suites.BEGIN}{suites.table_of(records)}{suites.END}\nafter\n"
    assert f"| `make good` | 4 | 0 | 2 | {head} |" in page
    assert "| `make unequipped` | cannot run: no no-such-program |" in page


def test_one_suite_of_all_is_run(repository: Path) -> None:
    assert suites.main(["good"]) == 0
    assert json.loads((repository / "docs/tested.json").read_text())["suites"].keys() == {"good"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("parted PART=2/2", ["parted PART=2/2"]),
        ("parted", ["parted PART=1/2", "parted PART=2/2"]),
        ("good PART=2/2", ["good"]),
    ],
)
def test_a_part_of_a_suite_is_run_and_recorded(
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: str,
    expected: list[str],
) -> None:
    parts = dict.fromkeys(["good", "parted PART=1/2", "parted PART=2/2"], ())
    monkeypatch.setattr(suites, "SUITES", parts)
    with (repository / "Makefile").open("a") as makefile:
        makefile.write("parted:\n\t@echo 3 passed in 0.10s\n")
    git(repository, "add", "--all")
    commit(repository)
    assert suites.main(words.split()) == 0
    assert [*json.loads((repository / "docs/tested.json").read_text())["suites"]] == expected
    logs = {path.name for path in (repository / "build/everything").glob("*.log")}
    assert logs == {f"{suite.replace(' ', '-').replace('/', '-')}.log" for suite in expected}


@pytest.mark.parametrize("words", ["god", "good god", "bad X=2", "X=1"])
def test_words_that_name_no_suite_run_none(
    repository: Path,
    capsys: pytest.CaptureFixture[str],
    words: str,
) -> None:
    assert suites.main(words.split()) == 2
    assert "no suite is" in capsys.readouterr().out
    assert json.loads((repository / "docs/tested.json").read_text())["suites"] == {}


def test_nothing_is_run_on_changes_that_no_commit_has(
    repository: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (repository / "Makefile").write_text("good:\n\t@touch was-run\n")
    assert suites.main([]) == 2
    assert "Makefile" in capsys.readouterr().out
    assert not (repository / "was-run").exists()


@pytest.mark.parametrize("signal", ["KILL", "TERM", "INT"])
def test_a_suite_that_is_stopped_has_no_record(repository: Path, signal: str) -> None:
    (repository / "Makefile").write_text(f"good:\n\t@echo 1 failed in 0.10s; kill -{signal} $$$$\n")
    git(repository, "add", "--all")
    commit(repository)
    assert suites.main([]) == 1
    assert json.loads((repository / "docs/tested.json").read_text())["suites"] == {}


@pytest.mark.parametrize("later", [2, 3])
def test_lint_names_a_suite_that_ran_too_many_commits_ago(
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    later: int,
) -> None:
    suites.main(["good"])
    monkeypatch.setattr(suites, "MOST_COMMITS", 2)
    for _ in range(later):
        commit(repository)
    capsys.readouterr()
    assert suites.main(["--old"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert ('make good: ran 3 commits ago; `make everything SUITES="good"` runs it' in lines) == (
        later == 3
    )
    assert 'make bad X=1: has no record; `make everything SUITES="bad X=1"` makes one' in lines


@pytest.mark.parametrize(("date", "age"), [("2019-12-31 23:59", 4), ("2020-01-01 00:01", 0)])
def test_a_commit_that_this_clone_lacks_is_said_and_its_date_counts(
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    date: str,
    age: int,
) -> None:
    monkeypatch.setattr(suites, "MOST_COMMITS", 1)
    for _ in range(3):
        commit(repository)
    records = {suite: {"commit": "0123456789ab", "date": date} for suite in suites.SUITES}
    lines = suites.old_ones(records)
    assert lines[-1].endswith("good, bad X=1, unbuilt, unequipped")
    assert [line for line in lines if f"ran {age} commits ago" in line] == lines[:-1]
    assert len(lines) == (5 if age else 1)


def test_without_a_history_nothing_is_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suites, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    records = {
        suite: {"commit": "0123456789ab", "date": "2000-01-01 00:00"} for suite in suites.SUITES
    }
    assert len(suites.old_ones(records)) == 1
