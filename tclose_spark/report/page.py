"""Pages of one design: a template of report/ or of an option on `base.html.j2`, as one HTML file
that loads nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from tclose_spark.io.template_cache import template_cache
from tclose_spark.table.writing import number


def render(template: str, **variables: Any) -> str:
    """The page of a template. Text of variables is escaped unless it is `Markup`."""
    return _environment().get_template(template).render(**variables)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=ChoiceLoader(
            [PackageLoader("tclose_spark", folder) for folder in ("report", "options")],
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=template_cache(),
    )
    environment.filters |= {"number": number, "percent": percent, "utc": utc}
    return environment


def percent(share: float) -> str:
    """A share of 1 as a percentage; only 0 becomes "0%", and only 1 "100%".

    >>> [percent(share) for share in (0, 0.00001, 0.254, 0.99999, 1)]
    ['0%', '< 0.1%', '25.4%', '> 99.9%', '100%']
    """
    if 0 < share < 0.0005:
        return "< 0.1%"
    if 0.9995 <= share < 1:
        return "> 99.9%"
    return f"{100 * share:.1f}".removesuffix(".0") + "%"


def utc(moment: str) -> str:
    """An ISO 8601 moment in UTC, to the minute."""
    return datetime.fromisoformat(moment).astimezone(UTC).strftime("%Y-%m-%d, %H:%M UTC")
