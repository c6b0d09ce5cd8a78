"""The base of all parts of a certificate, and the kinds of numbers in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from tclose_spark.io.run_state import validated

Count = Annotated[int, Field(ge=0)]
AtLeastOne = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
NotNegative = Annotated[float, Field(ge=0)]
ExactText = Annotated[str, Field(pattern=r"^[0-9]+(/[0-9]+)?$")]
"""A number as p or p/q."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class CertificatePart(BaseModel):
    """A part of a certificate. Its keys have the order of the fields.

    A key whose field is None by default is absent where it is None. Other keys are null there.
    Models are built when the first one is made: most commands make none.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True, defer_build=True)

    @classmethod
    def read(cls, found: Mapping[str, object]) -> Self:
        """The part with these keys.

        Raises:
            KeyError: with the first key that is missing.
            ValueError: if a value does not fit.
        """
        return validated(cls, found)

    def to_json(self) -> dict[str, Any]:
        """As the file has it."""
        return self.model_dump(mode="json", by_alias=True)

    @model_serializer(mode="wrap")
    def _without_absent(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {
            key: value
            for key, value in write(self).items()
            if value is not None or not self._may_be_absent(key)
        }

    @classmethod
    def _may_be_absent(cls, key: str) -> bool:
        field = cls.model_fields.get(key)
        return field is not None and not field.is_required() and field.default is None
