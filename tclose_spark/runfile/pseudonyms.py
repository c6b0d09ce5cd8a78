"""Direct identifiers that are published as keyed pseudonyms."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from tclose_spark.runfile.section import Section

OWN: Final = "own secret"
NAMED: Final = "named secret"
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


COLUMN = r"^[^ ,;{}()\n\t=]+$"
"""A name that Delta takes."""


def _column(name: str) -> str:
    if not re.fullmatch(COLUMN, name):
        raise ValueError("expected a column name without blanks, tabs, line ends and , ; { } ( ) =")
    return name


class Pseudonym(Section):
    """How the pseudonym of a direct identifier is keyed and named."""

    secret: str | None = None
    """The environment variable with the secret that keys the pseudonyms. Releases with the same
    secret give a value the same pseudonym. Without it, the run's own secret keys them.
    """
    as_: (
        Annotated[
            str, AfterValidator(_column), WithJsonSchema({"type": "string", "pattern": COLUMN})
        ]
        | None
    ) = Field(default=None, alias="as")
    """The name of the published column; without it, that of the identifier."""

    @property
    def keyed(self) -> Literal["own secret", "named secret"]:
        """Which secret keys it: OWN or NAMED."""
        return OWN if self.secret is None else NAMED

    @model_validator(mode="after")
    def _a_variable(self) -> Self:
        if self.secret is not None and not VARIABLE.fullmatch(self.secret):
            raise ValueError(
                "secret is no name of an environment variable (capital letters, digits and _); it "
                "is not shown here, since it may be a secret"
            )
        return self


def _settings(value: Any) -> Any:
    """A list of columns, or columns without settings, with the default ones."""
    value = {} if value is None else value
    if isinstance(value, list | tuple) and all(isinstance(name, str) for name in value):
        value = dict.fromkeys(value)
    return (
        {name: {} if one is None else one for name, one in value.items()}
        if isinstance(value, dict)
        else value
    )


Pseudonyms = Annotated[
    dict[str, Pseudonym],
    BeforeValidator(
        _settings, json_schema_input_type=list[str] | dict[str, Pseudonym | None] | None
    ),
]
