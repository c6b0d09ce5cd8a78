"""`tclose suggest`: from what is typed to what is printed and written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tclose_spark.errors import ConfigurationError
from tclose_spark.io.input.typed import as_typed, options_of, source_of
from tclose_spark.io.spark.driver import start_early
from tclose_spark.suggesting.suggestion import SAMPLE, Suggestion, release_name, require_t, suggestion_from_facts

Announce = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class SuggestArguments:
    """What the command is given, as it is typed."""

    table: str
    output: Path | None = None
    sample: str = str(SAMPLE)
    format: str | None = None
    options: Sequence[str] = ()
    k: int | None = None
    t: str = "0.2"
    overwrite: bool = False


def run_suggest(given: SuggestArguments, announce: Announce) -> tuple[Suggestion, Path]:
    """Looks at the table, says each column as it is looked at, and writes the run file."""
    from tclose_spark.suggesting.views import HEADING, column_line, summary_lines

    most = read_sample(given.sample)
    require_t(given.t)
    source = source_of(given.table, given.format, options_of(given.options))
    file = given.output or Path(f"{release_name(source)}.yaml")
    if file.exists() and not given.overwrite:
        raise ConfigurationError(f"--output: {file} exists already; give another path, or --overwrite")
    start_early(source.path)
    from tclose_spark.io.input.damaged_text import translate_read_errors
    from tclose_spark.io.spark.session import get_session
    from tclose_spark.suggesting.gathering import gather_facts
    from tclose_spark.suggesting.opening import open_unknown_table

    with as_typed():
        opened = open_unknown_table(get_session("tclose suggest"), source)
        announce(HEADING)
        with translate_read_errors(opened):
            gathered = gather_facts(opened.table, most, lambda facts: announce(column_line(facts)))
    suggestion = suggestion_from_facts(gathered, opened.source, file, given.k, given.t)
    for line in summary_lines(suggestion):
        announce(line)
    return suggestion, suggestion.write(file, given.overwrite)


def read_sample(text: str) -> int | None:
    """How many rows `--sample` asks for; None for all.

    Raises:
        ConfigurationError: if it is neither a number nor `all`.
    """
    if text == "all":
        return None
    if not text.isdecimal() or not int(text):
        raise ConfigurationError(f"--sample {text}: expected a number of rows, or all")
    return int(text)
