"""The line of releases of a table that is released again and again, for people and for the next
release.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction

from tclose_spark.errors import ConfigurationError
from tclose_spark.io.run_state import HistoryEntry, ProfileRecord, RunState
from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.requirements.wording import recorded_of

COLUMNS: dict[str, Callable[[HistoryEntry], str]] = {
    "issued": lambda entry: entry.issued[:10],
    "rows": lambda entry: f"{entry.rows:,}",
    "suppressed": lambda entry: f"{entry.suppressed:,}",
    "kept": lambda entry: f"{entry.kept:,}",
    "classes": lambda entry: f"{entry.classes:,}",
    "atoms": lambda entry: f"{entry.atoms:,}",
    "smallest": lambda entry: f"{entry.smallest_atom:,}",
    "k": lambda entry: str(entry.k),
    "t": lambda entry: ", ".join(
        "-" if t is None else f"{float(Fraction(t)):g}" for t in entry.t.values()
    ),
    "NCP": lambda entry: "-" if entry.ncp is None else f"{entry.ncp:.4f}",
}
"""What the history of a table shows of each release, by column."""


def history_entry(certificate: Certificate) -> HistoryEntry:
    """The entry of a release in the history of its table. All of it follows from the certificate.

    The classes of a first release are its atoms.
    """
    released = certificate.release
    line = certificate.earlier
    suppressed = certificate.suppressed
    k = certificate.guarantees.k
    smallest = k.achieved if k.over_people is None else k.over_people.achieved
    return HistoryEntry.read(
        {
            "issued": certificate.issued,
            "fingerprint": released.fingerprint,
            "rows": released.rows,
            "input_rows": certificate.input.rows,
            "suppressed": 0 if suppressed is None else suppressed.rows,
            "of": "released" if suppressed is None else suppressed.of,
            "kept": 0 if line is None else line.kept,
            "classes": released.classes,
            "atoms": released.classes if line is None else line.atoms.published,
            "smallest_atom": smallest if line is None else line.atoms.smallest,
            "k": k.required,
            **recorded_of(certificate.guarantees.to_json()),
            "ncp": certificate.utility.ncp,
        },
    )


def history_of(certificate: Certificate, state: RunState) -> str | None:
    """The text of the `history.json` of a release, which `entries_of` reads: the entries of the
    earlier releases, and its own. None for a release that continues no line. state: of its run.
    """
    earlier = state.of(ProfileRecord).earlier
    if earlier is None:
        return None
    entries = [*earlier.releases, history_entry(certificate)]
    return json.dumps([entry.to_json() for entry in entries], indent=1)


def entries_of(history: str) -> tuple[HistoryEntry, ...]:
    """The entries of a line, from the text of its `history.json`.

    Raises:
        ValueError, TypeError or KeyError: if it is damaged (see `damage_translated`).
    """
    entries = tuple(map(HistoryEntry.read, json.loads(history)))
    for entry in entries:
        for write in COLUMNS.values():
            write(entry)
    if not entries:
        raise ValueError("no entry")
    return entries


@contextmanager
def damage_translated(where: str) -> Iterator[None]:
    """Raises ConfigurationError if the body fails because JSON of a finished release is damaged, or
    lacks a key. where: the output, for the message.
    """
    try:
        yield
    except KeyError as error:
        raise ConfigurationError(
            f"{where}: the certificate or the evidence lacks {error}, so it is damaged, or an "
            "older version of tclose_spark made it; put back a copy, or release the table again",
        ) from None
    except (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
        raise ConfigurationError(
            f"{where}: the certificate or the evidence is damaged; put it back from a copy, or "
            "release the table again",
        ) from None
