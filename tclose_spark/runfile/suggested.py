"""What was changed in a run file after `tclose suggest` wrote it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from tclose_spark.runfile.section import Section
from tclose_spark.runfile.spec import ReleaseSpec

COMPARED = ("attributes", "privacy", "method")
NOT_SET = "not set"


class Change(NamedTuple):
    """A key of the run file whose value is not the suggested one. suggested, now: as JSON, or
    NOT_SET.
    """

    key: str
    suggested: str
    now: str


def changes_of(spec: ReleaseSpec) -> list[Change] | None:
    """The keys that differ from the suggestion in the run file, defaults filled in; None if it has
    no suggestion.
    """
    if spec.suggested is None:
        return None
    suggested = ReleaseSpec.model_validate(spec.suggested)
    return [
        change
        for key in COMPARED
        for change in _changes(key, _tree(getattr(suggested, key)), _tree(getattr(spec, key)))
    ]


def change_notes(changes: list[Change] | None) -> list[str]:
    """The same for the console."""
    if changes is None:
        return []
    if not changes:
        return ["the run file is as tclose suggest wrote it"]
    keys = ", ".join(change.key for change in changes)
    return [
        f"changed after tclose suggest wrote the run file: {keys}; both values are in the internal "
        "report",
    ]


def _tree(value: Any) -> Any:
    """A part of a run file as plain values, without keys that have their default. A method keeps
    its name.
    """
    if isinstance(value, Section):
        fields = type(value).model_fields
        return {
            key: _tree(part)
            for key, part in value
            if key == "name" or part != fields[key].get_default(call_default_factory=True)
        }
    if isinstance(value, Mapping):
        return {str(key): _tree(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_tree(part) for part in value]
    return float(value) if isinstance(value, Fraction) else value


def _changes(key: str, before: Any, now: Any) -> Iterator[Change]:
    if isinstance(before, dict) and isinstance(now, dict):
        for name in dict.fromkeys([*before, *now]):
            yield from _changes(f"{key}.{name}", before.get(name), now.get(name))
    elif before != now:
        yield Change(key, _text(before), _text(now))


def _text(value: Any) -> str:
    return NOT_SET if value is None else json.dumps(value, ensure_ascii=False, default=str)
