"""`tclose_spark.release`, and a finished release, which `tclose_spark.verify` verifies again."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclose_spark.api.arguments import Spec, Table, Where, given_run, in_memory
from tclose_spark.api.engine_choice import (
    LOCAL,
    SPARK,
    Work,
    asked_engine,
    choose_engine,
    is_read_here,
    size_of_files,
    spark_present,
)
from tclose_spark.api.errors import translate_errors
from tclose_spark.api.session import Log, Progress, run_stages
from tclose_spark.api.signatures import verb
from tclose_spark.errors import ConfigurationError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.console import certificate_json, certificate_lines, unprotected_lines
from tclose_spark.report.line import damage_translated
from tclose_spark.report.notebook import in_frame
from tclose_spark.report.pdf import pdf_of, require_pdf
from tclose_spark.report.preview import ROWS, preview_lines
from tclose_spark.runfile.loading import resolve
from tclose_spark.runfile.spec import AUTO, Output
from tclose_spark.table.entities.wording import UNPUBLISHED

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from tclose_spark.engine.protocol import Session
    from tclose_spark.engine.protocol import Table as EngineTable


@dataclass(frozen=True)
class Report:
    """The report page of a release; Jupyter shows it.

    path, html: the HTML file, and its text.
    """

    path: str
    html: str

    @staticmethod
    def require_pdf() -> None:
        """Raises ConfigurationError unless PDFs can be made here."""
        require_pdf()

    @verb
    def to_pdf(self, path: str | PathLike[str]) -> None:
        """Writes the page as PDF, in its style for print. Replaces a file.

        Raises:
            ConfigurationError: if the extra `pdf` is not installed, the file is inside the release,
                or it cannot be written.
        """
        if os.path.dirname(os.path.realpath(self.path)) in map(
            str,
            Path(os.path.realpath(path)).parents,
        ):
            raise ConfigurationError(
                f"{fspath(path)} is inside the release, which would no longer be as it was verified",
            )
        made = pdf_of(self.html)
        try:
            Path(path).write_bytes(made)
        except OSError as error:
            raise ConfigurationError(
                f"{fspath(path)} cannot be written ({error.strerror})",
            ) from None

    def _repr_html_(self) -> str:
        return in_frame(self.html, "Report of the release")

    def __repr__(self) -> str:
        return f"Report({self.path!r})"


class Release:
    """A finished release, from `tclose_spark.release` or `Release.open`. Each access reads the
    published files.
    """

    def __init__(self, output: Output, engine: str = AUTO) -> None:
        """See `open`. engine: what the user asked for."""
        self._output = output
        self._engine = engine

    @staticmethod
    @verb
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
        """The public folder: `release` (Delta), the tables of `sensitive`, `certificate.json`,
        `report.html`, `codebook.csv`, `contract.yaml`.
        """
        return self._output.public_path

    @property
    def internal_path(self) -> str:
        """The folder of the evidence, to be kept internal."""
        return self._output.internal_path

    @property
    @translate_errors()
    def table(self) -> DataFrame | pa.Table:
        """The released table. Of a small release in a local folder or on an object store it is a
        pyarrow table in this process's memory, unless a Spark session is active. Otherwise it is a
        DataFrame of Spark.
        """
        return self._delta(f"{self.path}/release", self.certificate["release"]["rows"])

    @property
    @translate_errors()
    def sensitive(self) -> dict[str, DataFrame | pa.Table]:
        """The tables of the classes' sensitive values by name, of the same kind as `table`; none if
        these values are in `table`.
        """
        release = self.certificate["release"]
        return {
            name: self._delta(f"{self.path}/{name}", release["rows"])
            for name in release.get("tables", ())
        }

    @property
    @translate_errors()
    def classes(self) -> DataFrame | pa.Table:
        """The class table, of the same kind as `table`: a row for each equivalence class, with its
        size, its distance for each sensitive attribute, and its information loss. Internal.
        """
        return self._delta(f"{self.internal_path}/classes", self.certificate["release"]["classes"])

    @property
    def certificate(self) -> Mapping[str, Any]:
        """The certificate: the guarantees, required and achieved, and what a third party needs to
        recompute them.
        """
        text = self._text("certificate.json")
        return json.loads(text) if text else {}

    @property
    def report(self) -> Report:
        """The report page: show it in a notebook, or open its `path`."""
        return Report(f"{self.path}/report.html", self._text("report.html"))

    @property
    def codebook(self) -> list[dict[str, str]]:
        """A dictionary for each column of the release, as in `codebook.csv`: its role, type, form,
        precision, missing values and treatment.
        """
        return list(csv.DictReader(io.StringIO(self._text("codebook.csv"))))

    @property
    def contract(self) -> dict[str, Any]:
        """The data contract in the Open Data Contract Standard, as in `contract.yaml`; empty if
        there is none.
        """
        import yaml

        return yaml.safe_load(self._text("contract.yaml")) or {}

    def to_arrow(self) -> pa.Table:
        """The released table as a pyarrow table, in this process's memory."""
        from tclose_spark.engine.tables import collect

        return collect(self._opened())

    def _opened(self) -> EngineTable:
        """The released table."""
        return _read(f"{self.path}/release", self._on)

    @property
    def _on(self) -> str:
        """The engine that reads the files: without Spark, unless only Spark reaches them."""
        return LOCAL if is_read_here(self.path, self._engine) else SPARK

    def to_pandas(self) -> pd.DataFrame:
        """The released table as a pandas DataFrame, in this process's memory.

        Raises:
            ConfigurationError: if pandas is not installed.
        """
        try:
            import pandas  # noqa: F401 - what to_pandas needs
        except ImportError:
            raise ConfigurationError(
                "pandas is not installed: pip install pandas, or take .to_arrow()",
            ) from None
        return self.to_arrow().to_pandas()

    def preview(self) -> str:
        """Ten rows as text, with the precision of each column's labels."""
        names, rows = _few_rows(self._opened())
        return "\n".join(
            preview_lines(names, rows, self.certificate["utility"]["ncp_by_quasi_identifier"]),
        )

    def _delta(self, path: str, rows: int) -> DataFrame | pa.Table:
        """The table at a path, with so many rows."""
        from tclose_spark.engine.tables import collect

        needs = "" if is_read_here(path, self._engine) else "the URI of the release"
        work = Work(needs=needs, size=0 if needs else size_of_files(path), rows=rows)
        on = choose_engine(asked_engine(None), work, spark_present()).name
        found = _read(path, on)
        return collect(found) if on == LOCAL else found

    def _text(self, name: str) -> str:
        """The text of a public file; empty if there is none."""
        from tclose_spark.io.storage.folders import open_folder

        folder = open_folder(self.path, _session(self._on))
        return folder.read(name) if folder.exists(name) else ""

    def __repr__(self) -> str:
        return "\n".join(
            certificate_lines(_sections_of(self), self.path, self.internal_path, self.codebook),
        )

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def _sections_of(release: Release) -> Certificate:
    """The certificate by its sections.

    Raises:
        ConfigurationError: if it is damaged, or of a version with other sections.
    """
    with damage_translated(release.path):
        return Certificate.read(release.certificate)


def summary(release: Release, details: bool) -> Iterator[tuple[str, bool]]:
    """The lines of a summary, each with whether it is about an attribute that no requirement
    protects. details: with the precision of each column.
    """
    certificate = _sections_of(release)
    codebook = release.codebook if details else ()
    unprotected = unprotected_lines(certificate)
    for line in certificate_lines(certificate, release.path, release.internal_path, codebook):
        yield line, line in unprotected


def is_told(note: str, said: Collection[str]) -> bool:
    """Whether lines have a note of a certificate, also if they name a column that it must not name.

    >>> is_told(f"note: {UNPUBLISHED} repeats", ["note: 'id' repeats; count people"])
    True
    """
    _, _, following = note.rpartition(UNPUBLISHED)
    return any(following in line for line in said)


def json_line(release: Release) -> str:
    """The summary for machines."""
    return certificate_json(_sections_of(release), release.path, release.internal_path)


def _read(path: str, on: str) -> EngineTable:
    """The Delta table at a path, on the engine of this name."""
    from tclose_spark.engine.tables import read_delta

    return read_delta(_session(on), path)


def _session(on: str) -> Session:
    """A session of the engine of this name."""
    if on == LOCAL:
        return LocalSession()
    from tclose_spark.io.spark.session import find_session

    return find_session("tclose")


def _few_rows(table: EngineTable) -> tuple[list[str], list[list[object]]]:
    """The columns of a table, and up to ROWS different rows from all over it: those with the least
    hashes of their content, the same each time. One pass.
    """
    import numpy as np
    import pyarrow as pa

    from tclose_spark.engine.tables import collect, map_batches, schema_of
    from tclose_spark.table.fingerprint import content_hash

    schema = schema_of(table)

    def least(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            _, first = np.unique(content_hash(batch.columns), return_index=True)
            yield batch.take(pa.array(first[:ROWS]))

    drawn = collect(map_batches(table, least, schema)).combine_chunks().to_batches()
    return schema.names, [list(row.values()) for batch in least(drawn) for row in batch.to_pylist()]


@verb
def release(
    table: Table,
    spec: Spec,
    output: Where = None,
    *,
    overwrite: bool = False,
    if_changed: bool = False,
    resume: bool = False,
    overrides: Sequence[str] = (),
    log: Log | None = print,
    progress: Progress | None = None,
    engine: str | None = None,
    details: bool = False,
) -> Release:
    """Releases a table: all stages, from raw rows to a verified, published release.

    table: a DataFrame of Spark, pandas or polars, a pyarrow table, the path of a CSV, Parquet or
        Delta table, or None for the input that the spec names. A pandas index is no column.
    spec: a `ReleaseSpec`, a dict like a run file, or the path of a run file. Its input and output
        may be left out.
    output: the folder that becomes `public/` and `internal/`; by default the spec's.
    overwrite: replace a finished output once the new one is verified.
    if_changed: skip the run if the published release already matches the input, spec and
        hierarchies; otherwise replace it. A table in memory never matches.
    resume: continue a run that broke off with the stage that was not finished, if the input, the
        spec and the secrets are the same; otherwise begin again. A table in memory is never the
        same.
    overrides: of keys of the spec, such as `["privacy.k=20"]`.
    log: takes the messages of the stages, a line at a time; None for silence.
    progress: shows the progress over rows.
    engine: local (this process) or spark; by default what the environment (TCLOSE_ENGINE) or the
        spec says, or auto.
    details: also log how the method plans, and how far counts from the release are from raw counts.

    Raises:
        GuaranteeError: if the release does not meet its requirements; nothing is published.
        ConfigurationError: if the spec or the installation is wrong.
        InputError: if the table does not match the spec.
        UnreachableError: if the requirements cannot be reached; the message names those that can.
    """
    run = given_run(table, spec, output, overrides)
    run_stages(
        run,
        "release",
        log=log,
        overwrite=overwrite or if_changed,
        progress=progress,
        engine=engine,
        details=details,
        if_changed=if_changed,
        resume=resume,
    )
    return Release(run.spec.output, asked_engine(engine, run.spec.engine).engine)


@verb
def verify(
    table: Table,
    spec: Spec,
    output: Where = None,
    *,
    overrides: Sequence[str] = (),
    log: Log | None = print,
    engine: str | None = None,
    other_version: bool = False,
) -> Release:
    """Verifies a finished release again, from its files: table, certificate and report. Changes
    nothing.

    table: the path that was released; None if it was in memory, or if the spec names it. It is not
        read.
    spec, output: those of the release.
    engine: see `release`.
    other_version: accepts a release by another version of the package, whose report, codebook and
        contract are then not compared.

    Raises:
        GuaranteeError: if it does not meet its requirements, or does not match its certificate:
            withdraw it.
        ConfigurationError: if there is no finished release, or it was made with another spec.
    """
    if in_memory(table):
        raise ConfigurationError(
            "table: a finished release is verified from its own files, and a table in memory is "
            "ignored; give None",
        )
    run = given_run(table, spec, output, overrides, reads=False)
    run_stages(run, "verify", log=log, engine=engine, finished=True, other_version=other_version)
    return Release(run.spec.output, asked_engine(engine, run.spec.engine).engine)
