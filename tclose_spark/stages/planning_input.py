"""What a method plans from, made of a run file and a table whose rows are staged or held in memory."""

from __future__ import annotations

from collections.abc import Callable

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import PlanningInput, method_of, require_supersets
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.encode import EncodedTable
from tclose_spark.table.local_rows import LocalRows


def planning_input(
    spec: ReleaseSpec,
    attributes: ResolvedAttributes,
    table: EncodedTable | LocalRows,
    log: Callable[[str], None] = lambda _: None,
) -> PlanningInput:
    """The planning input of a run file's method on a table. log: takes a line about the progress of the planning.

    Raises:
        UnreachableError: if the table has fewer than n rows, of (n, t)-closeness.
        ConfigurationError: if n is not above k.
    """
    require_supersets(attributes, spec.privacy.k)
    return PlanningInput(
        attributes=attributes,
        k=spec.privacy.k,
        settings=spec.method,
        sample=table.sample(method_of(spec.method).sample_rows(spec.method)),
        counts=table.counts,
        frequencies=table.frequencies,
        most_suppressed=spec.privacy.most_suppressed(attributes.rows),
        of=spec.privacy.of,
        log=log,
    )
