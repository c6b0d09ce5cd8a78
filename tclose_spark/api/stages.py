"""`tclose_spark.run_stage`: the stages of a release one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tclose_spark.api.arguments import Spec, Table, Where, given_run
from tclose_spark.api.engine_choice import asked_engine
from tclose_spark.api.plan import Planned
from tclose_spark.api.release import Release
from tclose_spark.api.session import Log, Progress, run_stages
from tclose_spark.api.signatures import require_type, verb
from tclose_spark.api.stage_names import READ_THE_INPUT, STAGES
from tclose_spark.errors import ConfigurationError

OPTIONS: Mapping[str, Mapping[str, type]] = {
    "release": {"if_changed": bool, "resume": bool, "details": bool},
    "verify": {"finished": bool, "other_version": bool},
}
"""What stages take besides, with its type."""


@verb
def run_stage(
    name: str,
    table: Table,
    spec: Spec,
    output: Where = None,
    *,
    overwrite: bool = False,
    overrides: Sequence[str] = (),
    log: Log | None = print,
    progress: Progress | None = None,
    engine: str | None = None,
    **options: Any,
) -> Any:
    """One stage of a release, from the output of the one before: profile, plan, anonymize, verify,
    report or publish. Only `profile` reads the table. plan returns a `Planned`, publish a
    `Release`.

    See `release` for the other arguments. options: of the stage, such as `finished=True` of verify.
    """
    if name not in STAGES:
        raise ConfigurationError(f"there is no stage {name!r}; expected {', '.join(STAGES)}")
    known = OPTIONS.get(name, {})
    for option, value in options.items():
        if option not in known:
            raise ConfigurationError(
                f"{option}: stage {name} takes {', '.join(known) or 'no options'}"
            )
        require_type(option, value, known[option])
    run = given_run(table, spec, output, overrides, reads=name in READ_THE_INPUT)
    result = run_stages(
        run, name, log=log, overwrite=overwrite, progress=progress, engine=engine, **options
    )
    if name == "plan":
        return Planned(run.spec, result)
    return (
        Release(run.spec.output, asked_engine(engine, run.spec).engine)
        if name in ("release", "publish")
        else result
    )
