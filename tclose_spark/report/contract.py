"""The contract of a release in the Open Data Contract Standard
(https://bitol-io.github.io/open-data-contract-standard): its columns from the codebook, and as
rules of quality what the certificate guarantees.
"""

from __future__ import annotations

import yaml

from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.codebook import CodebookEntry, codebook_entries
from tclose_spark.report.html import guarantee_tables, roles_of, subjects_of
from tclose_spark.requirements.figures import Figures
from tclose_spark.requirements.words import GuaranteeRow

VERSION = "v3.1.0"
"""Of the standard."""
LOGICAL = {
    **{name: name for name in ("string", "boolean", "date", "timestamp")},
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    "timestamp_ntz": "timestamp",
}
"""The standard's type by Spark's. It has none for bytes."""
ENGINE = "tclose"


def contract_yaml(certificate: Certificate, figures: Figures) -> str:
    """The contract as YAML. It follows from the certificate and the codebook alone.

    figures: the verifier's (see `codebook_entries`).
    """
    release = certificate.release
    notes = [*subjects_of(certificate).notes, *certificate.warnings]
    rules = [row for row in guarantee_tables(certificate)["guarantees"] if row.met is not None]
    key = roles_of(certificate)["key"]
    entries = {entry.column: entry for entry in codebook_entries(certificate, figures)}
    contract = {
        "apiVersion": VERSION,
        "kind": "DataContract",
        "id": release.name,
        "name": release.name,
        "version": release.fingerprint,
        "status": "active",
        "contractCreatedTs": certificate.issued,
        "description": {
            "purpose": f"An anonymized release of {release.rows:,} rows in {release.classes:,} "
            "classes. certificate.json has all figures exactly, and report.html in words.",
            "limitations": " ".join([certificate.counts, *(f"{note}." for note in notes)]),
        },
        "schema": [
            {
                "name": name,
                "logicalType": "object",
                "physicalName": name,
                "physicalType": "table",
                "description": "A class is the set of all rows with the same published values of "
                f"{', '.join(key)}.",
                "properties": [
                    _column(entries[column], rules) for column in columns if column in entries
                ],
                "quality": [
                    _rule(row)
                    for row in rules
                    if row.attribute not in entries and name == "release"
                ],
            }
            for name, columns in {
                "release": release.columns,
                **(release.tables or {}),
            }.items()
        ],
        "customProperties": _properties(
            fingerprint=release.fingerprint,
            verdict=certificate.verdict,
            rows=release.rows,
            classes=release.classes,
            tool=f"{certificate.tool.name} {certificate.tool.version}",
        ),
    }
    return yaml.safe_dump(contract, sort_keys=False, allow_unicode=True, width=120)


def _column(entry: CodebookEntry, rules: list[GuaranteeRow]) -> dict[str, object]:
    logical = LOGICAL.get(entry.type.partition("(")[0])
    quality = [_rule(row) for row in rules if row.attribute == entry.column]
    return {
        "name": entry.column,
        **({"logicalType": logical} if logical else {}),
        "physicalType": entry.type,
        "required": entry.missing == 0,
        "description": f"{entry.form}; {entry.treatment}",
        **({"quality": quality} if quality else {}),
        "customProperties": _properties(
            role=entry.role,
            missing=entry.missing,
            **({"precision": entry.precision} if entry.precision else {}),
        ),
    }


def _rule(row: GuaranteeRow) -> dict[str, object]:
    """A required guarantee. Figures are exact fractions where the guarantee is decided by them."""
    return {
        "name": f"{row.name} of {row.attribute}" if row.attribute else row.name,
        "description": f"{row.meaning}: {row.required}",
        "type": "custom",
        "engine": ENGINE,
        "implementation": {
            "guarantee": row.name,
            "required": row.exact_required or row.required,
            "achieved": row.exact_achieved or row.achieved,
        },
    }


def _properties(**values: str | int) -> list[dict[str, str | int]]:
    return [{"property": name, "value": value} for name, value in values.items()]
