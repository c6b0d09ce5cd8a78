"""Whether a release holds the rules of its profile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.checks.labels.loss import published_columns
from tclose_spark.options.profiles.judge_profile import judge_profile
from tclose_spark.options.profiles.profiled_release import NO_POPULATIONS


class ProfilesJudge(ReleaseJudge):
    """Judges by the figures of all others."""

    def report(self, release: JudgedRelease, figures: dict[str, Any]) -> Iterable[str]:
        written, spec = release.written, self.spec
        areas = NO_POPULATIONS if written.files is None else written.files.run.populations
        columns = published_columns(spec)
        figures["profile"], broken = judge_profile(
            release.table, spec, columns, written.hierarchies, areas, figures
        )
        return broken
