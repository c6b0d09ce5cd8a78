"""A few rows of a release for the terminal, as they are published, beside how precise each column's labels are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap

ROWS = 10
WIDTH = 80
NARROWEST = 7  # characters of a column
GAP = "  "


def preview_lines(
    columns: Sequence[str], rows: Sequence[Sequence[object]], losses: Mapping[str, float], width: int = WIDTH
) -> Iterator[str]:
    """The rows as a table of at most `width` characters; below the names, how precise labels of quasi-identifiers are.

    losses: the mean loss (NCP) of each quasi-identifier; its precision is what is left of 1. A column of bounds,
    `<name>_min` or `<name>_max`, has that of `<name>`; what is published as it is has none.

    >>> print(*preview_lines(["age", "disease"], [["[20, 29]", "flu"]], {"age": 0.125}), sep=chr(10))
    what is published: 1 of its rows, below the precision of their labels
      age       disease
      88%       as it is
      [20, 29]  flu
    """
    cells = [["" if value is None else str(value) for value in row] for row in rows]
    precision = [_precision(name, losses) for name in columns]
    wanted = [max(map(len, column)) for column in zip(columns, precision, *cells, strict=True)]
    widths = _fitted(wanted, width - 2)
    yield f"what is published: {len(rows)} of its rows, below the precision of their labels"
    for row in (columns, precision, *cells):
        line = GAP.join(_cut(cell, size) for cell, size in zip(row, widths, strict=False))
        yield f"  {line.rstrip()}"
    if len(widths) < len(columns):
        rest = f"and {len(columns) - len(widths)} more columns: {', '.join(columns[len(widths) :])}"
        yield from (f"  {line}" for line in wrap(_plain(rest), width - 2, break_on_hyphens=False))


def _precision(name: str, losses: Mapping[str, float]) -> str:
    loss = losses.get(name, losses.get(name.removesuffix("_min").removesuffix("_max")))
    return "as it is" if loss is None else f"{1 - loss:.0%}"


def _fitted(wanted: Sequence[int], width: int) -> list[int]:
    """Widths that fit: the widest give way first, down to NARROWEST; then the last columns are left out."""
    widths = list(wanted)
    while widths and sum(widths) + len(GAP) * (len(widths) - 1) > width:
        widest = max(widths)
        if widest > NARROWEST:
            widths[widths.index(widest)] -= 1
        else:
            widths.pop()
    return widths


def _cut(text: str, width: int) -> str:
    plain = _plain(text)
    return f"{plain:<{width}}" if len(plain) <= width else f"{plain[: width - 2]}.."


def _plain(text: str) -> str:
    """Without characters that a terminal obeys."""
    return "".join(c if c.isprintable() else "?" for c in text)
