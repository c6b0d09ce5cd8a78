"""spark-submit jobs/profile.py --config CONF [--set key.path=value ...] [--overwrite]

Stage 1: read the input once (domains, ranges, histogram, fingerprint) and begin a run.
"""

from tclose_spark.cli import run_job

if __name__ == "__main__":
    run_job("profile")
