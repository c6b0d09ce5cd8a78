"""spark-submit jobs/publish.py --config CONF [--set key.path=value ...] [--overwrite]

Stage 6: move what was verified to its public place.
"""

from tclose_spark.cli import run_job

if __name__ == "__main__":
    run_job("publish")
