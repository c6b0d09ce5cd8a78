"""The raw side of a staged release, for its internal report."""

from __future__ import annotations

from typing import Any

from tclose_spark.io.run import Run
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.options.linked.linked_sample import read_linked_rows
from tclose_spark.options.suppression.released_values import public_labels
from tclose_spark.stages.staging.area import LINKED_SAMPLE, encoded_table, read_profile
from tclose_spark.table.local_rows import LocalRows
from tclose_spark.table.rows import Rows
from tclose_spark.usefulness.raw_versus_released import measure_raw_versus_released


def raw_versus_released(run: Run) -> dict[str, Any] | None:
    """Raw rows of a staged release beside their published values; None if none could be drawn."""
    profile = read_profile(run)
    linked = run.staged(LINKED_SAMPLE, lambda text: read_linked_rows(text, profile, run.spec.release.is_exact))
    if linked is None:
        return None
    rows = Rows.concatenate([linked.rows, linked.suppressed])
    whole = LocalRows(rows, profile.distinct_rows) if len(rows) == profile.rows else encoded_table(run, profile)
    trees = public_labels(run.spec, run.hierarchies, run.public_hierarchies)
    attributes = ResolvedAttributes.of(run.spec.attributes, profile, trees, run.spec.privacy.n)
    return measure_raw_versus_released(linked, profile, attributes, run.spec, whole.frequencies).to_json()
