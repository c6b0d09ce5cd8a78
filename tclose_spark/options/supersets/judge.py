"""(n, t)-closeness of a release: each class is close to a natural superset, in place of the whole
table.
"""

from __future__ import annotations

from collections.abc import Iterator

from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.checks.supersets import NearSupersets, expect_supersets, near_supersets
from tclose_spark.options.supersets.words import SupersetsFigures
from tclose_spark.requirements.expectation import Expectation
from tclose_spark.requirements.supersets import NearFigures, unproven
from tclose_spark.runfile.spec import ReleaseSpec


class SupersetsJudge(ReleaseJudge):
    """near: by attribute with a t."""

    makes = SupersetsFigures
    near: list[NearSupersets]

    def __init__(self, spec: ReleaseSpec) -> None:
        super().__init__(spec)
        assert spec.privacy.n is not None
        self.n = spec.privacy.n

    def measure(self, release: JudgedRelease) -> None:
        self.near = near_supersets(release.classes, release.attributes, self.n)

    def problems(self, release: JudgedRelease) -> Iterator[str]:
        far = [unproven(one.guarantee) for one in self.near if not one.guarantee.holds]
        yield from (*far, *release.untried_supersets) if far else ()

    def expectations(self, release: JudgedRelease) -> list[Expectation]:
        return expect_supersets(release.attributes)

    def report(self, release: JudgedRelease) -> SupersetsFigures:
        return SupersetsFigures(
            near={str(one.guarantee.attribute): _figures(one) for one in self.near},
        )


def _figures(near: NearSupersets) -> NearFigures:
    proven = {"whole_table": near.whole_table, "itself": near.itself, "superset": near.superset}
    return NearFigures(achieved=float(near.guarantee.achieved), classes=proven)
