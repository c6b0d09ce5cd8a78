"""A figure of a paper: what this project computes for it, beside what the paper prints."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "docs/papers.json"
PICTURES = ROOT / "docs/pictures/papers"
DATA = Path(os.environ.get("TCLOSE_DATA") or ROOT.parent / "shared" / "data")
HALF_DIGIT = 6e-7  # of figures with six digits


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number.

    place: the paper and its figure, table or section.
    what: of what it is.
    ours: computed here.
    printed: by the paper, if it prints the number.
    tolerance: by how much `ours` may differ when it is computed again, and from `printed`.
    why: the reason if it differs from `printed` by more.
    """

    place: str
    what: str
    ours: float
    printed: float | None = None
    tolerance: float = HALF_DIGIT
    why: str = ""


def figures(
    place: str,
    ours: Mapping[object, object],
    printed: Mapping[object, float] | None = None,
    tolerance: float = HALF_DIGIT,
    why: str = "",
) -> list[Figure]:
    """Figures of one place, by what they are of. why: of those that differ."""
    found = []
    for what, number in ours.items():
        value, said = float(number), (printed or {}).get(what)  # type: ignore[arg-type]
        differs = said is not None and abs(value - said) > tolerance
        found.append(
            Figure(
                place=place,
                what=str(what),
                ours=value,
                printed=said,
                tolerance=tolerance,
                why=why if differs else "",
            ),
        )
    return found


def write(found: Iterable[Figure]) -> None:
    """Writes docs/papers.json, one line a figure."""
    lines = []
    for figure in found:
        tree = {"what": figure.what, "ours": round(figure.ours, 6), "tolerance": figure.tolerance}
        if figure.printed is not None:
            tree["printed"] = figure.printed
        if figure.why:
            tree["why"] = figure.why
        lines.append(json.dumps({"place": figure.place, **tree}))
    FIGURES.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def read() -> list[Figure]:
    """The figures of docs/papers.json."""
    return [Figure(**tree) for tree in json.loads(FIGURES.read_text(encoding="utf-8"))]
