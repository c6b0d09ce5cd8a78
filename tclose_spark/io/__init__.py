"""What touches the world: Spark's session, files and formats, Delta tables, workers, the run and its lock."""
