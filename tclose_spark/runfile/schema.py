"""The JSON Schema of a run file, for editors: from the models that validate it, with their
docstrings.

It covers what can be checked without looking at a table, at files, or at two keys together. `tclose
release` checks the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel
from pydantic._internal._docs_extraction import extract_docstrings_from_cls
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from tclose_spark.runfile.loading import REQUIRED
from tclose_spark.runfile.registry import DEFAULT, known_methods
from tclose_spark.runfile.section import Section
from tclose_spark.runfile.spec import ReleaseSpec

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FILE = Path(__file__).with_name("run_file.schema.json")
"""The schema in the package, with the methods of the package."""


class DescribedSchema(GenerateJsonSchema):
    """Models and fields are described by their docstrings. Fields have no titles, which would
    repeat their names.
    """

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never."""
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """A section, described by its docstring in one line a paragraph, and its fields by
        theirs.
        """
        made = super().model_schema(schema)
        for name, text in docstrings_of(schema["cls"]).items():
            field = schema["cls"].model_fields[name]
            if field.annotation.__doc__ != text:  # else it is in the schema of the section
                made["properties"].get(field.alias or name, {})["description"] = text
        for key, common in common_words(schema["cls"]):
            made["properties"][common] = {
                **made["properties"][key],
                "description": f"The same as `{key}`.",
            }
        for part in (made, *made["properties"].values()):
            if "description" in part:
                part["description"] = "\n\n".join(
                    " ".join(p.split()) for p in part["description"].split("\n\n")
                )
        return made


def common_words(section: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """(key, common word) of each further name of a key."""
    for field in section.model_fields.values():
        if isinstance(field.validation_alias, AliasChoices):
            key, *others = map(str, field.validation_alias.choices)
            yield from ((key, common) for common in others)


def docstrings_of(section: type[BaseModel]) -> dict[str, str]:
    """The docstrings of its fields. They are read from the source, which would take long as each
    class is made.
    """
    found: dict[str, str] = {}
    for one in reversed(section.__mro__):
        if issubclass(one, BaseModel) and one is not BaseModel:
            found |= extract_docstrings_from_cls(one, use_inspect=True)
    return {name: found[name] for name in section.model_fields if name in found}


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a run file, with the settings of every installed
    method.
    """
    methods = {name: method.settings for name, method in known_methods().items()}
    models: list[type[Section]] = [ReleaseSpec, *methods.values()]
    places, made = models_json_schema(
        [(model, "validation") for model in models],
        schema_generator=DescribedSchema,
    )
    definitions = made["$defs"]
    run_file = definitions.pop(places[ReleaseSpec, "validation"]["$ref"].rpartition("/")[2])
    for name, settings in methods.items():
        section = definitions[places[settings, "validation"]["$ref"].rpartition("/")[2]]
        section["required"] = [] if name == DEFAULT else ["name"]
    del definitions["MethodSettings"]
    described = run_file["properties"]["method"]["description"]
    union = [places[settings, "validation"] for settings in methods.values()]
    run_file["properties"]["method"] = {"oneOf": union, "description": described}
    for name in REQUIRED:
        run_file["properties"][name].pop("default", None)
    run_file["required"] = [
        name for name in run_file["properties"] if name in {*REQUIRED, *run_file["required"]}
    ]
    titled = {"$schema": DIALECT, **run_file, "title": "Run file of tclose_spark"}
    return {**titled, "$defs": dict(sorted(definitions.items()))}


def schema_text() -> str:
    """The schema as JSON text."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"
