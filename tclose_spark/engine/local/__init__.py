"""The local engine: tables are lists of Arrow batches in this process, without a JVM."""
