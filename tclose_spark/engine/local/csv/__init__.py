"""CSV files in this process, read and written as Spark does it."""
