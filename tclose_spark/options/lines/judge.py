"""Whether a release continues its line (see `output.after`): from the written atoms, the history,
the records and earlier versions. What it keeps of the line is compared with what the line was.

`LinesWords` describes the place of the release in its line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.class_table import ClassRequirements
from tclose_spark.checks.classes.people import JudgedPeople
from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.checks.written import WrittenRelease
from tclose_spark.engine.exports import fingerprint_of
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import map_batches, read_delta, schema_of, select
from tclose_spark.errors import GuaranteeError
from tclose_spark.io.output_folders import ATOMS, PEOPLE, RECORDS
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import EarlierRecord
from tclose_spark.io.storage.folders import Folder
from tclose_spark.io.tables.check_columns import SUPPRESSED
from tclose_spark.io.tables.delta_log import EARLIER
from tclose_spark.io.tables.plain_parquet import require_plain_parquet
from tclose_spark.options.lines.atoms import JudgedLine, Line, judge_line
from tclose_spark.report.certificate.sections import Certificate, Earlier
from tclose_spark.report.option_words import Certified, Lines, OptionWords
from tclose_spark.requirements.figures import Figures, OptionFigures, plain
from tclose_spark.table.people import PERSON


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


def require_earlier_versions(
    run: Run,
    folder: Folder,
    readable: Iterable[int],
    earlier: EarlierRecord | None,
) -> None:
    """Raises GuaranteeError unless each readable version of a release's table has the rows of the
    release that it was. The last version is the release. earlier: of the state's profile; None for
    a release without a line.
    """
    *before, last = readable
    releases = [] if earlier is None else [entry.fingerprint for entry in earlier.releases]
    for version in before:
        place = folder.path("release")
        number = len(releases) - (last - version)
        try:
            table = read_delta(run.session, place, version)
            require_plain_parquet(
                folder,
                sorted(folder.sizes(f"release/{EARLIER}/{version}")),
                schema_of(table),
            )
            found = str(fingerprint_of(table))
        except GuaranteeError:
            raise
        except Exception:  # of the files, by pyarrow or by Java
            raise GuaranteeError(
                f"the release is damaged: version {version} of {place} cannot be read",
            ) from None
        if number < 0 or found != releases[number]:
            raise GuaranteeError(
                f"version {version} of {place} has not the rows of the earlier release that it was",
            )


def require_records(run: Run, folder: Folder) -> None:
    """Raises GuaranteeError unless the kept records, if there are any, are of the released rows: of
    the same people, with the same values other than quasi-identifiers. folder: of the evidence.
    """
    if run.spec.output.leavers != "keep":
        return
    attributes = run.spec.attributes
    names = [*attributes.sensitive_attributes, *attributes.beside, PERSON]
    try:
        records = fingerprint_of(select(read_delta(run.session, folder.path(RECORDS)), names))
        people = select(read_delta(run.session, folder.path(PEOPLE)), [*names, SUPPRESSED])
        expected = fingerprint_of(_released(people))
    except Exception:  # of the files, by pyarrow or by Java
        raise GuaranteeError(
            f"{folder.path(RECORDS)} or {folder.path(PEOPLE)} cannot be read",
        ) from None
    if records != expected:
        raise GuaranteeError(f"{folder.path(RECORDS)} has not a record of each released row")


def _released(people: Table) -> Table:
    """The rows of people who are not suppressed, without SUPPRESSED, which is the last column."""
    schema = pa.schema(list(schema_of(people))[:-1])

    def released(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.filter(pc.invert(batch[SUPPRESSED])).select(schema.names)

    return map_batches(people, released, schema)


class LinesJudge(ReleaseJudge):
    """line: the earlier releases that the run recorded; None if there are none. people:
    `internal/people`, if there are some. judged: once it is.
    """

    makes = LinesFigures
    people: Table
    line: Line | None = None
    judged: JudgedLine | None = None

    def open(self, written: WrittenRelease) -> None:
        files = written.run_files
        readable = files.versions.readable
        earlier = files.earlier
        require_earlier_versions(files.run, files.public, readable, earlier)
        require_records(files.run, files.internal)
        if earlier is not None:
            releases = tuple(entry.fingerprint for entry in earlier.releases)
            atoms = files.evidence(ATOMS)
            self.people = files.people
            self.line = Line(
                atoms=atoms,
                releases=releases,
                before=earlier.atoms,
                versions=readable,
            )

    def measure(self, release: JudgedRelease) -> None:
        if self.line is not None:
            k = self.spec.privacy.k
            over_people = release.measure_of(JudgedPeople)
            required = ClassRequirements(k, release.quasi, release.attributes, [over_people])
            self.judged = judge_line(self.line, self.people, release.labels, required)

    def problems(self, release: JudgedRelease) -> Iterator[str]:
        yield from () if self.judged is None else self.judged.problems

    def report(self, release: JudgedRelease) -> LinesFigures | None:
        if self.line is None or self.judged is None:
            return None
        people = release.written.profile.people
        found = self.judged
        assert people is not None
        assert people.members is not None
        members = people.members
        newcomers = people.people - members.stayed - members.kept - members.withheld
        return LinesFigures(
            number=self.line.number,
            releases=list(self.line.releases),
            versions=list(self.line.versions),
            atoms=found.atoms,
            newcomers=found.newcomers,
            kept=members.kept,
            withheld=members.withheld,
            waiting=newcomers - found.newcomers["people"],
        )
