"""`python -m tclose_spark.io.spark.defaults`: settings for the Spark that pip installed in this
environment.

With them, a bare `spark-submit jobs/release.py --config CONF` uses Delta and this environment's
Python, on a local master and on a cluster that shares the file system. Its driver has the memory
that `tclose` gives it. Other installations of Spark are left alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyspark

from tclose_spark.errors import ConfigurationError
from tclose_spark.io.spark.installation import delta_settings, driver_memory
from tclose_spark.io.spark.session import get_session


def defaults() -> dict[str, str]:
    """The settings: Delta's jars if they are known, otherwise Ivy's coordinates."""
    return {
        **delta_settings(),
        "spark.pyspark.python": sys.executable,
        "spark.driver.memory": driver_memory(),
        "spark.log.level": "OFF",
    }


def find_jars() -> None:
    """Lets Ivy download Delta's jars once. Without a network, the first run that has one does
    so.
    """
    try:
        get_session("tclose: finding the jars of Delta")
    except ConfigurationError as error:
        sys.stderr.write(f"note: {error}\n")


def main() -> None:
    """Writes conf/spark-defaults.conf below pyspark."""
    target = Path(pyspark.__file__).parent / "conf" / "spark-defaults.conf"
    target.parent.mkdir(exist_ok=True)
    target.unlink(missing_ok=True)  # an older version's
    find_jars()
    target.write_text("".join(f"{key} {value}\n" for key, value in defaults().items()))


if __name__ == "__main__":
    main()
