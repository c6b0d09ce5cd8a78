"""A comparison on a session: rows from the input, every combination, and the folder that keeps what is finished."""

from __future__ import annotations

import json
from collections.abc import Callable

from pyspark.sql import SparkSession

from tclose_spark.comparing.page import render_page
from tclose_spark.comparing.read_rows import read_rows
from tclose_spark.comparing.remarks import remarks
from tclose_spark.comparing.request import ComparisonRequest
from tclose_spark.comparing.result import PLAN, Comparison, carry_out_all
from tclose_spark.comparing.store import ComparisonStore, key_of
from tclose_spark.in_memory.sample import ComparedTable, read_sample
from tclose_spark.io.run import Run
from tclose_spark.io.storage.folders import open_folder
from tclose_spark.io.storage.lock import locked
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.usefulness.classifier import is_installed
from tclose_spark.usefulness.utility_measures import UtilityMeasures


def run_comparison(asked: ComparisonRequest, session: SparkSession, announce: Callable[[str], None]) -> Comparison:
    """Compares, and writes what people read into the comparison's folder. What is finished there is not done again; of
    a table in memory, which may be another each time, all is.

    Raises:
        ConfigurationError: if the folder holds another comparison, and is not to be overwritten.
    """
    spec, most = asked.spec, read_sample(asked.sample)
    run, folder = Run(spec, session, announce), open_folder(asked.output, session)
    trees = json.dumps({name: hierarchy.paths for name, hierarchy in sorted(run.hierarchies.items())})
    kept = ComparisonStore(folder, key_of(spec, trees, asked.sample))

    def rows() -> ComparedTable:
        table = kept.table()
        if table is None:
            run.internal.create(private=True)  # where the secret is
            table = read_rows(run, folder, most)
            kept.keep_table(table)
        announce(f"compare    on {len(table.rows):,} of {table.whole:,} rows")
        return table

    def worth(table: ComparedTable) -> UtilityMeasures:
        trees = {**run.hierarchies, **table.built}
        return UtilityMeasures.of_table(table, ResolvedAttributes.of(spec.attributes, table.profile, trees))

    folder.create(private=True)
    with locked(folder):
        kept.begin(asked.overwrite)
        if spec.input.is_frame:
            kept.begin(overwrite=True)
        variant = PLAN if asked.plan_only else f"release{', accuracy' if is_installed() else ''}"
        outcomes = carry_out_all(asked.combinations, kept, rows, run.hierarchies, worth, variant, announce)
        compared, whole = kept.rows
        comparison = Comparison(name=spec.name, rows=compared, whole=whole, outcomes=tuple(outcomes))
        kept.finish(comparison.to_json(), *render_page(comparison, remarks(comparison)))
    return comparison
