"""The command line: parses options into arguments of `api/`, calls it, and prints the result.
Results go to stdout, messages to stderr.
"""

from tclose_spark.cli.commands import app
from tclose_spark.cli.process import job, main, run_command, run_job

__all__ = ["app", "job", "main", "run_command", "run_job"]
