"""What a run tells OpenLineage of: input, output, which column came from which, and what the release guarantees.

OpenLineage's own variables say where to (`OPENLINEAGE_URL`, `OPENLINEAGE_CONFIG`, `OPENLINEAGE__TRANSPORT__..`); where
none does, nothing is told. Events name columns and hold figures of the certificate, no values.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import urlsplit

from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.loading import URI
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.version import __version__

Kind = Literal["START", "COMPLETE", "FAIL", "ABORT"]
NAMESPACE = "tclose_spark"
PLACES = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG")
PRODUCER = f"https://pypi.org/project/tclose-spark/{__version__}"
HOW: Mapping[str, tuple[str, bool]] = {
    "quasi_identifiers": ("generalized to the label of its equivalence class", True),
    "sensitive_attributes": ("as it is", False),
    "insensitive_attributes": ("as it is", False),
}
"""What becomes of the columns of a role, and whether that hides what they were."""


def is_configured() -> bool:
    """Whether anything says where events go."""
    if os.environ.get("OPENLINEAGE_DISABLED", "").lower() in ("true", "1"):
        return False
    return any(name in PLACES or name.startswith("OPENLINEAGE__TRANSPORT") for name in os.environ)


def tell(spec: ReleaseSpec, run: str, kind: Kind, certificate: Mapping[str, Any] | None = None) -> str | None:
    """Emits an event of this run, an UUID, if OpenLineage is configured. The error's name if it could not be: a release
    does not hang on who hears of it.

    Raises:
        ConfigurationError: at the begin, if it is configured, and its client is not installed.
    """
    if not is_configured():
        return None
    try:
        from openlineage.client import OpenLineageClient
    except ImportError as error:
        if kind != "START":
            return type(error).__name__
        raise ConfigurationError(
            "OpenLineage is configured (OPENLINEAGE_..), and its client is not installed: pip install "
            "'tclose-spark[lineage]', or unset these variables"
        ) from None
    try:
        OpenLineageClient().emit(event(spec, run, kind, certificate))
    except Exception as error:  # whatever a transport raises
        return type(error).__name__
    return None


def event(spec: ReleaseSpec, run: str, kind: Kind, certificate: Mapping[str, Any] | None = None) -> Any:
    """The event. certificate: that of the release, once there is one."""
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
    facets: dict[str, Any] = (
        {} if version is None else {"version": versions.DatasetVersionDatasetFacet(datasetVersion=str(version))}
    )
    return InputDataset(*dataset(spec.input.path, is_table=spec.input.format == "table"), facets=facets)


def _output(spec: ReleaseSpec, certificate: Mapping[str, Any] | None) -> Any:
    from openlineage.client.event_v2 import OutputDataset

    facets: dict[str, Any] = {"columnLineage": _columns(spec)}
    if certificate is not None:
        facets["tclose_guarantees"] = _guarantees(certificate)
    return OutputDataset(*dataset(f"{spec.output.public_path}/release"), facets=facets)


def dataset(path: str, is_table: bool = False) -> tuple[str, str]:
    """(namespace, name) of a path, as OpenLineage names data.

    >>> dataset("/data/people.csv"), dataset("s3a://bucket/people")
    (('file', '/data/people.csv'), ('s3a://bucket', '/people'))
    """
    if is_table:
        return "spark_catalog", path
    if not URI.match(path):
        return "file", path
    parts = urlsplit(path)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else parts.scheme, parts.path


def _columns(spec: ReleaseSpec) -> Any:
    """Which column of the release came from which of the input, and what became of it."""
    from openlineage.client.facet_v2 import column_lineage_dataset as lineage

    source, fields = dataset(spec.input.path, is_table=spec.input.format == "table"), {}
    named = {new: old for old, new in spec.input.columns.items()}
    for role, (description, masking) in HOW.items():
        for column in getattr(spec.attributes, role):
            how = lineage.Transformation(
                type="DIRECT",
                subtype="TRANSFORMATION" if masking else "IDENTITY",
                description=f"{role}: {description}",
                masking=masking,
            )
            for published in _published(spec, column):
                fields[published] = lineage.Fields([lineage.InputField(*source, named.get(column, column), [how])])
    return lineage.ColumnLineageDatasetFacet(fields)


def _published(spec: ReleaseSpec, column: str) -> tuple[str, ...]:
    """The columns that a column is published as."""
    quasi = spec.attributes.quasi_identifiers.get(column)
    bounds = quasi is not None and quasi.numeric_output == "bounds"
    return (f"{column}_min", f"{column}_max") if bounds else (column,)


def _guarantees(certificate: Mapping[str, Any]) -> Any:
    """The certificate's verdict and figures as a facet of our own."""
    import attr
    from openlineage.client.facet_v2 import DatasetFacet

    facet = attr.make_class(
        "GuaranteesDatasetFacet",
        {name: attr.field() for name in ("verdict", "guarantees", "release", "utility")},
        bases=(DatasetFacet,),
    )
    told: dict[str, Any] = {name: certificate[name] for name in ("verdict", "guarantees", "release", "utility")}
    return facet(**told)
