"""A comparison on a session: rows from the input, every combination, and the folder that keeps what
is finished.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from tclose_spark.comparing.request import ALL, Combination, ComparisonRequest
from tclose_spark.comparing.result import ComparisonResult, LossBound, Outcome, bounded, find_bound
from tclose_spark.comparing.store import ABOUT, ComparisonStore, key_of
from tclose_spark.comparing.trial import draw_rows, run_trial
from tclose_spark.comparing.views import render_page
from tclose_spark.engine.protocol import Session
from tclose_spark.errors import ConfigurationError
from tclose_spark.in_memory.sample import ComparedTable
from tclose_spark.io.run import Run
from tclose_spark.io.storage.folders import open_folder
from tclose_spark.io.storage.lock import locked
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.usefulness.utility_measures import UtilityMeasures, is_installed

PLAN = "plan"
"""The variant of a comparison that only plans."""


def run_comparison(
    request: ComparisonRequest,
    session: Session,
    announce: Callable[[str], None],
) -> ComparisonResult:
    """Compares, and writes page, plot and figures into the comparison's folder. Combinations that
    are finished there are not done again, unless the table is in memory, where it may be another
    each time.

    Raises:
        ConfigurationError: if the folder holds another comparison, and may not be overwritten.
    """
    spec = request.spec
    run = Run(spec, session, announce)
    folder = open_folder(request.output, session)
    trees = json.dumps(
        {name: hierarchy.paths for name, hierarchy in sorted(run.hierarchies.items())},
    )
    store = ComparisonStore(folder, key_of(spec, trees, str(request.sample or ALL)))

    @cache
    def rows() -> ComparedTable:
        table = store.table()
        if table is None:
            run.internal.create(private=True)  # the secret is there
            try:
                table = draw_rows(run, folder, request.sample)
            except ConfigurationError:  # of this sample: another one may follow in this folder
                folder.remove(ABOUT)
                raise
            store.keep_table(table)
        announce(f"compare    on {len(table.rows):,} of {table.whole:,} rows")
        return table

    folder.create(private=True)
    with locked(folder):
        store.begin(request.overwrite)
        if spec.input.is_frame:
            store.begin(overwrite=True)
        outcomes = run_combinations(request, store, rows, run.hierarchies, announce)
        bounds = (
            find_bounds(request.combinations, store, rows, run.hierarchies, announce)
            if request.bound
            else []
        )
        compared, whole = store.rows
        comparison = ComparisonResult(
            name=spec.name,
            rows=compared,
            whole=whole,
            outcomes=tuple(outcomes),
            bounds=tuple(bounds),
        )
        store.finish(comparison.to_json(), *render_page(comparison))
    return comparison


def run_combinations(
    request: ComparisonRequest,
    store: ComparisonStore,
    table: Callable[[], ComparedTable],
    hierarchies: Mapping[str, Hierarchy],
    announce: Callable[[str], None],
) -> list[Outcome]:
    """The outcome of each combination, from the store if it is finished there.

    table: reads the rows; called only if some combination is not finished. hierarchies: those read
        from files.
    """
    combinations = request.combinations
    plan_only = request.plan_only
    variant = PLAN if plan_only else f"release{', accuracy' if is_installed() else ''}"
    found = [store.outcome(combination, variant) for combination in combinations]
    missing = [
        combination
        for combination, outcome in zip(combinations, found, strict=True)
        if outcome is None
    ]
    if len(missing) < len(found):
        announce(
            f"compare    {len(found) - len(missing)} of {len(found)} combinations are finished "
            "already",
        )
    if not missing:
        return [outcome for outcome in found if outcome is not None]
    compared = table()
    hierarchies = {**hierarchies, **compared.built}
    measures = UtilityMeasures()
    if not plan_only:
        attributes = request.spec.attributes
        resolved = ResolvedAttributes.of(attributes, compared.profile, hierarchies)
        measures = UtilityMeasures.of_table(compared, resolved)
    made = {}
    for number, combination in enumerate(missing, start=len(found) - len(missing) + 1):
        outcome = run_trial(combination, compared, hierarchies, measures, plan_only)
        store.keep(combination, variant, outcome)
        made[id(combination)] = outcome
        announce(f"compare    {number} of {len(found)}: {outcome}")
    return [
        made[id(c)] if outcome is None else outcome
        for c, outcome in zip(combinations, found, strict=True)
    ]


def find_bounds(
    combinations: Sequence[Combination],
    store: ComparisonStore,
    table: Callable[[], ComparedTable],
    hierarchies: Mapping[str, Hierarchy],
    announce: Callable[[str], None],
) -> list[LossBound]:
    """What no release can lose less than at each k and t, from the store if it was found before.

    table, hierarchies: see `run_combinations`.
    """
    found = []
    for one in bounded(combinations):
        bound = store.bound(one)
        if bound is None and one.spec is not None:
            bound = find_bound(one, one.spec, table(), {**hierarchies, **table().built})
            store.keep_bound(one, bound)
            announce(f"compare    {bound}")
        found += [] if bound is None else [bound]
    return found
