"""The Spark session: starting it, what it allows, workers, shuffles, progress."""
