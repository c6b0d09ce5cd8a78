"""`python -m tclose_spark.io.spark_defaults`: settings for the Spark that pip installed in this environment.

With them a bare `spark-submit jobs/release.py --config CONF` finds Delta and this environment's Python, on a local
master and on a cluster that shares the file system. A Spark that was installed otherwise is left alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyspark
from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession

from tclose_spark.io.session import ALREADY_IN_SPARK


def defaults() -> dict[str, str]:
    """The settings."""
    packages = configure_spark_with_delta_pip(SparkSession.builder)._options["spark.jars.packages"]
    return {
        "spark.jars.packages": packages,
        "spark.jars.excludes": ALREADY_IN_SPARK,
        "spark.pyspark.python": sys.executable,
        "spark.log.level": "OFF",
    }


def main() -> None:
    """Writes conf/spark-defaults.conf below pyspark."""
    target = Path(pyspark.__file__).parent / "conf" / "spark-defaults.conf"
    target.parent.mkdir(exist_ok=True)
    target.write_text("".join(f"{key} {value}\n" for key, value in defaults().items()))


if __name__ == "__main__":
    main()
