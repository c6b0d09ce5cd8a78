"""Runs releases under spark-submit with its defaults, and prints what Spark's pages then show, as
JSON by their addresses.

spark-submit release_and_look.py RUN.yaml [RUN.yaml ...]
"""

from __future__ import annotations

import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tclose_spark import pipeline
from tclose_spark.io.run import Run
from tclose_spark.io.spark.session import get_session
from tclose_spark.runfile.loading import load_spec


def pages(spark: SparkSession) -> dict[str, str]:
    """The texts of Spark's pages and of what its server answers to programs, by their addresses."""
    context: Any = spark.sparkContext
    home, found = context.uiWebUrl, {}

    def look(path: str) -> str:
        with urllib.request.urlopen(f"{home}{path}") as answer:
            found[path] = answer.read().decode()
        return found[path]

    application = f"/api/v1/applications/{context.applicationId}"
    queries = json.loads(look(f"{application}/sql?details=true&planDescription=true&length=100000"))
    stages = json.loads(look(f"{application}/stages?details=true&withSummaries=true"))
    for path in ("jobs", "allexecutors", "environment", "storage/rdd"):
        look(f"{application}/{path}")
    for path in ("/jobs/", "/stages/", "/storage/", "/environment/", "/executors/", "/SQL/"):
        look(path)
    for query in queries:
        look(f"/SQL/execution/?id={query['id']}")
    for stage in stages:
        look(f"/stages/stage/?id={stage['stageId']}&attempt={stage['attemptId']}")
    return found


def main(pages_file: str, run_files: list[str]) -> None:
    """See above."""
    spark = get_session("traces")
    for run_file in run_files:
        pipeline.release(
            Run(load_spec(Path(run_file)), spark, lambda line: print(line, file=sys.stderr)),
        )
    assert spark.conf.get("spark.sql.shuffle.partitions") == "200", (
        "a session's own number is put back"
    )
    Path(pages_file).write_text(json.dumps(pages(spark)))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
