"""`tclose_spark.history`: the releases of a table that is released again and again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclose_spark.api.signatures import verb
from tclose_spark.errors import ConfigurationError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.output_folders import CERTIFICATE, HISTORY
from tclose_spark.io.run_state import HistoryEntry
from tclose_spark.io.storage.folders import open_folder
from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.line import COLUMNS, damage_translated, entries_of, history_entry

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class History:
    """releases: of the line, from the first one to the one in the folder."""

    releases: tuple[HistoryEntry, ...]

    @property
    def entries(self) -> tuple[Mapping[str, Any], ...]:
        """The releases as JSON has them."""
        return tuple(entry.to_json() for entry in self.releases)

    def lines(self) -> list[Table]:
        """A table with a row for each release."""
        from rich.table import Table

        table = Table(box=None, pad_edge=False)
        for name in ("release", *COLUMNS):
            table.add_column(name, justify="right")
        for number, entry in enumerate(self.releases, start=1):
            table.add_row(str(number), *(write(entry) for write in COLUMNS.values()))
        return [table]

    @verb
    def plot(self, path: str | PathLike[str]) -> None:
        """Writes a plot of the information loss and of the suppressed share, by release, as SVG."""
        from tclose_spark.report.plots import Curve, curves, svg_file

        entries = list(enumerate(self.releases, start=1))
        loss = [(number, entry.ncp) for number, entry in entries if entry.ncp is not None]
        share = [(number, entry.suppressed / entry.input_rows) for number, entry in entries]
        drawn = [
            Curve("information loss (NCP)", loss, (), ()),
            Curve("suppressed rows", share, (), ()),
        ]
        marks = [(float(number), str(number)) for number, _ in entries]
        described = f"Information loss and share of suppressed rows of {len(entries)} releases"
        plotted = curves({"": drawn}, marks, (), described, "release", "share")
        Path(path).write_text(svg_file(plotted), encoding="utf-8")


@verb
def history(output: str | PathLike[str]) -> History:
    """The releases so far of the table whose latest release is in an output folder.

    output: of a run, with `public/` and `internal/`.

    Raises:
        ConfigurationError: if there is no finished release, or its files are damaged.
    """
    folder = fspath(output)
    session = LocalSession()
    internal = open_folder(f"{folder}/internal", session)
    public = open_folder(f"{folder}/public", session)
    with damage_translated(folder):
        if internal.exists(HISTORY):
            return History(entries_of(internal.read(HISTORY)))
        if public.exists(CERTIFICATE):
            certificate = Certificate.read(json.loads(public.read(CERTIFICATE)))
            return History((history_entry(certificate),))
    raise ConfigurationError(
        f"{folder} has no finished release; expected the output folder of a run",
    )
