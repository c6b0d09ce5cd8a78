"""What must hold of a drawn case: a release that the second implementation and an audit confirm, or
a clear refusal.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from drawn_cases import MARK, Case
from oracle.judge import judge

from tclose_spark import audit, pipeline
from tclose_spark.errors import ConfigurationError, InputError, UnreachableError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run
from tclose_spark.runfile.loading import load_spec

REFUSALS = (ConfigurationError, InputError, UnreachableError)
"""A `GuaranteeError` is a defect: a method must not stage a release that breaks a requirement."""


def problems_of(case: Case) -> list[str] | None:
    """What is wrong with the release of a case, one line each; None if it was refused.

    Raises:
        Exception: of any kind that is no refusal.
    """
    said: list[str] = []
    try:
        certificate = pipeline.release(Run(load_spec(case.path), LocalSession(), said.append))
    except REFUSALS as error:
        shown = [
            line
            for line in (str(error), *said)
            if MARK in line and not _is_of_the_run_file(line, case)
        ]
        public = case.path.parent / "out/public"
        return [f"a line shows a value: {line}" for line in shown] + (
            ["public"] if public.exists() else []
        ) or None
    found = [
        f"a line shows a value: {line}"
        for line in said
        if MARK in line and not _is_of_the_run_file(line, case)
    ]
    public = case.path.parent / "out/public"
    found += judge(public, case.table)
    if not pipeline.verify(
        Run(load_spec(case.path), LocalSession(), said.append),
        finished=True,
    ).holds:
        found.append("verify --finished does not confirm it")
    return found + _differences_of_an_audit(case, public, certificate["guarantees"])


def _is_of_the_run_file(line: str, case: Case) -> bool:
    """Whether the values in a line stand in the run file or its hierarchies, which messages may
    show.
    """
    files = [case.path, *case.path.parent.glob("tree*.csv")]
    known = "".join(file.read_text(encoding="utf-8") for file in files)
    words = [word.strip("'\",.;:()[]{}") for word in line.split() if MARK in word]
    return all(word in known for word in words)


def _differences_of_an_audit(case: Case, public: Path, guarantees: Mapping[str, Any]) -> list[str]:
    """Where an audit of the published table finds another k or t than the certificate."""
    table: pa.Table = DeltaTable(public / "release").to_pyarrow_table()
    in_two_columns = any(name not in table.column_names for name in case.quasi)
    if in_two_columns or guarantees.get("nt") or load_spec(case.path).privacy.suppression_limit:
        return []  # its figures are others by design: a superset's, or those of the input's distribution
    figures = audit(public / "release", spec=case.path, attacks=False).figures
    said = {("k-anonymity", None): guarantees["k"]["achieved"]}
    for name, entry in guarantees["t"].items():
        said["t-closeness", name] = Fraction(entry["achieved_exact"])
    found = {key: figures.of(*key) for key in said}
    return [
        f"{key}: the certificate has {said[key]}, an audit {one and one.achieved}"
        for key, one in found.items()
        if one is None or Fraction(one.achieved) != said[key]
    ]
