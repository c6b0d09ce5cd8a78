"""spark-submit jobs/release.py --config CONF [--set key.path=value ...] [--overwrite]

All stages: from a raw table to a verified, published release.
"""

import sys

if sys.path and sys.path[0].rstrip("/").endswith("jobs"):
    del sys.path[0]  # this folder's profile.py would hide the standard library's

from tclose_spark.__main__ import run_job

if __name__ == "__main__":
    run_job("release")
