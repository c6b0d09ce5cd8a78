"""The words of other forms than one table of labels: see `release`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tclose_spark.report.option_words import Certificate, Certified, OptionWords
from tclose_spark.requirements.figures import OptionFigures
from tclose_spark.runfile.release_form import COUNT, GROUP
from tclose_spark.runfile.spec import ReleaseSpec


@dataclass(frozen=True)
class FormsFigures(OptionFigures):
    """fingerprints: of the tables of sensitive values, by name."""

    fingerprints: Mapping[str, str]


class FormsWords(OptionWords):
    """The column of a class's number, the tables of sensitive values with their fingerprints, and
    the blocks that are published apart.
    """

    def certify(self, made: Certified, sections: dict[str, Any]) -> None:
        form = made.spec.release
        attributes = made.spec.attributes
        labels = [column for column in made.columns if column not in attributes.beside]
        tables = form.tables(labels, attributes.sensitive_attributes)
        fingerprints = dict(made.figures.of(FormsFigures).fingerprints)
        sections["release"] |= {
            "form": form.form,
            **({"group": GROUP} if form.is_exact else {}),
            **({"tables": tables, "fingerprints": fingerprints} if tables else {}),
            **({"together": [[*block] for block in form.together]} if form.together else {}),
        }
        sections["warnings"][:0] = _warnings(made.spec)
        if form.is_exact:
            sections["utility"].pop("optimum", None)
            sections["attributes"]["quasi_identifiers"] = {
                name: {"type": quasi.type, "exact": True, **made.figures.quasi_identifiers[name]}
                for name, quasi in attributes.quasi_identifiers.items()
            }

    def roles(self, certificate: Certificate) -> Mapping[str, list[str]]:
        return (
            {"key": [certificate["release"]["group"]]} if "group" in certificate["release"] else {}
        )

    def variables(self, certificate: Certificate) -> Mapping[str, Any]:
        release = certificate["release"]
        keys = ("group", "tables", "together")
        return {"form": {"name": release.get("form"), **{key: release.get(key) for key in keys}}}

    def columns(self, certificate: Certificate) -> Iterator[tuple[str, str, str, str, str]]:
        release = certificate["release"]
        for name, entry in certificate["attributes"].get("quasi_identifiers", {}).items():
            if "exact" in entry:
                treatment = "published as it is; only its class connects it with sensitive values"
                yield "quasi-identifier", name, name, "a value of the input", treatment
        if "group" in release:
            treatment = (
                "a keyed hash of what is published of the class; rows with one number are a class"
            )
            yield "class", release["group"], "", "the number of a class", treatment
        if "tables" in release:
            treatment = "how many rows of the class have the values of a row of the table"
            yield "class", COUNT, "", "a number of rows", treatment


def _warnings(spec: ReleaseSpec) -> list[str]:
    """About exact quasi-identifiers, and about values that may not be those of their row."""
    form = spec.release
    found = []
    if form.is_exact:
        found.append(
            f"{', '.join(spec.attributes.quasi_identifiers)}: published as they are (release.form: "
            f"{form.form}), so who is in the table is disclosed, with these values; sensitive "
            "values are known by class only"
        )
    if form.form == "permutation":
        found.append(
            f"{', '.join(spec.attributes.sensitive_attributes)}: a row's value is that of some "
            "person of its class, perhaps of another one (release.form: permutation)"
        )
    return found
