"""`tclose_spark.release`, its stages one at a time, and a finished release judged again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tclose_spark.api.release import Release
from tclose_spark.api.running import STAGES, carry_out_stages
from tclose_spark.api.specs import Spec, Table, Where
from tclose_spark.api.work import Log, announcer, working_on
from tclose_spark.errors import ConfigurationError

READ_TABLES = ("release", "profile")
"""The stages that read the input."""


def release(
    table: Table,
    spec: Spec,
    output: Where = None,
    *,
    overwrite: bool = False,
    if_changed: bool = False,
    overrides: Sequence[str] = (),
    log: Log | None = print,
) -> Release:
    """Releases a table: all stages, from raw rows to a verified, published release.

    table: a DataFrame of Spark, pandas or polars, a pyarrow table, the path of a CSV, Parquet or Delta table, or None
        for the input that the spec names. A pandas index is no column.
    spec: a `ReleaseSpec`, a dict like a run file, or the path of a run file. Its input and output may be left out.
    output: the folder that becomes `public/` and `internal/`; by default the spec's.
    overwrite: replace a finished output once the new one is verified.
    if_changed: do nothing where the finished release is one of this very input, spec and hierarchies, else replace it.
        Of a table in memory nobody knows whether it has changed.
    overrides: of keys of the spec, such as `["privacy.k=20"]`.
    log: what is told of the stages, a line at a time; None for silence.

    Raises:
        GuaranteeError: if the release does not hold what is asked; nothing is published.
        ConfigurationError: if the spec or the installation is wrong.
        InputError: if the table is not what the spec says.
        UnreachableError: if what is asked cannot be reached; the message says what can.
    """
    with working_on(table, spec, output, "release", overrides) as given:
        how: dict[str, Any] = {"overwrite": overwrite or if_changed, "session": given.session, "if_changed": if_changed}
        carry_out_stages(given.spec, "release", announce=announcer(log), **how)
        return Release(given.spec.output)


def run_stage(
    name: str,
    table: Table,
    spec: Spec,
    output: Where = None,
    *,
    overwrite: bool = False,
    overrides: Sequence[str] = (),
    log: Log | None = print,
    **options: Any,
) -> Any:
    """One stage of a release, from what the one before left in the output: profile, plan, anonymize, verify, report or
    publish. Only `profile` reads the table.

    See `release` for the rest. options: of the stage, such as `finished=True` of verify.
    """
    if name not in STAGES:
        raise ConfigurationError(f"there is no stage {name!r}; expected {', '.join(STAGES)}")
    with working_on(table, spec, output, name, overrides, reads=name in READ_TABLES) as given:
        how: dict[str, Any] = {"overwrite": overwrite, "session": given.session, **options}
        return carry_out_stages(given.spec, name, announce=announcer(log), **how)[1]


def verify(
    table: Table, spec: Spec, output: Where = None, *, overrides: Sequence[str] = (), log: Log | None = print
) -> Release:
    """Judges a finished release again: the table, the certificate and the report, from what lies there. Nothing is
    changed, and the release given.

    table, spec, output: those of the release. The table is not read: what the profile kept of it is. One in memory may
        be None.

    Raises:
        GuaranteeError: if it does not hold what was asked, or does not agree with its certificate: withdraw it.
        ConfigurationError: if there is no finished release, or it was made with another spec.
    """
    with working_on(table, spec, output, "verify", overrides, reads=False) as given:
        carry_out_stages(given.spec, "verify", announce=announcer(log), session=given.session, finished=True)
        return Release(given.spec.output)
