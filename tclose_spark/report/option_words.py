"""The words of an option: what it adds to the certificate, and from that to the page, the codebook and the console."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from tclose_spark.errors import ConfigurationError
from tclose_spark.requirements.words import GuaranteeRow
from tclose_spark.runfile.options import every_part, used_parts
from tclose_spark.runfile.spec import ReleaseSpec

Certificate = Mapping[str, Any]
Lines = list[tuple[str, str]]
"""(name, figures) for the console."""


class Certified(NamedTuple):
    """What a certificate is made from. figures: the verifier's. rows: of the input. columns: of the release."""

    spec: ReleaseSpec
    figures: Mapping[str, Any]
    rows: int
    columns: list[str]


class OptionWords:
    """`build_certificate` calls `certify` of the options that a run uses. Page, codebook and console have a certificate
    alone, and call the other hooks of every option, which finds its sections there or not. Each adds nothing by
    default.
    """

    def certify(self, made: Certified, sections: dict[str, Any]) -> None:
        """Adds sections to the certificate, or changes some. They get the order of `certificate.schema.json`."""

    def evidence(self, certificate: Certificate, state: Mapping[str, Any]) -> Mapping[str, str]:
        """Further internal files of the release. state: of the run."""
        return {}

    def whole(self, certificate: Certificate) -> str | None:
        """The table that classes are compared with, in words, if it is not the whole table."""
        return None

    def tables(self, certificate: Certificate, whole: str) -> Mapping[str, list[GuaranteeRow]]:
        """Rows of the table `guarantees`, or tables of guarantees of its own, as template variables."""
        return {}

    def roles(self, certificate: Certificate) -> Mapping[str, list[str]]:
        """Released columns by role, in their order."""
        return {}

    def variables(self, certificate: Certificate) -> Mapping[str, Any]:
        """Other template variables of the pages to sign, also of a release without the option."""
        return {}

    def sections(self, certificate: Certificate, figures: Mapping[str, Any]) -> Mapping[str, Any]:
        """Template variables of other sections. figures: the verifier's."""
        return {}

    def parts(self, certificate: Certificate, figures: Mapping[str, Any]) -> Mapping[str, str]:
        """Templates of sections, by the section of the page that they follow."""
        return {}

    def columns(self, certificate: Certificate) -> Iterator[tuple[str, str, str, str, str]]:
        """For the codebook: (role, column, its quasi-identifier or none, form, treatment)."""
        return iter(())

    def lines(self, certificate: Certificate) -> Mapping[str, Lines]:
        """Lines of the console by what they follow: `rows`, `left out`, `closeness` or `loss`."""
        return {}


class _Written(OptionWords):
    """The words of another package as a function from the run file and the figures to sections."""

    def __init__(self, write: Callable[[ReleaseSpec, Mapping[str, Any]], Mapping[str, Any]]) -> None:
        self.write = write

    def certify(self, made: Certified, sections: dict[str, Any]) -> None:
        """See OptionWords.

        Raises:
            ConfigurationError: if a section is there already.
        """
        more = self.write(made.spec, made.figures)
        if taken := sorted(sections.keys() & more.keys()):
            raise ConfigurationError(f"an option of another package writes {taken[0]!r}, which every certificate has")
        sections |= more


def _made(words: Any) -> OptionWords:
    return words() if isinstance(words, type) else _Written(words)


def words_of(spec: ReleaseSpec) -> list[OptionWords]:
    """The words of the options that a run uses."""
    return [*map(_made, used_parts(spec, "words"))]


def words_in(certificate: Certificate) -> list[OptionWords]:
    """The words of every option; of those of other packages, that have their key in the certificate."""
    return [*map(_made, every_part("words", certificate))]


def collected(found: Iterator[Mapping[str, Any]] | list[Mapping[str, Any]]) -> defaultdict[str, list[Any]]:
    """What several options add, by its place."""
    places: defaultdict[str, list[Any]] = defaultdict(list)
    for one in found:
        for place, added in one.items():
            places[place] += added if isinstance(added, list) else [added]
    return places
