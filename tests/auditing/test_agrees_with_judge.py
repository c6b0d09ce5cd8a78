"""Real tables: what the audit finds is what an oracle of pandas and fractions finds, and, where the
environment variable TCLOSE_JUDGE names the outside judge's script, what that finds in the files of
a release.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
import yaml

from tclose_spark import pipeline
from tclose_spark.auditing.audit import audit_table
from tclose_spark.auditing.question import (
    AuditQuestion,
    question_from_columns,
    question_from_run_file,
)
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.engine.protocol import Session
from tclose_spark.engine.tables import collect, of_arrow, read_delta
from tclose_spark.io.run import Run
from tclose_spark.runfile.loading import expand, load_spec

ROOT = Path(__file__).resolve().parents[2]
QUASI = ["workclass", "education", "native-country", "marital-status", "race", "sex"]
Paths = Mapping[str, list[str]]

# heights to which QUASI are generalized, and the width of intervals of age
RELEASES = {
    "fine": ([0, 1, 1, 1, 0, 0], 20),
    "coarse": ([1, 2, 1, 1, 1, 0], 40),
    "coarsest": ([2, 3, 2, 2, 1, 1], 100),
}


def read_paths(data: Path, column: str) -> Paths:
    """Leaf to root, by leaf."""
    lines = (data / f"adult/hierarchies/adult_hierarchy_{column}.csv").read_text().splitlines()
    return {line.split(";")[0]: line.split(";") for line in lines}


def share_below(label: str, paths: Paths) -> Fraction:
    """Information loss of a node."""
    return (
        Fraction(0)
        if label in paths
        else Fraction(sum(label in path for path in paths.values()), len(paths))
    )


def equal(whole: Counter[Any], part: Counter[Any]) -> Fraction:
    n, s = whole.total(), part.total()
    return Fraction(sum(abs(n * part[v] - s * whole[v]) for v in whole), 2 * n * s)


def ordered(whole: Counter[Any], part: Counter[Any]) -> Fraction:
    n, s, run, total = whole.total(), part.total(), 0, 0
    for value in sorted(whole):
        run += n * part[value] - s * whole[value]
        total += abs(run)
    return Fraction(total, n * s * (len(whole) - 1))


def hierarchical(whole: Counter[Any], part: Counter[Any], paths: Paths) -> Fraction:
    """At each node what its children can give one another goes the node's height."""
    n, s = whole.total(), part.total()
    height = len(next(iter(paths.values()))) - 1
    extra = Counter(
        {
            (path[0], tuple(path[1:])): n * part[leaf] - s * whole[leaf]
            for leaf, path in paths.items()
        },
    )
    cost = 0
    for level in range(1, height + 1):
        give: Counter[Any] = Counter()
        take: Counter[Any] = Counter()
        above: Counter[Any] = Counter()
        for (_, rest), more in extra.items():
            give[rest] += max(more, 0)
            take[rest] += max(-more, 0)
            above[rest[0], rest[1:]] += more
        cost += level * sum(min(give[node], take[node]) for node in give)
        extra = above
    return Fraction(cost, height * n * s)


def largest(
    table: pd.DataFrame,
    quasi: list[str],
    column: str,
    distance: Callable[..., Fraction],
    *more: Any,
) -> Fraction:
    whole: Counter[Any] = Counter(table[column])
    return max(
        distance(whole, Counter(part), *more)
        for _, part in table.groupby(quasi, dropna=False)[column]
    )


def achieved(audit: AuditResult, measure: str, attribute: str) -> Any:
    (found,) = [g for g in audit.guarantees if (g.measure, g.attribute) == (measure, attribute)]
    return found.achieved


@pytest.mark.parametrize(
    "level",
    ["fine", "coarse", pytest.param("coarsest", marks=pytest.mark.on_spark)],
)
def test_generalized_adult(session: Session, data: Path, level: str) -> None:
    heights, width = RELEASES[level]
    raw = pd.read_csv(data / "adult/adult.csv", sep=";")
    trees = {column: read_paths(data, column) for column in QUASI}
    table = pd.DataFrame(
        {
            c: raw[c].map(lambda v, c=c, h=h: trees[c][v][h])
            for c, h in zip(QUASI, heights, strict=True)
        },
    )
    low = raw["age"] // width * width
    table["age"] = "[" + low.astype(str) + ", " + (low + width - 1).astype(str) + "]"
    sensitive = {"years": raw["age"], "occupation": raw["occupation"]}
    table = table.assign(**sensitive)
    quasi = [*QUASI, "age"]
    jobs = read_paths(data, "occupation")

    files = {
        column: {"hierarchy": str(data / f"adult/hierarchies/adult_hierarchy_{column}.csv")}
        for column in [*QUASI, "occupation"]
    }
    question = question_from_columns(
        {**{column: files[column] for column in QUASI}, "age": {"type": "numeric"}},
        {
            "occupation": {"distance": "hierarchical", **files["occupation"]},
            "years": {"distance": "ordered"},
        },
    )
    audit = audit_table(
        AuditTables(table=of_arrow(session, pa.Table.from_pandas(table, preserve_index=False))),
        question,
    )

    classes = table.groupby(quasi)
    assert (audit.figures.classes, audit.figures.rows) == (classes.ngroups, 30_162)
    assert (audit.figures.smallest, audit.figures.largest) == (
        classes.size().min(),
        classes.size().max(),
    )
    assert audit.figures.discernibility == (classes.size() ** 2).sum()
    assert achieved(audit, "t-closeness", "occupation") == largest(
        table,
        quasi,
        "occupation",
        hierarchical,
        jobs,
    )
    assert achieved(audit, "t-closeness", "years") == largest(table, quasi, "years", ordered)
    for column in sensitive:
        assert achieved(audit, "distinct l-diversity", column) == classes[column].nunique().min()
    losses = {
        c: sum(table[c].map(lambda label, c=c: share_below(label, trees[c]))) / len(table)
        for c in QUASI
    }
    # Of the labels: nobody is as young or as old as the widest interval says.
    span = low.max() + width - 1 - low.min()
    losses["age"] = Fraction(width - 1, int(span))
    assert {c: pytest.approx(float(loss)) for c, loss in losses.items()} == dict(
        audit.figures.losses,
    )
    assert audit.figures.ncp == pytest.approx(float(sum(losses.values()) / len(losses)))


@pytest.fixture
def released(
    open_run: Callable[..., Run],
    data: Path,
    tmp_path: Path,
) -> tuple[Path, Mapping[str, Any], AuditQuestion]:
    """(run file, certificate, question) of a release of Adult into tmp_path/out."""
    assert data
    text = expand((ROOT / "conf/adult.yaml").read_text(), "conf/adult.yaml")
    run = yaml.safe_load(text.replace("../../shared/data", str(data)))
    run["output"] = {"path": str(tmp_path / "out")}
    run["attributes"]["sensitive_attributes"] = {
        "occupation": {"distance": "equal", "t": 0.2, "l": {"distinct": 5}},
        "salary-class": {"distance": "ordered", "order": ["<=50K", ">50K"], "t": 0.5},
    }
    path = tmp_path / "adult.yaml"
    path.write_text(yaml.safe_dump(run, sort_keys=False))
    certificate = dict(pipeline.release(open_run(path)))
    return path, certificate, question_from_run_file(load_spec(path))


@pytest.mark.more
def test_a_release_of_adult(
    session: Session,
    released: tuple[Path, Mapping[str, Any], AuditQuestion],
    tmp_path: Path,
) -> None:
    _, certificate, question = released
    release = read_delta(session, str(tmp_path / "out/public/release"))
    audit = audit_table(AuditTables(table=release), question)
    table = collect(release).to_pandas()
    quasi = list(question.quasi_identifiers)
    classes = table.groupby(quasi, dropna=False)
    assert audit.verdict == "holds"
    assert (
        audit.figures.smallest == classes.size().min() == certificate["guarantees"]["k"]["achieved"]
    )
    assert audit.figures.classes == classes.ngroups == certificate["release"]["classes"]
    assert audit.figures.ncp == pytest.approx(certificate["utility"]["ncp"], abs=1e-12)
    for column, distance in (("occupation", equal), ("salary-class", ordered)):
        exactly = Fraction(certificate["guarantees"]["t"][column]["achieved_exact"])
        assert (
            achieved(audit, "t-closeness", column)
            == largest(table, quasi, column, distance)
            == exactly
        )
        assert achieved(audit, "distinct l-diversity", column) == classes[column].nunique().min()


@pytest.mark.skipif(
    "TCLOSE_JUDGE" not in os.environ,
    reason="TCLOSE_JUDGE does not name an outside judge",
)
def test_an_outside_judge_agrees(
    session: Session,
    released: tuple[Path, Mapping[str, Any], AuditQuestion],
    tmp_path: Path,
) -> None:
    run_file, _, question = released
    audit = audit_table(
        AuditTables(table=read_delta(session, str(tmp_path / "out/public/release"))),
        question,
    )
    command = [sys.executable, os.environ["TCLOSE_JUDGE"], str(run_file), "--json"]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    assert (told["holds"], told["problems"]) == (True, [])
    assert told["found"]["rows"] == audit.figures.rows
    assert told["found"]["classes"] == audit.figures.classes
    assert (told["found"]["smallest_class"], told["found"]["largest_class"]) == (
        audit.figures.smallest,
        audit.figures.largest,
    )
    assert told["found"]["ncp"] == pytest.approx(audit.figures.ncp, abs=1e-12)
    assert told["found"]["t"] == {
        c: float(achieved(audit, "t-closeness", c)) for c in question.sensitive_attributes
    }
