"""The commands that judge a table that any tool made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tclose_spark.cli.console import show, show_json
from tclose_spark.cli.options import (
    AsJson,
    AsPage,
    Closeness,
    Engine,
    Format,
    Hierarchies,
    Quasi,
    ReaderOptions,
    Reference,
    RunFile,
    Sensitive,
    TableName,
    described_columns,
    parse_labels,
    require_new,
    write_private,
)
from tclose_spark.errors import GuaranteeError, InputError


def audit(
    table: TableName,
    quasi_identifiers: Quasi = None,
    sensitive: Sensitive = None,
    hierarchy: Hierarchies = None,
    config: RunFile = None,
    k: Annotated[int | None, typer.Option("--k", help="Records that every class must have.")] = None,
    t: Closeness = None,
    n: Annotated[
        int | None, typer.Option("--n", help="Require (n, t)-closeness: t to a natural superset of n records.")
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            "--person", metavar="COLUMN", help="Who a row is about; people may have several, and are counted."
        ),
    ] = None,
    gain: Annotated[
        str, typer.Option("--gain", help="A class is exposed to an attack that raises a belief by more than this.")
    ] = "0.2",
    format_: Format = None,
    option: ReaderOptions = None,
    reference: Reference = None,
    background: Annotated[
        str | None, typer.Option("--background", metavar="TABLE", help="People whom an adversary knows, to join.")
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(
            "--population",
            metavar="FRACTION|weight:COLUMN|table:TABLE",
            help="What the table is a sample of. Measures the risk of re-identification.",
        ),
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option("--threshold", help="A record counts as at risk above this chance; by default 0.09."),
    ] = None,
    earlier: Annotated[
        list[str] | None,
        typer.Option(
            "--earlier",
            metavar="TABLE",
            help="An earlier release of the same people, to judge together with the table: with --person exactly, "
            "with --background for listed people, otherwise by labels. May be repeated, oldest first.",
        ),
    ] = None,
    classes_output: Annotated[
        str | None, typer.Option("--classes-output", metavar="PATH", help="Write the class table (Delta).")
    ] = None,
    expectations_output: Annotated[
        str | None,
        typer.Option(
            "--expectations-output", metavar="PATH", help="Write the Great Expectations suite that checks it (JSON)."
        ),
    ] = None,
    supersets: Annotated[
        int, typer.Option("--supersets", min=1, help="The most boxes of labels to search for (n, t).")
    ] = 100_000,
    attacks: Annotated[bool, typer.Option("--attacks/--no-attacks", help="Measure attacks, too.")] = True,
    special_uniques: Annotated[
        int | None,
        typer.Option(
            "--special-uniques",
            metavar="M",
            help="Search for rows that are unique by up to M quasi-identifiers, and which make them so (SUDA).",
        ),
    ] = None,
    combinations: Annotated[
        int, typer.Option("--combinations", min=1, help="The most combinations to examine for special uniques.")
    ] = 10_000,
    missing: Annotated[
        str | None,
        typer.Option(
            "--missing",
            metavar="any|value",
            help="any: a missing quasi-identifier could be any value, in k and in --background.",
        ),
    ] = None,
    joint: Annotated[
        list[str] | None,
        typer.Option(
            "--joint",
            metavar="A,B:T",
            help="Require t of the tuples of these sensitive attributes, all equally far apart. May be repeated.",
        ),
    ] = None,
    labels: Annotated[
        bool,
        typer.Option(
            "--labels/--no-labels",
            help="Print labels of the worst classes, and sensitive values. Use --no-labels if the output is kept, and "
            "on raw tables.",
        ),
    ] = True,
    as_json: AsJson = False,
    html: AsPage = None,
    engine: Engine = None,
) -> None:
    """Is this table already safe? Every measure, exact, on any table: exit 0 if all requirements hold, 1 if not."""
    from tclose_spark.api.audit import audit as audit_table
    from tclose_spark.io.input.table_argument import options_of

    require_new("--classes-output", classes_output, in_folder=False)
    require_new("--expectations-output", expectations_output)
    require_new("--html", html)
    found = audit_table(
        table,
        **described_columns(quasi_identifiers, sensitive, hierarchy, config),
        k=k,
        t=t,
        n=n,
        person=person,
        gain=gain,
        reference=reference,
        background=background,
        population=population,
        threshold=threshold,
        earlier=earlier or [],
        classes_output=classes_output,
        supersets=supersets,
        attacks=attacks,
        special_uniques=special_uniques,
        combinations=combinations,
        missing=missing,
        joint=joint or [],
        format=format_,
        options=options_of(option or []),
        engine=engine,
    )
    from tclose_spark.auditing.page import audit_page
    from tclose_spark.auditing.views import audit_lines

    found = found if labels else found.without_labels()
    if expectations_output is not None:
        Path(expectations_output).write_text(found.suite + "\n", encoding="utf-8")
    if html is not None:
        write_private("--html", html, audit_page(found, table))
    if as_json:
        show_json(found.to_json())
    else:
        show(audit_lines(found, table), wrapped=True)
    if not found.holds:
        broken = [f"{g.measure}{f' of {g.attribute}' if g.attribute else ''}" for g in found.judged if not g.holds]
        raise GuaranteeError(f"{table} does not meet the requirements: {', '.join(broken)}")


def explain(
    table: TableName,
    quasi_identifiers: Quasi = None,
    sensitive: Sensitive = None,
    hierarchy: Hierarchies = None,
    config: RunFile = None,
    t: Closeness = None,
    format_: Format = None,
    option: ReaderOptions = None,
    reference: Reference = None,
    attribute: Annotated[
        str | None, typer.Option("--attribute", help="The sensitive attribute; by default the farthest.")
    ] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option("--class", metavar="COLUMN=LABEL", help="The class; by default the farthest. May be repeated."),
    ] = None,
    as_json: AsJson = False,
    html: AsPage = None,
    engine: Engine = None,
) -> None:
    """One class: both distributions side by side, the distance, and which mass moves where at what cost."""
    from tclose_spark.api.audit import explain as explain_class
    from tclose_spark.io.input.table_argument import options_of

    require_new("--html", html)
    explanation = explain_class(
        table,
        **described_columns(quasi_identifiers, sensitive, hierarchy, config),
        t=t,
        attribute=attribute,
        labels=parse_labels(labels or []),
        reference=reference,
        format=format_,
        options=options_of(option or []),
        engine=engine,
    )
    from tclose_spark.auditing.page import explanation_page
    from tclose_spark.auditing.views import explanation_lines

    if html is not None:
        write_private("--html", html, explanation_page(explanation, table))
    if as_json:
        show_json(explanation.to_json())
    else:
        show(explanation_lines(explanation), wrapped=True)


def fingerprint(
    table: TableName,
    certificate: Annotated[
        Path | None,
        typer.Option("--certificate", metavar="FILE", help="Require the fingerprint that this certificate names."),
    ] = None,
    format_: Format = None,
    option: ReaderOptions = None,
    engine: Engine = None,
) -> None:
    """The fingerprint of any table: whether it is the release that a certificate is of."""
    from tclose_spark.api.fingerprint import fingerprint as fingerprint_of
    from tclose_spark.io.input.table_argument import options_of

    named = None if certificate is None else _named_in(certificate)
    found = fingerprint_of(table, format=format_, options=options_of(option or []), engine=engine)
    show([found])
    if named is not None and found != named:
        raise GuaranteeError(f"{table} is not the release of {certificate}, which has the fingerprint {named}")


def _named_in(certificate: Path) -> str:
    """The fingerprint in a certificate.

    Raises:
        InputError: if the file is none.
    """
    try:
        return str(json.loads(certificate.read_text(encoding="utf-8"))["release"]["fingerprint"])
    except OSError as error:
        raise InputError(f"--certificate {certificate}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"--certificate {certificate}: this is not the certificate of a release") from None
