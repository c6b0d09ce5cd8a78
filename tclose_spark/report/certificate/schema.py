"""The JSON Schema of certificates: from the models that build them, with their docstrings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.runfile.schema import DIALECT, DescribedSchema

FILE = Path(__file__).parent.with_name("certificate.schema.json")
"""The schema in the package."""
TITLE = "Certificate of a release by tclose_spark"
IF_BROUGHT = {
    "if": {"required": ["brought"]},
    "then": {"additionalProperties": {"description": "A section of an option of another package."}},
    "unevaluatedProperties": False,
}
"""Only a certificate that names other packages has sections of theirs."""


class _CertificateSchema(DescribedSchema):
    """Optional keys are absent, and never null."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """A field that is None by default, as it is where it is present."""
        inner = schema["schema"]
        if schema.get("default", ...) is None and inner["type"] == "nullable":
            return self.generate_inner(inner["schema"])
        return super().default_schema(schema)


def certificate_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of `certificate.json`."""
    made = Certificate.model_json_schema(schema_generator=_CertificateSchema)
    definitions = made.pop("$defs")
    del made["additionalProperties"]
    return {"$schema": DIALECT, **made, "title": TITLE, **IF_BROUGHT, "$defs": definitions}


def certificate_schema_text() -> str:
    """The schema as JSON text."""
    return json.dumps(certificate_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(certificate_schema_text(), encoding="utf-8")
