"""The words of a line of releases: see `output.after`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tclose_spark.io.output_folders import HISTORY
from tclose_spark.io.run_state import ProfileRecord, RunState
from tclose_spark.report.certificate.sections import Certificate, Earlier
from tclose_spark.report.line import history_entry, history_text
from tclose_spark.report.option_words import Certified, Lines, OptionWords
from tclose_spark.requirements.figures import Figures, OptionFigures, plain


@dataclass(frozen=True, kw_only=True)
class LinesFigures(OptionFigures):
    """The section `earlier` of the certificate. releases: the fingerprints of the earlier ones, of
    `versions`.
    atoms: `all`, `published` and the people of the `smallest`. newcomers: `people` and `atoms`.
    kept, withheld, waiting: people who are published as they were, withheld, and waiting.
    """

    key = "earlier"
    number: int
    releases: Sequence[str]
    versions: Sequence[int]
    atoms: Mapping[str, int]
    newcomers: Mapping[str, int]
    kept: int
    withheld: int
    waiting: int


class LinesWords(OptionWords):
    """The place of the release in its line."""

    def certify(self, made: Certified, certificate: Certificate) -> None:
        if (line := made.figures.find(LinesFigures)) is None:
            return
        certificate.earlier = Earlier.read(plain(line))
        if line.kept:
            certificate.warnings.append(
                f"{line.kept:,} people are published as they were in an earlier release, because "
                "they left or have other sensitive values by now, and others of their atoms are "
                "still there (output.leavers: keep)",
            )

    def evidence(self, certificate: Certificate, state: RunState) -> Mapping[str, str]:
        if (earlier := state.of(ProfileRecord).earlier) is None:
            return {}
        return {HISTORY: history_text([*earlier.releases, history_entry(certificate)])}

    def parts(self, certificate: Certificate, figures: Figures) -> Mapping[str, str]:
        return {"promises": "lines/earlier.html.j2"} if certificate.earlier else {}

    def lines(self, certificate: Certificate) -> Mapping[str, Lines]:
        if (line := certificate.earlier) is None:
            return {}
        atoms = line.atoms
        kept = f", {line.kept:,} people as they were" if line.kept else ""
        people = {"withheld": line.withheld, "newcomers waiting": line.waiting}
        out = [f"{n:,} {name}" for name, n in people.items() if n]
        new = f"{line.newcomers.people:,} people for the first time"
        found = [
            ("release of its line", f"{line.number}, {new}{kept}"),
            ("atoms", f"{atoms.published:,}, the smallest of {atoms.smallest:,} people"),
        ]
        return {"left out": [*found, *([("suppressed people", ", ".join(out))] if out else [])]}
