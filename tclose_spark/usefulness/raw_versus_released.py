"""The raw rows beside the release, for the internal report.

It is measured on a sample of rows with their labels (`LinkedSample`); their groups are counted in
the whole table. All figures are internal.
"""

from __future__ import annotations

from typing import Any

from tclose_spark.in_memory.apply_plan import Released
from tclose_spark.in_memory.measure import PublishedClasses
from tclose_spark.in_memory.sample import ComparedTable
from tclose_spark.io.run import Run
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Frequencies
from tclose_spark.options.linked.linked_sample import LinkedRows, read_linked_rows
from tclose_spark.options.suppression.released_values import public_labels
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.staging.area import LINKED_SAMPLE, encoded_table, read_profile
from tclose_spark.table.dictionaries import group_equal
from tclose_spark.table.domains import Profile
from tclose_spark.table.local_rows import LocalRows
from tclose_spark.table.rows import Rows
from tclose_spark.usefulness.classifier import MOST_VALUES, is_installed, predicted
from tclose_spark.usefulness.cross_tables import cross_tables, means
from tclose_spark.usefulness.internal_figures import RawVersusReleased, singled_out
from tclose_spark.usefulness.linkage import linkage_of
from tclose_spark.usefulness.queries import QueryError
from tclose_spark.usefulness.raw_groups import RawGroups, raw_groups
from tclose_spark.usefulness.utility_measures import UtilityMeasures


def raw_versus_released(run: Run) -> dict[str, Any] | None:
    """Raw rows of a staged release beside their published values; None if none could be drawn."""
    profile = read_profile(run)
    linked = run.staged(
        LINKED_SAMPLE, lambda text: read_linked_rows(text, profile, run.spec.release.is_exact)
    )
    if linked is None:
        return None
    rows = Rows.concatenate([linked.rows, linked.suppressed])
    whole = (
        LocalRows(rows, profile.distinct_rows)
        if len(rows) == profile.rows
        else encoded_table(run, profile)
    )
    trees = public_labels(run.spec, run.hierarchies, run.public_hierarchies)
    attributes = ResolvedAttributes.of(run.spec.attributes, profile, trees, run.spec.privacy.n)
    return measure_raw_versus_released(
        linked, profile, attributes, run.spec, whole.frequencies
    ).to_json()


def measure_raw_versus_released(
    linked: LinkedRows,
    profile: Profile,
    attributes: ResolvedAttributes,
    spec: ReleaseSpec,
    frequencies: Frequencies,
) -> RawVersusReleased:
    """The figures of these rows. frequencies: counts rows of the whole table."""
    everyone = Rows.concatenate([linked.rows, linked.suppressed])
    groups = raw_groups(everyone, frequencies, attributes, spec.privacy.k)
    if not len(linked.rows):
        return RawVersusReleased(
            rows=0, suppressed=len(everyone), whole=linked.whole, groups=groups
        )
    if spec.release.is_exact:
        return _of_groups(linked, profile, attributes, groups)
    released = Released(rows=linked.rows, labels=linked.labels, suppressed=linked.suppressed)
    classes = PublishedClasses.of(released, spec)
    table = ComparedTable(profile=profile, rows=everyone, whole=linked.whole)
    worth = UtilityMeasures.of_table(table, attributes).of(released, classes, attributes)
    target = predicted(attributes)
    why = (
        "scikit-learn is not installed (the extra `analysis`)"
        if not is_installed()
        else f"no sensitive attribute has 2 to {MOST_VALUES} values"
        if target is None
        else "there are too few rows"
    )
    uniques, cells = None, None
    if "person" not in spec.attributes.owners:
        uniques, cells = singled_out(everyone, attributes)
    return RawVersusReleased(
        rows=len(linked.rows),
        suppressed=len(linked.suppressed),
        whole=linked.whole,
        groups=groups,
        means=list(means(attributes.quasi_identifiers, linked.rows, classes)),
        tables=list(cross_tables(attributes, linked.rows, classes)),
        worth=worth,
        target=None if target is None else attributes.sensitive[target].name,
        why_no_classifier="" if "accuracy" in worth else why,
        uniques=uniques,
        cells=cells,
        linkage=linkage_of(attributes, linked.rows, classes),
    )


def _of_groups(
    linked: LinkedRows, profile: Profile, attributes: ResolvedAttributes, groups: RawGroups | None
) -> RawVersusReleased:
    """The figures of exact quasi-identifiers. Their means and the classes' sensitive values are
    those of the input.
    """
    table = ComparedTable(profile=profile, rows=linked.rows, whole=linked.whole)
    of_row, _ = group_equal(linked.labels)
    uniques, cells = singled_out(linked.rows, attributes)
    return RawVersusReleased(
        rows=len(linked.rows),
        suppressed=0,
        whole=linked.whole,
        groups=groups,
        worth={**QueryError.of(table, attributes).of_groups(linked.rows, of_row, attributes)},
        why_no_classifier="the release has exact quasi-identifiers, and no sensitive value of a row",
        uniques=uniques,
        cells=cells,
    )
