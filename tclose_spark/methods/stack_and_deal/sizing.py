"""Class sizes: what each of them reaches, and the smallest that reaches all that is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tclose_spark.errors import UnreachableError
from tclose_spark.measures import diversity
from tclose_spark.measures.distances import GroundDistance
from tclose_spark.measures.histograms import IntArray
from tclose_spark.methods.method import Problem
from tclose_spark.methods.stack_and_deal.dealing import Stack, compositions, maximum_emd
from tclose_spark.spec import SensitiveAttribute

LOOK_BEYOND_CELLS = 2_000  # and not at all where a look takes long
LOOK_BEYOND = 10  # sizes looked at after the first that fits, so that a user sees how it goes on


@dataclass(frozen=True)
class SizeReport:
    """What dealing to `classes` classes, the smallest of `size` records, reaches: the exact largest EMD of each attribute."""

    size: int
    classes: int
    emd: tuple[Fraction, ...]
    holds: bool


@dataclass(frozen=True)
class Attribute:
    """One sensitive attribute as sizing sees it; `column` is its place in the cells' codes."""

    name: str
    column: int
    spec: SensitiveAttribute
    distance: GroundDistance


def attributes_of(problem: Problem) -> list[Attribute]:
    """The sensitive attributes of a problem."""
    asked = problem.spec.attributes.sensitive_attributes
    return [
        Attribute(d.name, i, asked[d.name], d.distance(asked[d.name], problem.hierarchies.get(d.name)))
        for i, d in enumerate(problem.profile.sensitive)
    ]


def report_size(problem: Problem, stack: Stack, e: int) -> SizeReport:
    """What dealing a stack to e classes reaches, exactly, before any row moves."""
    attributes = attributes_of(problem)
    codes = problem.profile.cell_codes
    emd = tuple(maximum_emd(stack, codes[:, a.column], a.distance, e) for a in attributes)
    holds = all(a.spec.t is None or reached <= a.spec.t for a, reached in zip(attributes, emd, strict=True))
    return SizeReport(stack.rows // e, e, emd, holds and all(_is_diverse(stack, codes[:, a.column], a, e) for a in attributes))


def _is_diverse(stack: Stack, codes: IntArray, attribute: Attribute, e: int) -> bool:
    asked = attribute.spec.l
    if asked.distinct is None and asked.entropy is None and asked.recursive is None:
        return True
    for part in compositions(stack, codes, attribute.distance, e):
        if asked.distinct is not None and diversity.distinct(part).min() < asked.distinct:
            return False
        if asked.entropy is not None and diversity.entropy(part).min() < float(asked.entropy) - diversity.ENTROPY_TOLERANCE:
            return False
        if asked.recursive is not None and min(diversity.recursive_margins(part, asked.recursive.c, asked.recursive.l)) <= 0:
            return False
    return True


def reports(problem: Problem, stack: Stack, smallest: int) -> Iterator[SizeReport]:
    """Reports of all class sizes from `smallest` on, lazily. The EMD is not monotone in the size, so each is looked at."""
    size = smallest
    while size <= stack.rows:
        report = report_size(problem, stack, stack.rows // size)
        yield report
        size = report.size + 1


def choose_size(problem: Problem, stack: Stack) -> tuple[SizeReport, list[SizeReport]]:
    """The class size to deal with, and the reports of the sizes that were looked at.

    Raises:
        UnreachableError: if k is larger than the table; if `class_size: k` does not reach what is asked, saying what
            it reaches and which sizes do; or if no size does.
    """
    k = problem.spec.privacy.k
    if stack.rows < k:
        raise UnreachableError(f"privacy.k is {k}, but the table has {stack.rows} rows; no class of {k} can be made")
    seen: list[SizeReport] = []
    fitting = None
    for report in reports(problem, stack, k):
        seen.append(report)
        fitting = fitting or (report if report.holds else None)
        if fitting and (report.size >= fitting.size + LOOK_BEYOND or len(stack.counts) > LOOK_BEYOND_CELLS):
            break
    if fitting is None:
        raise UnreachableError(f"no class size from {k} to the whole table reaches what is asked; {_describe(problem, seen[-1])}")
    if problem.stack_and_deal.class_size == "k" and not seen[0].holds:
        fit = ", ".join(str(r.size) for r in seen if r.holds)
        unfit = ", ".join(str(r.size) for r in seen if not r.holds and r.size > fitting.size)
        raise UnreachableError(
            f"with class_size: k, {_describe(problem, seen[0])}; the class sizes that reach what is asked begin with {fitting.size} "
            f"(looked at up to {seen[-1].size}: {fit} reach it{f', {unfit} do not' if unfit else ''}); "
            "set method.class_size: auto, or a larger k or t"
        )
    return (fitting if problem.stack_and_deal.class_size == "auto" else seen[0]), seen


def _describe(problem: Problem, report: SizeReport) -> str:
    """What a size reaches, in words."""
    asked = problem.spec.attributes.sensitive_attributes
    parts = []
    for name, reached in zip(asked, report.emd, strict=True):
        t = asked[name].t
        parts.append(f"t = {float(reached):.4f} for {name}" + (f" (asked: {float(t):g})" if t is not None else ""))
    lacking = (
        ""
        if report.holds or not any(s.l.model_dump(exclude_none=True) for s in asked.values())
        else ", and the l that is asked may be lacking"
    )
    return f"classes of size {report.size} reach {' and '.join(parts)}{lacking}"
