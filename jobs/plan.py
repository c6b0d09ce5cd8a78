"""spark-submit jobs/plan.py --config CONF [--set key.path=value ...] [--overwrite]

Stage 2: decide how rows come into classes; shows what each class size reaches.
"""

from tclose_spark.cli import run_job

if __name__ == "__main__":
    run_job("plan")
