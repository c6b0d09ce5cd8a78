"""Whether a release continues its line: from the written atoms, the history, the records and
earlier versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.checks.written import RunFiles, WrittenRelease
from tclose_spark.io.output_folders import ATOMS
from tclose_spark.options.lines.atoms import JudgedLine, Line, judge_line
from tclose_spark.options.lines.evidence import (
    require_earlier_versions,
    require_history,
    require_records,
)
from tclose_spark.options.people.judge import PeopleJudge


class LinesJudge(ReleaseJudge):
    """line: the earlier releases that the run recorded; None if there are none. judged: once
    it is.
    """

    line: Line | None = None
    judged: JudgedLine | None = None

    def open(self, written: WrittenRelease) -> None:
        files = written.run_files
        readable, earlier = files.versions["readable"], files.earlier
        require_earlier_versions(files.run, files.public, readable, earlier)
        require_records(files.run, files.internal)
        if earlier is not None:
            releases = tuple(entry["fingerprint"] for entry in earlier["releases"])
            atoms = files.evidence(ATOMS)
            self.line = Line(
                atoms=atoms, releases=releases, before=earlier["atoms"], versions=readable
            )

    def measure(self, release: JudgedRelease) -> None:
        (people,) = (judge for judge in release.judges if isinstance(judge, PeopleJudge))
        if self.line is not None:
            k, quasi, attributes = self.spec.privacy.k, release.quasi, release.attributes
            self.judged = judge_line(
                self.line, people.table, release.labels, k, quasi, attributes, people.required
            )

    def problems(self, release: JudgedRelease) -> Iterator[str]:
        yield from () if self.judged is None else self.judged.problems

    def report(self, release: JudgedRelease, figures: dict[str, Any]) -> Iterable[str]:
        """How many people are published as they were, withheld, and waiting: see
        `report/certificate.schema.json`.
        """
        if self.judged is not None:
            people = release.written.profile.people
            assert people is not None
            assert people.members is not None
            members, line = people.members, self.judged.figures
            newcomers = people.people - members.stayed - members.kept - members.withheld
            waiting = newcomers - line["newcomers"]["people"]
            figures["earlier"] = {
                **line,
                "kept": members.kept,
                "withheld": members.withheld,
                "waiting": waiting,
            }
        return ()

    def require_certified(self, files: RunFiles, certificate: Mapping[str, Any]) -> None:
        require_history(files.internal, files.earlier, certificate)
