"""The words of pseudonyms: see `attributes.pseudonyms`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.option_words import Certified, OptionWords
from tclose_spark.runfile.columns import NAMED


class PseudonymsWords(OptionWords):
    """What the key of each published pseudonym is."""

    def certify(self, made: Certified, certificate: Certificate) -> None:
        names = made.spec.attributes.pseudonym_names
        pseudonyms = made.spec.attributes.pseudonyms
        keyed = {names[column]: one.keyed for column, one in pseudonyms.items()}
        certificate.pseudonyms = keyed
        certificate.warnings += [_linkable(*one) for one in keyed.items()]

    def roles(self, certificate: Certificate) -> Mapping[str, list[str]]:
        pseudonyms = certificate.pseudonyms or {}
        columns = certificate.release.columns
        return {"pseudonyms": [column for column in columns if column in pseudonyms]}

    def columns(self, certificate: Certificate) -> Iterator[tuple[str, str, str, str, str]]:
        for column in certificate.pseudonyms or {}:
            treatment = "replaces a direct identifier; links the rows of a person"
            yield "pseudonym", column, "", "a keyed hash", treatment


def _linkable(column: str, keyed: str) -> str:
    """The warning about a pseudonym."""
    releases = "of any table " if keyed == NAMED else ""
    return (
        f"{column!r} is a pseudonym ({keyed}): the rows of a person are linkable by it, across "
        f"classes and across releases {releases}with the same secret; an adversary who finds one "
        "row of a person finds all, and k, l and t hold for each class, not for the combination"
    )
