"""A few published rows for the terminal, with the precision of each column's labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

ROWS = 10
WIDTH = 80
# Characters of a column.
WIDEST = 24
NARROWEST = 7
MOST_BLOCKS = 3  # of columns, one below the other
INDENT = "  "
GAP = "  "


def preview_lines(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    losses: Mapping[str, float | None],
    width: int = WIDTH,
) -> Iterator[str]:
    """The rows as a table of at most `width` characters, with the precision of quasi-identifiers
    below their names. Columns that do not fit follow in at most MOST_BLOCKS blocks.

    losses: the mean loss (NCP) of each quasi-identifier, None for aggregates; precision is 1 -
        loss. `<name>_min` and `<name>_max` have the precision of `<name>`.

    >>> print(*preview_lines(["age", "disease"], [["[20, 29]", "flu"]], {"age": 0.125}), sep=chr(10))
    published rows (1 shown), with the precision of their labels
      age       disease
      88%       unchanged
      [20, 29]  flu
    """
    cells = [[_plain("" if value is None else str(value)) for value in row] for row in rows]
    lines = [
        [_plain(name) for name in columns],
        [_precision(name, losses) for name in columns],
        *cells,
    ]
    widths = [min(WIDEST, max(NARROWEST, *map(len, column))) for column in zip(*lines, strict=True)]
    yield f"published rows ({len(rows)} shown), with the precision of their labels"
    blocks = list(_blocks(widths, width - len(INDENT)))
    for number, (begin, end) in enumerate(blocks[:MOST_BLOCKS]):
        if number:
            yield ""
        for line in lines:
            shown = GAP.join(
                _cut(cell, size)
                for cell, size in zip(line[begin:end], widths[begin:end], strict=True)
            )
            yield f"{INDENT}{shown}".rstrip()
    if len(blocks) > MOST_BLOCKS:
        yield f"{INDENT}and {len(columns) - blocks[MOST_BLOCKS][0]:,} more columns"


def _precision(name: str, losses: Mapping[str, float | None]) -> str:
    column = name if name in losses else name.removesuffix("_min").removesuffix("_max")
    if column in losses and losses[column] is None:
        return "aggregate"
    loss = losses.get(column)
    return "unchanged" if loss is None else f"{1 - loss:.0%}"


def _blocks(widths: Sequence[int], width: int) -> Iterator[tuple[int, int]]:
    """(begin, end) of blocks of columns that fit the width."""
    begin = 0
    while begin < len(widths):
        end = begin + 1
        used = widths[begin]
        while end < len(widths) and used + len(GAP) + widths[end] <= width:
            used += len(GAP) + widths[end]
            end += 1
        yield begin, end
        begin = end


def _cut(text: str, width: int) -> str:
    return f"{text:<{width}}" if len(text) <= width else f"{text[: width - 2]}.."


def _plain(text: str) -> str:
    """Without control characters."""
    return "".join(c if c.isprintable() else "?" for c in text)
