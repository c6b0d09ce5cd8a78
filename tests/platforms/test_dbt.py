"""The project of conf/dbt under a real dbt: a table that fails its audit is not published (`make
test-pipelines`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tclose_spark as tc

ROOT = Path(__file__).resolve().parents[2]
DBT = ROOT / ".venv-pipelines/bin/dbt"
QUESTION = [
    "--quasi-identifiers",
    "age,sex",
    "--sensitive",
    "disease:equal",
    "--k",
    "10",
    "--t",
    "0.4",
    "--no-attacks",
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DBT.is_file(), reason="made by make test-pipelines"),
]


def run(folder: Path, *command: object) -> subprocess.CompletedProcess[str]:
    """A command in the project, whose people are those of the folder."""
    env = {
        **os.environ,
        "TCLOSE_PEOPLE": "people.parquet",
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    }
    return subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def build(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return run(folder, DBT, "--no-use-colors", "build", *options)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, built with a table that holds."""
    folder = tmp_path_factory.mktemp("dbt") / "project"
    shutil.copytree(ROOT / "conf/dbt", folder)
    (folder / "target").mkdir()
    pq.write_table(tc.generate(2000), folder / "people.parquet")
    done = build(folder)
    assert done.returncode == 0, done.stdout
    assert "PASS=3 WARN=0 ERROR=0 SKIP=0" in done.stdout
    return folder


def test_a_table_that_holds_is_published(project: Path) -> None:
    found = tc.audit(
        project / "target/published.parquet",
        ["age", "sex"],
        ["disease"],
        k=10,
        attacks=False,
    )
    assert found.holds
    assert (found.figures.rows, found.figures.classes) == (2000, 8)


def test_one_that_does_not_hold_fails_the_build_and_is_not_published(project: Path) -> None:
    before = (project / "target/published.parquet").read_bytes()
    done = build(project, "--vars", "{width: 1}")
    assert done.returncode == 1, done.stdout
    assert "PASS=1 WARN=0 ERROR=1 SKIP=1" in done.stdout
    assert "generalized may not be published: the table: 2,000 rows in 122 classes" in done.stdout
    assert "sex='" not in done.stdout  # which a worst class would show
    assert (project / "target/published.parquet").read_bytes() == before


def test_the_step_after_a_build_fails_with_the_audit(project: Path) -> None:
    audit = [ROOT / ".venv-pipelines/bin/tclose", "audit"]
    assert run(project, *audit, "target/published.parquet", *QUESTION).returncode == 0
    done = run(project, *audit, "people.parquet", *QUESTION, "--no-labels")
    assert done.returncode == 1
    assert (
        "people.parquet does not meet the requirements: k-anonymity, t-closeness of disease"
        in done.stderr
    )


BY_ROWS = [  # age, sex, disease and rows: two classes of four rows, a quarter of each apart from the whole
    (5, "f", "flu", 2),
    (5, "f", "gout", 1),
    (5, "f", None, 1),
    (25, None, "flu", 4),
]


@pytest.mark.parametrize(
    ("settings", "failed"),
    [
        ("k: 4, t: '0.25'", []),
        ("k: 5, t: '0.25'", ["k_anonymity"]),
        ("k: 4, t: '0.249'", ["t_closeness"]),
        ("k: 5, t: '0'", ["k_anonymity", "t_closeness"]),
    ],
)
def test_generic_tests_are_those_of_an_audit(
    project: Path,
    settings: str,
    failed: list[str],
) -> None:
    rows = [row[:3] for row in BY_ROWS for _ in range(row[3])]
    ages, sexes, diseases = zip(*rows, strict=True)
    table = pa.table({"age": ages, "sex": sexes, "disease": diseases})
    found = tc.audit(table, ["age", "sex"], {"disease": "equal"}, engine="local", attacks=False)
    assert [str(g.achieved) for g in found.guarantees[:2]] == ["4", "1/4"]
    assert generic_tests(project, table, settings) == failed


def test_generic_tests_fail_on_an_empty_table(project: Path) -> None:
    table = pa.table(
        {
            "age": pa.array([], pa.int64()),
            "sex": pa.array([], pa.string()),
            "disease": pa.array([], "string"),
        },
    )
    assert generic_tests(project, table, "k: 2, t: '1'") == ["k_anonymity", "t_closeness"]


def generic_tests(project: Path, table: pa.Table, settings: str) -> list[str]:
    """The tests that fail of a table of people."""
    people = project / "people.parquet"
    kept = people.read_bytes()
    pq.write_table(table, people)
    done = build(project, "--select", "generalized", "--vars", f"{{sql_tests: true, {settings}}}")
    people.write_bytes(kept)
    named = [
        name
        for name in ("k_anonymity", "t_closeness")
        if f"Failure in test tclose_{name}_generalized" in done.stdout
    ]
    passed = 3 - len(named)
    assert f"PASS={passed} WARN=0 ERROR={len(named)} SKIP=0" in done.stdout, done.stdout
    assert done.returncode == bool(named)
    return named
