"""A stage, or all of them, on the table of a spec: what the command line and Python both do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from tclose_spark.api.errors import full_disks_named
from tclose_spark.io.spark.driver import start_early
from tclose_spark.runfile.spec import ReleaseSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tclose_spark.io.run import Run

STAGES = {
    "release": "All stages: from a raw table to a verified, published release.",
    "profile": "Stage 1: read the input (domains, ranges, histogram, fingerprint) and begin a run.",
    "plan": "Stage 2: decide how rows come into classes; shows what each class size reaches.",
    "anonymize": "Stage 3: move the rows into their classes, generalize, write the staged release.",
    "verify": "Stage 4: judge the staged release from what was written; or a finished one again.",
    "report": "Stage 5: write the certificate and the report of a release that holds.",
    "publish": "Stage 6: move what was verified to its public place.",
}


def carry_out_stages(
    spec: ReleaseSpec,
    *names: str,
    announce: Callable[[str], None],
    overwrite: bool = False,
    session: SparkSession | None = None,
    progress: Callable[[int], AbstractContextManager[Callable[[int], None]]] | None = None,
    **options: Any,
) -> tuple[Run, Any]:
    """(the run, what the last stage gives) of these stages one after another, while the output is locked.

    session: to work on; by default the active one, or a new one, with the settings of a run.
    options: of every stage, such as `finished` of verify.
    """
    if session is None:
        start_early(spec.input.path)
    from tclose_spark import pipeline
    from tclose_spark.io.run import Run
    from tclose_spark.io.spark.progress import no_progress
    from tclose_spark.io.spark.session import get_session

    spark = session or get_session(f"tclose {names[-1]} {spec.name}")
    run, result = Run(spec, spark, announce, overwrite, progress or no_progress), None
    with run.locked(), run.events.failures(), full_disks_named(spec.output.internal_path):
        for name in names:
            result = getattr(pipeline, name)(run, **options)
    return run, result
