"""Releases of the pipeline that are judged by the second implementation as they are published."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oracle.judge import judge
from tclose_spark import pipeline
from tclose_spark.io.run import Run


@contextmanager
def all_judged() -> Iterator[None]:
    """Fails a test that publishes what the oracle does not accept during the body."""
    publish = pipeline.publish

    def publish_and_judge(run: Run) -> Any:
        certificate = publish(run)
        if problems := judged(run):
            pytest.fail(f"the oracle does not accept the release: {problems}")
        return certificate

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "publish", publish_and_judge)
        yield


def judged(run: Run) -> list[str]:
    """What the oracle finds in the release of a run."""
    source, attributes = run.spec.input, run.spec.attributes
    columns = [*attributes.quasi_identifiers.values(), *attributes.sensitive_attributes.values()]
    changed = any(
        column.text is not None or getattr(column, "date_format", None) for column in columns
    )
    is_file = source.format == "parquet" and Path(source.path).is_file()
    kept = run.spec.output.leavers == "keep"  # then rows of an earlier release are published
    raw = pq.read_table(source.path) if is_file and not changed and not kept else None
    if raw is not None and not {
        *attributes.sensitive_attributes,
        *attributes.insensitive_attributes,
    } <= {*raw.column_names}:
        raw = None  # columns have other names in the input, or the test has replaced it
    for name, codes in run.spec.missing_values.items() if raw is not None else ():
        values = [None if str(value) in codes else value for value in raw[name].to_pylist()]
        raw = raw.set_column(raw.column_names.index(name), name, pa.array(values, raw[name].type))
    if not Path(run.public.path()).exists():
        return []  # behind a URI
    try:
        return judge(Path(run.public.path()), raw, attributes.insensitive_attributes)
    except OverflowError:  # years that Python's dates do not have
        return []
