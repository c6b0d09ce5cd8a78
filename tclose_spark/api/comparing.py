"""`tclose_spark.compare`: which method loses least on this table, and what another k or t would cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from tclose_spark.api.planning import for_now
from tclose_spark.api.specs import Spec, Table
from tclose_spark.api.work import Log, announcer, working_on
from tclose_spark.comparing.commands import folder_of
from tclose_spark.comparing.request import ALL, ComparisonRequest, combinations, read_ks, read_methods, read_ts
from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.registry import MethodSettings

if TYPE_CHECKING:
    from tclose_spark.comparing.result import Comparison


def compare(
    table: Table,
    spec: Spec,
    k: int | Sequence[int] | None = None,
    t: Any = None,
    methods: str | Sequence[str | Mapping[str, Any] | MethodSettings] = ALL,
    *,
    sample: int | str = 50_000,
    output: str | PathLike[str] | None = None,
    plan_only: bool = False,
    overwrite: bool = False,
    overrides: Sequence[str] = (),
    log: Log | None = print,
) -> Comparison:
    """Carries out every method at every k and t on rows of a table, and measures what each release would lose.

    What it says is measured on raw rows: it stays inside.

    table, spec, overrides, log: see `release`; the spec needs no output.
    k: one, or several; by default the spec's.
    t: of all sensitive attributes that have one: one, or several, such as ["0.1", "0.2"]; by default their own.
    methods: `all`; or methods by name, with settings as on the command line (`sabre:bounds=proven`), as a dict, or as
        their settings (`Sabre(bounds="proven")`).
    sample: how many rows, drawn by their content; or `all`.
    output: a folder that is not public, where the page and the figures are written, and where a comparison that broke
        off goes on (not one of a table in memory). By default beside the spec's output; without one nothing is kept.
    plan_only: plan every combination, and move no row.
    overwrite: begin anew.

    Raises:
        ConfigurationError: naming what is asked wrong.
        InputError: if the table is not what the spec says.
        GuaranteeError: if a release does not hold what is asked, after all the others were made.
    """
    with for_now() as folder, working_on(table, spec, None, "compare", overrides, nowhere=folder) as given:
        tree = given.tree
        asked = combinations(
            tree,
            read_ks(_listed(k), given.spec),
            read_ts(_listed(t), tree),
            read_methods(_methods(methods), tree.get("method")),
        )
        from tclose_spark.comparing.run_comparison import run_comparison

        question = ComparisonRequest(
            spec=given.spec,
            combinations=asked,
            sample=str(sample),
            output=folder_of(None if output is None else fspath(output), given.spec.output),
            plan_only=plan_only,
            overwrite=overwrite,
        )
        comparison = run_comparison(question, given.session, announcer(log))
        comparison.require_all_hold()
        return comparison


def _listed(values: Any) -> str | None:
    """One value or several as they are typed."""
    if values is None or isinstance(values, str):
        return values
    return ",".join(map(str, values)) if isinstance(values, Sequence) else str(values)


def _methods(methods: str | Sequence[str | Mapping[str, Any] | MethodSettings]) -> str:
    """Methods as they are typed."""
    if isinstance(methods, str):
        return methods
    return ",".join(_method(method) for method in methods)


def _method(method: str | Mapping[str, Any] | MethodSettings) -> str:
    if isinstance(method, str):
        return method
    settings = (
        {"name": method.name, **method.model_dump(mode="json", exclude_unset=True)}
        if isinstance(method, MethodSettings)
        else dict(method)
    )
    if "name" not in settings:
        raise ConfigurationError(f"methods: {', '.join(settings)} without a name; expected {{'name': .., ..}}")
    return ":".join([str(settings.pop("name")), *(f"{key}={value}" for key, value in settings.items())])
