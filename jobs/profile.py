"""spark-submit jobs/profile.py --config CONF [--set key.path=value ...] [--overwrite]

Stage 1: read the input once (domains, ranges, histogram, fingerprint) and begin a run.
"""

import sys

if sys.path and sys.path[0].rstrip("/").endswith("jobs"):
    del sys.path[0]  # this folder's profile.py would hide the standard library's

from tclose_spark.__main__ import run_job

if __name__ == "__main__":
    run_job("profile")
