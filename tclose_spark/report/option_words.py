"""The words of an option: what it adds to the certificate, and from that to the page, the codebook
and the console.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.requirements.figures import Figures
from tclose_spark.requirements.words import GuaranteeRow
from tclose_spark.runfile.brought import add_own
from tclose_spark.runfile.options import brought_parts, every_own_part, own_parts
from tclose_spark.runfile.spec import ReleaseSpec

Lines = list[tuple[str, str]]
"""(name, figures) for the console."""
Added = TypeVar("Added")


class Optimum(NamedTuple):
    """proven: what the method has proven, or the gap that is left. loss: of the plan, by what the
    input has.
    """

    proven: str | dict[str, float]
    loss: float


class Certified(NamedTuple):
    """What a certificate is made from.

    figures: the verifier's. columns: of the release. rows, version: of the input.
    warnings: beside those of the verifier. subjects: notes on whom rows are about.
    """

    spec: ReleaseSpec
    figures: Figures
    columns: list[str]
    rows: int
    version: int | None = None
    warnings: Sequence[str] = ()
    subjects: Sequence[str] = ()
    optimum: Optimum | None = None


class OptionWords:
    """`build_certificate` calls `certify` of the options that a run uses, and `own_sections` of
    those of other packages. Page, codebook and console have a certificate alone, and call the other
    hooks of every option, which finds its sections there or not. Each adds nothing by default.

    brought: its key, if another package brings the option.
    """

    brought: str | None = None

    def certify(self, made: Certified, certificate: Certificate) -> None:
        """Adds sections of the certificate, or changes some."""

    def own_sections(self, made: Certified) -> Mapping[str, object]:
        """Sections of an option of another package, as JSON has them, by their keys."""
        return {}

    def tables(self, certificate: Certificate, whole: str) -> Mapping[str, list[GuaranteeRow]]:
        """Rows of the table `guarantees`, or tables of guarantees of its own, as template
        variables.
        """
        return {}

    def roles(self, certificate: Certificate) -> Mapping[str, list[str]]:
        """Released columns by role, in their order."""
        return {}

    def variables(self, certificate: Certificate) -> Mapping[str, object]:
        """Other template variables of the pages to sign, also of a release without the option."""
        return {}

    def sections(self, certificate: Certificate, figures: Figures) -> Mapping[str, object]:
        """Template variables of other sections. figures: the verifier's."""
        return {}

    def parts(self, certificate: Certificate, figures: Figures) -> Mapping[str, str]:
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

    def __init__(self, write: Callable[[ReleaseSpec, Figures], Mapping[str, object]]) -> None:
        self.write = write

    def own_sections(self, made: Certified) -> Mapping[str, object]:
        """See OptionWords."""
        return self.write(made.spec, made.figures)


def words_of(spec: ReleaseSpec) -> list[OptionWords]:
    """The words of the options that a run uses."""
    return [
        *(made() for made in own_parts(spec, "words")),
        *_brought([one.key for one in spec.brought]),
    ]


def words_in(certificate: Certificate) -> list[OptionWords]:
    """The words of every option; of those of other packages, that have their key in the
    certificate.
    """
    return [*(made() for made in every_own_part("words")), *_brought(certificate.brought_sections)]


def _brought(keys: Collection[str]) -> list[OptionWords]:
    every = []
    for key, words in brought_parts(keys, "words").items():
        made = words() if isinstance(words, type) else _Written(words)
        made.brought = key
        every.append(made)
    return every


def add_all(
    every: Iterable[OptionWords],
    kept: dict[str, object],
    add: Callable[[OptionWords, dict[str, object]], None],
) -> None:
    """Lets each option add keys to a dict; one of another package changes none that is there (see
    `add_own`).
    """
    for words in every:
        add_own(words.brought, kept, partial(add, words))


def collected(found: Iterable[Mapping[str, list[Added]]]) -> defaultdict[str, list[Added]]:
    """What several options add, by its place."""
    places: defaultdict[str, list[Added]] = defaultdict(list)
    for one in found:
        for place, added in one.items():
            places[place] += added
    return places
