"""Types of columns by the names that Spark and Delta give them. Columns themselves are Arrow's
everywhere.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pyarrow as pa

MALFORMED = "_tclose_malformed"
"""The column that marks malformed rows of a CSV file."""
UNREADABLE = b"tclose_unreadable"
"""The key in a field's metadata of why its values cannot be read, and the remedy."""
TYPE = b"tclose_type"
"""The key in a field's metadata of Spark's name of its type, if no release can have it. Its Arrow
type is null.
"""
NAMES = {
    pa.string(): ("string", "string"),
    pa.bool_(): ("boolean", "boolean"),
    pa.int8(): ("byte", "tinyint"),
    pa.int16(): ("short", "smallint"),
    pa.int32(): ("integer", "int"),
    pa.int64(): ("long", "bigint"),
    pa.float32(): ("float", "float"),
    pa.float64(): ("double", "double"),
    pa.date32(): ("date", "date"),
    pa.binary(): ("binary", "binary"),
    pa.timestamp("us", "UTC"): ("timestamp", "timestamp"),
    pa.timestamp("us"): ("timestamp_ntz", "timestamp_ntz"),
    pa.null(): ("void", "void"),
}
"""By Arrow type, its name in Delta's schemas and in messages of Spark."""
TYPES = {names[0]: kind for kind, names in NAMES.items()}


def type_name(field: pa.Field) -> str:
    """The type of a column, as Spark names it.

    >>> type_name(pa.field("age", pa.int64())), type_name(pa.field("tags", pa.list_(pa.string())))
    ('bigint', 'array<string>')
    """
    told = (field.metadata or {}).get(TYPE)
    return told.decode() if told else _simple(field.type)


def why_unreadable(field: pa.Field) -> str:
    """Why the values of a column cannot be read; empty if they can."""
    return str((field.metadata or {}).get(UNREADABLE, b""), "utf-8")


def is_unsupported(kind: pa.DataType) -> bool:
    """Whether no release can have a column of this type."""
    return bool(pa.types.is_null(kind) or pa.types.is_nested(kind))


def how_to_flatten(type_name: str) -> str:
    """What to do about a column of a type that no release can have.

    >>> how_to_flatten("array<bigint>")
    'flatten it to a row or column for each element (pandas, Spark: explode), or leave it out'
    """
    if type_name.startswith("struct"):
        return (
            "flatten it to a column for each field (pandas: json_normalize, Spark: select "
            "field.*), or leave it out"
        )
    if type_name.startswith(("array", "map")):
        return (
            "flatten it to a row or column for each element (pandas, Spark: explode), or leave it "
            "out"
        )
    return "convert it to plain values, or leave it out"


def readable(schema: pa.Schema) -> list[str]:
    """The columns whose values can be read, without the mark of malformed rows. Of names that
    differ in case only, none can be.
    """
    lower = Counter(name.lower() for name in schema.names)
    return [
        field.name
        for field in schema
        if not is_unsupported(field.type)
        and not why_unreadable(field)
        and field.name != MALFORMED
        and lower[field.name.lower()] == 1
    ]


def unsupported_field(name: str, type_name: str) -> pa.Field:
    """A column of a type that no release can have, by Spark's name of it."""
    return pa.field(name, pa.null(), metadata={TYPE: type_name.encode()})


def field_of(name: str, kind: Any) -> pa.Field:
    """A column of a type as Delta's schemas have it.

    >>> str(field_of("age", "long").type), type_name(field_of("tags", {"type": "array", "elementType": "long"}))
    ('int64', 'array<bigint>')
    """
    if (
        isinstance(kind, dict)
        or kind == "void"
        or (kind not in TYPES and not kind.startswith("decimal("))
    ):
        return unsupported_field(name, _simple_name(kind))
    return pa.field(name, _arrow_type(kind))


def _simple_name(kind: Any) -> str:
    """Spark's name of a type in Delta's schemas."""
    if not isinstance(kind, dict):
        return NAMES[TYPES[kind]][1] if kind in TYPES else str(kind)
    if kind["type"] == "array":
        return f"array<{_simple_name(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{_simple_name(kind['keyType'])},{_simple_name(kind['valueType'])}>"
    fields = ",".join(f"{field['name']}:{_simple_name(field['type'])}" for field in kind["fields"])
    return f"struct<{fields}>"


def _simple(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_map(kind):
        return f"map<{_simple(kind.key_type)},{_simple(kind.item_type)}>"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"array<{_simple(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{','.join(f'{field.name}:{_simple(field.type)}' for field in kind)}>"
    return NAMES[kind][1] if kind in NAMES else str(kind)


def delta_schema(schema: pa.Schema) -> str:
    """A schema as Delta's log has it, and Spark the metadata of a Parquet file: all columns
    nullable, no metadata.
    """
    return json.dumps(_struct(schema), separators=(",", ":"), ensure_ascii=False)


def _struct(fields: Any) -> dict[str, Any]:
    listed = [
        {"name": field.name, "type": _delta_type(field.type), "nullable": True, "metadata": {}}
        for field in fields
    ]
    return {"type": "struct", "fields": listed}


def _delta_type(kind: pa.DataType) -> Any:
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_struct(kind):
        return _struct(kind)
    if pa.types.is_list(kind):
        return {"type": "array", "elementType": _delta_type(kind.value_type), "containsNull": True}
    return NAMES[kind][0]


def arrow_schema(text: str) -> pa.Schema:
    """The schema that `delta_schema` wrote.

    Raises:
        ValueError: if it has a type that no release has.
    """
    return pa.schema(
        [(field["name"], _arrow_type(field["type"])) for field in json.loads(text)["fields"]],
    )


def _arrow_type(name: Any) -> pa.DataType:
    if isinstance(name, dict):
        if name["type"] == "array":
            return pa.list_(_arrow_type(name["elementType"]))
        if name["type"] == "struct":
            return pa.struct(
                [(field["name"], _arrow_type(field["type"])) for field in name["fields"]],
            )
    elif name.startswith("decimal("):
        return pa.decimal128(*map(int, name[len("decimal(") : -1].split(",")))
    elif name in TYPES:
        return TYPES[name]
    raise ValueError(f"no release has a column of type {name}")
