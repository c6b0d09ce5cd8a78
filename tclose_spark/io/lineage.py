"""OpenLineage events of a run: its input, its output, the source of each column, and the guarantees
of the release.

Emitted only if one of OpenLineage's own variables names a destination (`OPENLINEAGE_URL`,
`OPENLINEAGE_CONFIG`, `OPENLINEAGE__TRANSPORT__..`). Events name columns and contain figures of the
certificate, but no values.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import urlsplit
from uuid import uuid4

from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.loading import URI
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.version import __version__

Kind = Literal["START", "COMPLETE", "FAIL", "ABORT"]
NAMESPACE = "tclose_spark"
PLACES = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG")
PRODUCER = f"https://pypi.org/project/tclose-spark/{__version__}"
OBJECTS = {
    **{scheme: scheme for scheme in ("s3", "gs", "abfss", "wasbs")},
    **{"s3a": "s3", "s3n": "s3", "abfs": "abfss", "wasb": "wasbs"},
}
"""The schemes of object stores, and the one that OpenLineage has for each."""
HOW: Mapping[str, tuple[str, bool]] = {
    "quasi_identifiers": ("generalized to the label of its equivalence class", True),
    "sensitive_attributes": ("unchanged", False),
    "insensitive_attributes": ("unchanged", False),
    "weight": ("unchanged, or rounded to multiples of round_to", False),
    "pseudonyms": ("replaced by a keyed pseudonym", True),
}
"""By role: how its columns are published, and whether that masks their values."""


def is_configured() -> bool:
    """Whether a variable names a destination for events."""
    if os.environ.get("OPENLINEAGE_DISABLED", "").lower() in ("true", "1"):
        return False
    return any(name in PLACES or name.startswith("OPENLINEAGE__TRANSPORT") for name in os.environ)


class RunEvents:
    """Emits the OpenLineage events of one run, if OpenLineage is configured; none before the run
    has an id.

    id: a UUID. A run that begins again on the other engine keeps it.
    """

    def __init__(self, spec: ReleaseSpec, announce: Callable[[str], None]) -> None:
        self._spec = spec
        self._announce = announce
        self.id: str | None = None

    def resume(self, run: str | None) -> None:
        """Sets the run's id."""
        self.id = run

    def begin(self) -> str:
        """Emits START, once; returns the run's id, a new one at first.

        Raises:
            ConfigurationError: if OpenLineage is configured and its client is not installed.
        """
        if self.id is None:
            self.id = str(uuid4())
            self.emit("START")
        return self.id

    def emit(self, kind: Kind, certificate: Mapping[str, Any] | None = None) -> None:
        """Emits an event. Failures are announced: a release does not depend on who receives its
        events.

        Raises:
            ConfigurationError: at the start, if OpenLineage is configured and its client is not
                installed.
        """
        if self.id is None or not is_configured():
            return
        try:
            from openlineage.client import OpenLineageClient

            OpenLineageClient().emit(event(self._spec, self.id, kind, certificate))
        except Exception as error:  # whatever a transport raises
            if isinstance(error, ImportError) and kind == "START":
                raise ConfigurationError(
                    "OpenLineage is configured (OPENLINEAGE_..), but its client is not installed: "
                    "pip install 'tclose-spark[lineage]', or unset these variables",
                ) from None
            self._announce(
                f"note: an OpenLineage event of this run could not be sent ({type(error).__name__})",
            )

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Emits FAIL if an error ends the body, ABORT if an interrupt does."""
        try:
            yield
        except BaseException as error:
            self.emit("FAIL" if isinstance(error, Exception) else "ABORT")
            raise


def event(
    spec: ReleaseSpec,
    run: str,
    kind: Kind,
    certificate: Mapping[str, Any] | None = None,
) -> Any:
    """An event of this run. certificate: of the release, if there is one."""
    from openlineage.client import event_v2 as ol

    return ol.RunEvent(
        eventTime=datetime.now(UTC).isoformat(),
        eventType=ol.RunState[kind],
        run=ol.Run(runId=run),
        job=ol.Job(namespace=NAMESPACE, name=spec.name),
        inputs=[_input(spec, certificate)],
        outputs=[_output(spec, certificate)],
        producer=PRODUCER,
    )


def _input(spec: ReleaseSpec, certificate: Mapping[str, Any] | None) -> Any:
    from openlineage.client.event_v2 import InputDataset
    from openlineage.client.facet_v2 import dataset_version_dataset as versions

    version = None if certificate is None else certificate["input"]["version"]
    facets: dict[str, Any] = {}
    if version is not None:
        facets["version"] = versions.DatasetVersionDatasetFacet(
            datasetVersion=str(version),
            producer=PRODUCER,
        )
    return InputDataset(
        *dataset(spec.input.path, is_table=spec.input.format == "table"),
        facets=facets,
    )


def _output(spec: ReleaseSpec, certificate: Mapping[str, Any] | None) -> Any:
    from openlineage.client.event_v2 import OutputDataset

    facets = {"columnLineage": _columns(spec)}
    if certificate is not None:
        facets["tclose_guarantees"] = _guarantees(certificate)
    return OutputDataset(*dataset(f"{spec.output.public_path}/release"), facets=facets)


def dataset(path: str, is_table: bool = False) -> tuple[str, str]:
    """(namespace, name) of a path or table, as OpenLineage's clients name it: an object by its key
    in its bucket. No user, password or query of a URI is named.

    >>> dataset("/data/people.csv"), dataset("s3a://key:secret@bucket/people")
    (('file', '/data/people.csv'), ('s3://bucket', 'people'))
    >>> dataset("abfss://container@account/people")
    ('abfss://container@account', 'people')
    """
    if is_table:
        return "spark_catalog", path
    if not URI.match(path):
        return "file", path.rstrip("/") or "/"
    parts = urlsplit(path)
    name = (parts.path.strip if parts.scheme in OBJECTS else parts.path.rstrip)("/") or "/"
    scheme = OBJECTS.get(parts.scheme, parts.scheme)
    where = parts.netloc
    user, _, host = where.rpartition("@")
    if ":" in user or scheme not in ("abfss", "wasbs"):  # Azure has the container there
        where = host
    return f"{scheme}://{where}" if where else scheme, name


def _columns(spec: ReleaseSpec) -> Any:
    """The input column of each released column, and how it was published."""
    from openlineage.client.facet_v2 import column_lineage_dataset as lineage

    source = dataset(spec.input.path, is_table=spec.input.format == "table")
    fields = {}
    named = {new: old for old, new in spec.input.columns.items()}
    weights = spec.attributes.published_weights
    for role, (description, masking) in HOW.items():
        for column in weights if role == "weight" else getattr(spec.attributes, role):
            how = lineage.Transformation(
                type="DIRECT",
                subtype="TRANSFORMATION" if masking else "IDENTITY",
                description=f"{role}: {description}",
                masking=masking,
            )
            for published in _published(spec, column):
                fields[published] = lineage.Fields(
                    [lineage.InputField(*source, named.get(column, column), [how])],
                )
    return lineage.ColumnLineageDatasetFacet(fields, producer=PRODUCER)


def _published(spec: ReleaseSpec, column: str) -> tuple[str, ...]:
    """The names under which a column is published."""
    quasi = spec.attributes.quasi_identifiers.get(column)
    bounds = quasi is not None and quasi.numeric_output == "bounds"
    name = spec.attributes.pseudonym_names.get(column, column)
    return (f"{column}_min", f"{column}_max") if bounds else (name,)


def _guarantees(certificate: Mapping[str, Any]) -> Any:
    """The certificate's verdict and figures as a custom facet."""
    import attr
    from openlineage.client.facet_v2 import DatasetFacet

    facet = attr.make_class(
        "GuaranteesDatasetFacet",
        {name: attr.field() for name in ("verdict", "guarantees", "release", "utility")},
        bases=(DatasetFacet,),
    )
    told = {name: certificate[name] for name in ("verdict", "guarantees", "release", "utility")}
    return facet(**told, producer=PRODUCER)
