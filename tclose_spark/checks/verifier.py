"""The independent verifier: decides from the written files alone whether every requirement
holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from operator import methodcaller

from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge, judges_of
from tclose_spark.checks.labels.regions import MOST_COMPARED, are_disjoint
from tclose_spark.checks.problems import too_coarse, violation
from tclose_spark.checks.release_figures import figures_of
from tclose_spark.checks.released import DamagedFileError
from tclose_spark.checks.validation import Validation, validate
from tclose_spark.checks.written import WrittenRelease
from tclose_spark.engine.tables import errors_of_tasks
from tclose_spark.errors import GuaranteeError
from tclose_spark.measures.loss.information_loss import NoLabelError
from tclose_spark.requirements.expectation import expect_rows
from tclose_spark.requirements.figures import Figures, Regions
from tclose_spark.requirements.registry import expectations_of
from tclose_spark.runfile.brought import add_own


@dataclass(frozen=True)
class Verdict:
    """The result of a verification.

    problems: one line each; empty if every requirement holds.
    figures: those of the certificate, and `by_input` those measured on the raw table, which stay
        internal.
    validation: the result of the Great Expectations suite.
    only_coarse: whether labels are coarser than `coarsest`, and nothing else is wrong.
    """

    problems: tuple[str, ...]
    figures: Figures
    validation: Validation
    only_coarse: bool = False

    @property
    def holds(self) -> bool:
        """Whether every requirement holds."""
        return not self.problems


def verify_release(written: WrittenRelease) -> Verdict:
    """The verdict on a written release. Writes its class table.

    Raises:
        GuaranteeError: if the release cannot be judged: it is damaged, a column is missing or
            unexpected, or a published value is not a label.
        ConfigurationError: if an option of another package changes a figure.
    """
    judges = judges_of(written.spec)
    for judge in judges:
        judge.open(written)
    with judging(written, judges) as release:
        release.require_columns()
        figures = release.figures
        for judge in judges:
            judge.measure(release)
        regions = _regions(release)
        problems = [
            *_disagreements(release),
            *map(violation, figures.broken),
            *_broken_by_suppressed(release),
        ]
        problems += release.all_of(lambda judge: [*judge.problems(release)])
        problems += [
            too_coarse(release.spec, name, *found) for name, found in figures.coarse.items()
        ]
        if release.spec.method.promises_disjoint and release.named and regions != "disjoint":
            problems.append(
                "regions overlap: the labels of two classes have values in common, but the method "
                "promises disjoint regions",
            )
        validation, evaluated = _validated(release, judges)
        problems += _failures(validation)
        reported = figures_of(release, regions, evaluated, [found for _, found in release.reports])
        _require_own_keys(release, reported)
    only_coarse = 0 < len(problems) == len(figures.coarse)
    return Verdict(tuple(problems), reported, validation, only_coarse)


def _require_own_keys(release: JudgedRelease, figures: Figures) -> None:
    """Raises ConfigurationError if the figures of an option of another package have a key of other
    figures.
    """
    kept = replace(figures, options=()).to_json()
    for judge, found in release.reports:
        add_own(judge.brought, kept, methodcaller("update", found.by_key()))


def _broken_by_suppressed(release: JudgedRelease) -> Iterator[str]:
    """What the suppressed rows break as a class."""
    for broken in [] if release.suppressed is None else release.suppressed.broken:
        yield violation(broken, suppressed=True)


def _regions(release: JudgedRelease) -> Regions:
    """Whether the regions of classes overlap, where labels cover the values of all rows."""
    few = release.figures.classes <= MOST_COMPARED or release.spec.method.promises_disjoint
    if not (few and all(q.covers for q in release.quasi)):
        return "not looked at"
    return "disjoint" if are_disjoint(release.classes, release.quasi) else "overlapping"


def _disagreements(release: JudgedRelease) -> Iterator[str]:
    """Differences between the release and the input, generalized, less the rows that may be
    suppressed.
    """
    evidence = release.written.evidence
    profile = release.written.profile
    released = release.rows.fingerprint
    if evidence.written.raw != evidence.input or evidence.input != profile.fingerprint:
        yield "the rows whose labels were checked during the write are not the rows of the input"
    if str(released) != evidence.written.published:
        yield "the release that was read back differs from the release that was written"
    left = release.left
    most = release.spec.privacy.most_suppressed(profile.rows)
    in_classes = release.figures.rows
    if not released.rows == profile.rows - left.rows == in_classes or not 0 <= left.rows <= most:
        yield (
            f"{released.rows} rows are released and {in_classes} are in classes, of {profile.rows} "
            f"rows of the input; {left.rows} are suppressed, and privacy.suppression_limit allows "
            f"{most}"
        )
    for i in left.unexplained:
        yield f"{profile.sensitive[i].name}: the released values differ from those of the input"


def _validated(release: JudgedRelease, judges: Sequence[ReleaseJudge]) -> tuple[Validation, int]:
    """(what Great Expectations finds in the class table, the number of its expectations)."""
    classes = release.figures.classes
    spec = release.spec
    expectations = [expect_rows(classes), *expectations_of(spec.privacy.k, release.of_whole)]
    expectations += release.all_of(lambda judge: judge.expectations(release))
    return validate(release.classes, f"{spec.name}: every class", expectations, classes), len(
        expectations,
    )


def _failures(validation: Validation) -> list[str]:
    failures = [f"Great Expectations: {failure}" for failure in validation.failures]
    if not validation.passed and not failures:
        failures.append("Great Expectations: the suite over the class table does not pass")
    return failures


@contextmanager
def judging(written: WrittenRelease, judges: Sequence[ReleaseJudge]) -> Iterator[JudgedRelease]:
    """A release to judge.

    Raises:
        GuaranteeError: if a task could not read a file of it, a published value is not a label, or
            it cannot be judged.
    """
    try:
        with errors_of_tasks(DamagedFileError, NoLabelError), ExitStack() as held:
            yield JudgedRelease(written, judges, held)
    except DamagedFileError as error:
        raise GuaranteeError(f"the release is damaged: {error}") from None
    except NoLabelError:
        raise GuaranteeError(
            "a published value is not a label of its quasi-identifier; nothing is published",
        ) from None
