"""Words in column names, and what they suggest: `lexicon.yaml`, read once."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

import yaml

HintedRole = Literal["direct", "quasi", "sensitive"]


@dataclass(frozen=True, kw_only=True)
class Concept:
    """Words of one meaning, and what they suggest about a column. `lexicon.yaml` explains the fields."""

    name: str
    role: HintedRole
    rank: int
    words: tuple[str, ...]
    either: bool = False
    unique: bool = False


def _words(text: str) -> tuple[str, ...]:
    return tuple(entry.strip() for entry in text.split(","))


_LEXICON: dict[str, Any] = yaml.safe_load(files(__package__).joinpath("lexicon.yaml").read_text(encoding="utf-8"))
CONCEPTS = tuple(Concept(**{**entry, "words": _words(entry["words"])}) for entry in _LEXICON["concepts"])
NUMBERS, CODES, OF_OTHERS, OF_THINGS, TECHNICAL = (
    frozenset(_words(_LEXICON[key])) for key in ("numbers", "codes", "of_others", "of_things", "technical")
)
