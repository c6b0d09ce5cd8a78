"""A finished release, as Python has it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclose_spark.errors import ConfigurationError
from tclose_spark.report.console import certificate_lines
from tclose_spark.report.notebook import in_frame
from tclose_spark.runfile.loading import URI, resolve
from tclose_spark.runfile.spec import Output

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Report:
    """The report page of a release; Jupyter shows it.

    path: of the HTML file, to open in a browser or to send on.
    html: the page.
    """

    path: str
    html: str

    def _repr_html_(self) -> str:
        return in_frame(self.html, "Report of the release")

    def __repr__(self) -> str:
        return f"Report({self.path!r})"


class Release:
    """A finished release: what `tclose_spark.release` gives, and `Release.open` of a folder.

    It is read from the files that were published, each time it is asked.
    """

    def __init__(self, output: Output) -> None:
        """See `open`."""
        self._output = output

    @staticmethod
    def open(path: str | PathLike[str]) -> Release:
        """The finished release in an output folder.

        Raises:
            ConfigurationError: if there is none.
        """
        made = Release(Output(path=resolve(fspath(path), "path", Path.cwd())))
        if not made.certificate:
            raise ConfigurationError(f"there is no finished release in {made.path}")
        return made

    @property
    def path(self) -> str:
        """The folder of what is published: `release` (Delta), `certificate.json`, `report.html`."""
        return self._output.public_path

    @property
    def internal_path(self) -> str:
        """The folder of the evidence, which stays inside."""
        return self._output.internal_path

    @property
    def table(self) -> DataFrame:
        """The released table, a DataFrame of Spark."""
        return self._delta(f"{self.path}/release")

    @property
    def classes(self) -> DataFrame:
        """The class table, a DataFrame of Spark: a row for each equivalence class, with its size, its distance for each
        sensitive attribute, and what it loses. Internal.
        """
        return self._delta(f"{self.internal_path}/classes")

    @property
    def certificate(self) -> Mapping[str, Any]:
        """The certificate: what was asked, what is reached, and what a third party needs to compute it again."""
        text = self._read("certificate.json")
        certificate: dict[str, Any] = json.loads(text) if text else {}
        return certificate

    @property
    def report(self) -> Report:
        """The report page: show it in a notebook, or open its `path`."""
        return Report(f"{self.path}/report.html", self._read("report.html"))

    def to_arrow(self) -> pa.Table:
        """The released table as a pyarrow table, in this process's memory."""
        return self.table.toArrow()

    def to_pandas(self) -> pd.DataFrame:
        """The released table as a pandas DataFrame, in this process's memory.

        Raises:
            ConfigurationError: if pandas is not installed.
        """
        try:
            import pandas  # noqa: F401 - what to_pandas needs
        except ImportError:
            raise ConfigurationError("pandas is not installed: pip install pandas, or take .to_arrow()") from None
        return self.to_arrow().to_pandas()

    def _delta(self, path: str) -> DataFrame:
        from tclose_spark.io.spark.session import find_session
        from tclose_spark.io.tables.delta import read_delta

        return read_delta(find_session("tclose"), path)

    def _read(self, name: str) -> str:
        """A public file; empty if it is not there."""
        if not URI.match(self.path):
            file = Path(self.path) / name
            return file.read_text(encoding="utf-8") if file.exists() else ""
        from tclose_spark.io.spark.session import find_session
        from tclose_spark.io.storage.folders import open_folder

        folder = open_folder(self.path, find_session("tclose"))
        return folder.read(name) if folder.exists(name) else ""

    def __repr__(self) -> str:
        return "\n".join(certificate_lines(self.certificate, self.path, self.internal_path))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"
