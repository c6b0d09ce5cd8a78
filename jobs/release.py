"""spark-submit jobs/release.py --config CONF [--set key.path=value ...] [--overwrite]

All stages: from a raw table to a verified, published release.
"""

from tclose_spark.cli import run_job

if __name__ == "__main__":
    run_job("release")
