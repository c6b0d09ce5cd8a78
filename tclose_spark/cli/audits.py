"""The commands that judge a table that any tool made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tclose_spark.api.command_line import AuditOptions, ExplainOptions, require_new, table_arguments
from tclose_spark.cli.console import show, show_json
from tclose_spark.cli.options import (
    AsJson,
    AsPage,
    Engine,
    Format,
    ReaderOptions,
    TableName,
    parse_labels,
    with_options,
    write_private,
)
from tclose_spark.errors import GuaranteeError, InputError

if TYPE_CHECKING:
    from tclose_spark.api.audit import Audit, Explanation


@with_options(AuditOptions)
def audit(
    table: TableName,
    expectations_output: Annotated[
        str | None,
        typer.Option(
            "--expectations-output",
            metavar="PATH",
            help="Write the Great Expectations suite that checks it (JSON).",
        ),
    ] = None,
    labels: Annotated[
        bool,
        typer.Option(
            "--labels/--no-labels",
            help="Print labels of the worst classes, and sensitive values. Use --no-labels if the "
            "output is kept, and on raw tables.",
        ),
    ] = True,
    as_json: AsJson = False,
    html: AsPage = None,
    **typed: Any,
) -> None:
    """Is this table already safe? Every measure, exact, on any table: exit 0 if all requirements
    hold, 1 if not.
    """
    from tclose_spark.api.audit import audit as audit_table

    require_new("--classes-output", typed["classes_output"], in_folder=False)
    require_new("--expectations-output", expectations_output)
    require_new("--html", html)
    typed |= {"joint": typed["joint"] or (), "earlier": typed["earlier"] or ()}
    found = audit_table(table, **table_arguments(typed))
    found = found if labels else found.without_labels()
    if expectations_output is not None:
        Path(expectations_output).write_text(found.suite + "\n", encoding="utf-8")
    _show(found, as_json, html)
    found.require_holds()


@with_options(ExplainOptions)
def explain(table: TableName, as_json: AsJson = False, html: AsPage = None, **typed: Any) -> None:
    """One class: both distributions side by side, the distance, and which mass moves where at what
    cost.
    """
    from tclose_spark.api.audit import explain as explain_class

    require_new("--html", html)
    _show(
        explain_class(
            table,
            **table_arguments(typed | {"labels": parse_labels(typed["labels"] or [])}),
        ),
        as_json,
        html,
    )


def _show(found: Audit | Explanation, as_json: bool, html: str | None) -> None:
    """Prints a result, and writes its page."""
    if html is not None:
        write_private("--html", html, found.page)
    if as_json:
        show_json(found.to_json())
    else:
        show(found.lines(), wrapped=True)


def fingerprint(
    table: TableName,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            metavar="FILE",
            help="Require the fingerprint that this certificate names.",
        ),
    ] = None,
    format_: Format = None,
    option: ReaderOptions = None,
    engine: Engine = None,
) -> None:
    """The fingerprint of any table: whether it is the release that a certificate is of."""
    from tclose_spark.api.command_line import reader_options
    from tclose_spark.api.fingerprint import fingerprint as fingerprint_of

    named = None if certificate is None else _named_in(certificate)
    found = fingerprint_of(table, format=format_, options=reader_options(option), engine=engine)
    show([found])
    if named is not None and found != named:
        raise GuaranteeError(
            f"{table} is not the release of {certificate}, which has the fingerprint {named}",
        )


def _named_in(certificate: Path) -> str:
    """The fingerprint in a certificate.

    Raises:
        InputError: if the file is none.
    """
    try:
        return str(json.loads(certificate.read_text(encoding="utf-8"))["release"]["fingerprint"])
    except OSError as error:
        raise InputError(f"--certificate {certificate}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            f"--certificate {certificate}: this is not the certificate of a release",
        ) from None
