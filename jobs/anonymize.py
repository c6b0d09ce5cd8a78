"""spark-submit jobs/anonymize.py --config CONF [--set key.path=value ...] [--overwrite]

Stage 3: move the rows into their classes, generalize, write the staged release.
"""

from tclose_spark.cli import run_job

if __name__ == "__main__":
    run_job("anonymize")
