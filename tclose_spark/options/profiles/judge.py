"""Whether a release holds the rules of its profile."""

from __future__ import annotations

from collections.abc import Iterator

from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.options.profiles.judge_profile import JudgedProfile, judge_profile
from tclose_spark.options.profiles.words import ProfilesFigures


class ProfilesJudge(ReleaseJudge):
    """judged: once it is."""

    makes = ProfilesFigures
    judged: JudgedProfile

    def measure(self, release: JudgedRelease) -> None:
        self.judged = judge_profile(release)

    def problems(self, release: JudgedRelease) -> Iterator[str]:
        yield from self.judged.problems

    def report(self, release: JudgedRelease) -> ProfilesFigures:
        return self.judged.figures
