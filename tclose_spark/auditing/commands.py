"""`tclose audit` and `tclose explain`: from what is typed to what is printed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from tclose_spark.auditing.question import (
    AuditQuestion,
    parse_quasi_identifiers,
    parse_sensitive,
    question_from_columns,
    question_from_run_file,
)
from tclose_spark.errors import ConfigurationError, GuaranteeError
from tclose_spark.io.input.typed import as_typed, options_of
from tclose_spark.io.spark.driver import start_early
from tclose_spark.runfile.loading import URI, load_spec, resolve

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WIDTH = 200  # of output that is not a terminal; COLUMNS overrides it
WRAPPED = 120  # columns below which lines of text are wrapped at words


@dataclass(frozen=True, kw_only=True)
class AuditArguments:
    """What both commands are given: a table and what is asked about it."""

    table: str
    quasi_identifiers: Sequence[str]
    sensitive: Sequence[str]
    hierarchies: Sequence[str]
    config: Path | None
    k: int | None
    t: str | None
    n: int | None
    gain: str
    format: str | None
    options: Sequence[str]
    reference: str | None

    @property
    def question(self) -> AuditQuestion:
        """The question, from a run file or from the options."""
        if self.config is not None:
            if self.quasi_identifiers or self.sensitive or self.hierarchies:
                raise ConfigurationError(
                    "--config says which columns are what; leave out --quasi-identifiers, --sensitive and --hierarchy"
                )
            return question_from_run_file(load_spec(self.config), self.k, self.t, self.n, self.gain)
        if not self.quasi_identifiers:
            raise ConfigurationError(
                "which columns are quasi-identifiers? Give --quasi-identifiers age,zip,sex, or --config with a run file"
            )
        folder = Path.cwd()
        quasi = parse_quasi_identifiers(self.quasi_identifiers, self.hierarchies, folder)
        return question_from_columns(quasi, parse_sensitive(self.sensitive, folder), self.k, self.t, self.n, self.gain)


def run_audit(
    given: AuditArguments,
    background: str | None,
    classes: str | None,
    expectations: str | None,
    supersets: int,
    attacks: bool,
    labels: bool,
    as_json: bool,
    html: str | None = None,
) -> None:
    """Audits and prints, and writes a page at `html`; labels: those of classes, and sensitive values, too.

    Raises:
        GuaranteeError: if something that is required does not hold.
    """
    question = given.question
    _check_outputs({"--classes-output": classes, "--expectations-output": expectations, "--html": html})
    start_early(given.table)
    from tclose_spark.auditing.audit import audit_table
    from tclose_spark.auditing.page import audit_page
    from tclose_spark.auditing.views import audit_lines
    from tclose_spark.io.spark.session import get_session

    target = None if classes is None else resolve(classes, "--classes-output", Path.cwd())
    with _opened(given, question, get_session("tclose audit"), background) as (table, reference, people):
        audit = audit_table(table, question, None, reference, people, target, supersets, attacks)
    audit = audit if labels else audit.without_labels()
    if expectations is not None:
        Path(expectations).write_text(audit.suite + "\n", encoding="utf-8")
    if html is not None:
        _write_page(html, audit_page(audit, given.table))
    if as_json:
        sys.stdout.write(json.dumps(audit.to_json(), indent=1, default=str, ensure_ascii=False) + "\n")
    else:
        _print(audit_lines(audit, given.table))
    if not audit.holds:
        broken = [f"{g.measure}{f' of {g.attribute}' if g.attribute else ''}" for g in audit.guarantees if not g.holds]
        raise GuaranteeError(f"{given.table} does not meet the requirements: {', '.join(broken)}")


@contextmanager
def _opened(
    given: AuditArguments, question: AuditQuestion, spark: SparkSession, background: str | None = None
) -> Iterator[tuple[DataFrame, DataFrame | None, DataFrame | None]]:
    """The table, the reference and the background table, where they are given."""
    from tclose_spark.auditing.tables import opened_tables

    options = options_of(given.options)
    with (
        as_typed(),
        opened_tables(
            spark, question, given.table, given.reference, background, kind=given.format, options=options
        ) as tables,
    ):
        yield tables


def _check_outputs(paths: Mapping[str, str | None]) -> None:
    """Raises ConfigurationError if something is there already, before any work is done. paths: by option."""
    for option, path in paths.items():
        if path is not None and not URI.match(path):
            if Path(path).exists():
                raise ConfigurationError(f"{option}: {path} exists already; give another path, or remove it")
            if option != "--classes-output" and not Path(path).resolve().parent.is_dir():
                raise ConfigurationError(f"{option}: the folder of {path} does not exist")


def _write_page(path: str, page: str) -> None:
    """Writes a page that only its owner reads: it may show labels of a raw table."""
    with open(path, "x", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(page)


def run_explain(
    given: AuditArguments, attribute: str | None, labels: Sequence[str], as_json: bool, html: str | None = None
) -> None:
    """Explains a class and prints, and writes a page at `html`."""
    question = given.question
    _check_outputs({"--html": html})
    start_early(given.table)
    from tclose_spark.auditing.explain import explain_class
    from tclose_spark.auditing.page import explanation_page
    from tclose_spark.auditing.views import explanation_lines
    from tclose_spark.io.spark.session import get_session

    chosen: dict[str, str | None] = {}
    for text in labels:
        name, equals, label = text.partition("=")
        if not equals:
            raise ConfigurationError(f"--class {text}: expected QUASI_IDENTIFIER=LABEL, such as --class 'age=[20, 29]'")
        chosen[name] = label or None
    with _opened(given, question, get_session("tclose explain")) as (table, reference, _):
        explanation = explain_class(table, question, attribute, chosen, None, reference)
    if html is not None:
        _write_page(html, explanation_page(explanation, given.table))
    if as_json:
        sys.stdout.write(json.dumps(explanation.to_json(), indent=1, default=str, ensure_ascii=False) + "\n")
    else:
        _print(explanation_lines(explanation))


def _print(lines: Iterable[Any]) -> None:
    console = _console()
    for line in lines:
        console.print(line, soft_wrap=not isinstance(line, Table) and console.width >= WRAPPED)


def _console() -> Console:
    console = Console(highlight=False, emoji=False)
    if console.is_terminal or "COLUMNS" in os.environ:
        return console
    return Console(width=WIDTH, highlight=False, emoji=False)
