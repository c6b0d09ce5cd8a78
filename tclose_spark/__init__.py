"""k-anonymous and t-close releases of tables about people, on Apache Spark, with the proof."""

__version__ = "0.1.0"
