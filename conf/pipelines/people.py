"""The table `raw_people`: all CSV files of the folder `incoming`, as one."""

from pathlib import Path

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

spark = SparkSession.active()
COLUMNS = """
    person_id BIGINT, age INT, sex STRING, education STRING, marital_status STRING, region STRING, occupation STRING,
    hours INT, income BIGINT, disease STRING
"""


@dp.materialized_view(format="parquet")
def raw_people() -> DataFrame:
    """Fails if a value has another type, or a file has other columns or another order: by default
    Spark reads columns by their position, whatever the header says, and a value of another type as
    missing.
    """
    folder = str(Path("incoming").resolve())
    return spark.read.csv(folder, schema=COLUMNS, header=True, enforceSchema=False, mode="FAILFAST")
