"""The engine of Spark: tables are its DataFrames."""
