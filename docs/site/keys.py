"""Every key of a run file, from its JSON Schema: what it may be, its default, and what its
docstring says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]
WORDS = {"string": "text", "integer": "whole number", "boolean": "true, false", "null": "nothing"}


def page(schema: Schema) -> str:
    """A section for the run file itself, and one for each part that has keys of its own."""
    parts = [("the run file", schema), *sorted(schema["$defs"].items())]
    lines = ["## Every key", ""]
    for name, part in parts:
        if "properties" in part:
            lines += [
                f"### {name}",
                "",
                part.get("description", "").partition("\n")[0],
                "",
                *_table(part),
                "",
            ]
    return "\n".join(lines)


def _table(part: Schema) -> Iterator[str]:
    required = part.get("required", ())
    yield "| key | may be | by default | |"
    yield "|---|---|---|---|"
    for key, value in part["properties"].items():
        default = (
            "*required*"
            if key in required
            else f"`{value['default']}`"
            if "default" in value
            else ""
        )
        yield f"| `{key}` | {_kind(value)} | {default} | {_line(value.get('description', ''))} |"


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("{", "&#123;")


def _kind(value: Schema) -> str:
    """What a value may be, in words."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return ", ".join(f"`{one}`" for one in value["enum"])
    if any(key in value for key in ("anyOf", "oneOf")):
        return ", or ".join(
            dict.fromkeys(_kind(one) for one in value.get("anyOf", value.get("oneOf", ()))),
        )
    kinds = value.get("type", "anything")
    return ", or ".join(
        _named(kind, value) for kind in (kinds if isinstance(kinds, list) else [kinds])
    )


def _named(kind: str, value: Schema) -> str:
    if kind == "array":
        return f"list of {_kind(value.get('items', {}))}"
    if kind == "object" and isinstance(value.get("additionalProperties"), Mapping):
        return f"by name: {_kind(value['additionalProperties'])}"
    return WORDS.get(kind, kind)
