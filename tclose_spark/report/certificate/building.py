"""How the certificate of a release is built."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal

from tclose_spark.report.certificate.attributes import (
    CertifiedAttributes,
    QuasiIdentifierEntry,
    Sensitive,
)
from tclose_spark.report.certificate.guarantees import Chosen, Guarantees, KAnonymity
from tclose_spark.report.certificate.sections import (
    Brought,
    Certificate,
    CertifiedSubjects,
    CheckedEvidence,
    DeltaDisclosure,
    Gap,
    Information,
    InputTable,
    MeasuredAttribute,
    ReleasedTable,
    Tool,
    UsedMethod,
    Utility,
)
from tclose_spark.report.option_words import Certified, Optimum, OptionWords, words_of
from tclose_spark.requirements.figures import Achieved, AttributeFigures, LossFigures, Plain
from tclose_spark.requirements.wording import entries_of
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute, Text
from tclose_spark.runfile.brought import add_own, maker_of
from tclose_spark.runfile.distances import DEFAULT
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.runfile.registry import MODULES
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.writing import listing
from tclose_spark.version import __version__

SAME_LOSS = 2e-6
"""Losses that differ by no more are the same: a plan's has six digits."""
COUNTS = "Counts are rows. A person with several rows counts several times."
OBJECTIVE = "alpha * t + (1 - alpha) * NCP"
"""What a chosen k minimizes."""


def build_certificate(made: Certified, hierarchies: Mapping[str, Hierarchy]) -> Certificate:
    """The certificate of a verified release. Its figures can be recomputed from the release and the
    key `attributes`.

    Raises:
        ConfigurationError: if an option of another package changes a section.
    """
    spec = made.spec
    figures = made.figures
    settings = spec.attributes.sensitive_attributes
    certificate = Certificate(
        verdict="holds",
        subjects=_subjects(made),
        unprotected={
            name: figures.attributes[name].homogeneous
            for name, one in settings.items()
            if not one.limited
        },
        tool=Tool(name="tclose_spark", version=__version__),
        brought=brought_by(spec) or None,
        issued=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        release=ReleasedTable(
            name=spec.name,
            rows=figures.rows,
            classes=figures.classes,
            fingerprint=figures.fingerprint,
            columns=made.columns,
        ),
        counts=COUNTS,
        input=InputTable(rows=made.rows, version=made.version),
        method=UsedMethod.read(spec.method.model_dump(exclude_none=True)),
        regions=figures.regions,
        guarantees=guarantees_of(spec, figures.smallest_class, figures.attributes),
        attributes=CertifiedAttributes(
            sensitive={
                name: _sensitive(one, figures.attributes[name], hierarchies.get(name))
                for name, one in settings.items()
            },
            quasi_identifiers={
                name: _quasi(one, hierarchies.get(name), figures.quasi_identifiers[name])
                for name, one in spec.attributes.quasi_identifiers.items()
            },
        ),
        information=Information(
            attributes={
                name: _measured(one, figures.attributes[name]) for name, one in settings.items()
            },
        ),
        utility=_utility(made),
        evidence=CheckedEvidence(
            expectations_evaluated=figures.expectations_evaluated,
            labels_checked=figures.rows,
        ),
        allow_unique=list(spec.attributes.allow_unique),
        warnings=[*figures.warnings, *made.warnings],
    )
    for words in words_of(spec):
        certificate = _with_option(words, made, certificate)
    return certificate


def _with_option(words: OptionWords, made: Certified, certificate: Certificate) -> Certificate:
    """The certificate with what an option adds. One of another package adds sections of its own,
    and changes none.
    """
    if words.brought is None:
        words.certify(made, certificate)
        return certificate
    sections = certificate.to_json()
    add_own(words.brought, sections, lambda seen: seen.update(words.own_sections(made)))
    return Certificate.read(sections)


def brought_by(spec: ReleaseSpec) -> list[Brought]:
    """The options, requirements and methods of other packages that a run uses, each with its
    package and version.
    """
    attributes = spec.attributes.sensitive_attributes.values()
    used = [("option", one.key) for one in spec.brought]
    used += [("requirement", one.key) for a in attributes for one in a.brought]
    used += [("method", name) for name in [spec.method.name] if name not in MODULES]
    found = []
    for kind, name in dict.fromkeys(used):
        package, version = maker_of(f"tclose_spark.{kind}s", name)
        found.append(
            Brought.read({"kind": kind, "name": name, "package": package, "version": version}),
        )
    return found


def _subjects(made: Certified) -> CertifiedSubjects | None:
    """The notes on whom rows are about, or the statement that each is a person."""
    stated = bool(made.spec.attributes.rows_are_persons)
    notes = list(made.subjects)
    return CertifiedSubjects(rows_are_persons=stated, notes=notes) if stated or notes else None


def _utility(made: Certified) -> Utility:
    figures = made.figures
    return Utility(
        ncp=figures.ncp,
        ncp_by_quasi_identifier=figures.ncp_by_quasi_identifier,
        ncp_weighted=_weighted_loss(made.spec, figures.ncp_by_quasi_identifier),
        average_class_size=figures.rows / figures.classes,
        smallest_class=figures.smallest_class,
        largest_class=figures.largest_class,
        discernibility=figures.discernibility,
        optimum=None if made.optimum is None else proven(made.spec, figures, made.optimum),
    )


def _weighted_loss(spec: ReleaseSpec, losses: Mapping[str, float | None]) -> float | None:
    """The weighted mean of the losses if the run file's weights differ."""
    weights = {
        name: float(quasi.weight) for name, quasi in spec.attributes.quasi_identifiers.items()
    }
    known = {name: loss for name, loss in losses.items() if loss is not None}
    if len(set(weights.values())) == 1 or len(known) < len(losses):
        return None
    return sum(weights[name] * loss for name, loss in known.items()) / sum(weights.values())


def proven(spec: ReleaseSpec, figures: LossFigures, optimum: Optimum) -> Literal["proven"] | Gap:
    """What the method has proven (`utility.optimum`) of `ncp_weighted`, or of `ncp` without
    weights.

    No release loses less by these figures than by what the input has, since labels name no more. So
    a proof over the input holds for them if the release loses no more by them. Otherwise the proof
    is stated of the input, without the loss itself: it would reveal the range or the number of the
    input's values.
    """
    weighted = _weighted_loss(spec, figures.ncp_by_quasi_identifier)
    measured = figures.ncp if weighted is None else weighted
    assert measured is not None
    gap = optimum.proven["gap"] if isinstance(optimum.proven, dict) else None
    if measured - optimum.loss > SAME_LOSS:
        return Gap(gap=gap or 0.0, over="input")
    return "proven" if gap is None else Gap(gap=gap)


def guarantees_of(
    spec: ReleaseSpec,
    smallest: int,
    attributes: Mapping[str, Achieved],
) -> Guarantees:
    """The required and achieved figures of classes: k of the smallest, t and l of the worst.
    attributes: the verifier's figures by name.
    """
    alpha = spec.privacy.alpha
    chosen = None if alpha is None else Chosen(objective=OBJECTIVE, alpha=str(alpha))
    k = KAnonymity(required=spec.privacy.k, achieved=smallest, chosen=chosen)
    reached = {name: found.reached for name, found in attributes.items()}
    return Guarantees.read({"k": k, **entries_of(spec.attributes.sensitive_attributes, reached)})


def _sensitive(
    settings: SensitiveAttribute,
    achieved: AttributeFigures,
    hierarchy: Hierarchy | None,
) -> Sensitive:
    """The settings and domain from which an attribute's figures can be recomputed, and the rows
    that it is certain for.
    """
    is_value = not settings.kind.missing and settings.missing == "error"
    order = settings.order if isinstance(settings.order, str) else "list"
    entry = {
        "distance": settings.distance,
        "m": (achieved.places or achieved.domain)["size"],
        "domain": achieved.domain,
        "unused": achieved.unused,
        "input": achieved.input,
        "missing": "value" if is_value else settings.missing,
        "homogeneous": achieved.homogeneous,
        "places": achieved.places,
        "order": order if settings.kind.ordered else None,
        "text": _spellings(settings.text),
        "hierarchy": None if hierarchy is None else _tree(hierarchy.without_missing()),
    }
    return Sensitive.read(entry)


def _spellings(text: Text | None) -> Mapping[str, object] | None:
    return None if text is None else text.model_dump(mode="json", exclude_defaults=True)


def _quasi(
    settings: QuasiIdentifier,
    hierarchy: Hierarchy | None,
    measured_on: Plain,
) -> QuasiIdentifierEntry:
    """How a quasi-identifier is published: its settings, and the form of its labels. Leaves of a
    built hierarchy are values of people, so only their number is published. measured_on: what its
    loss is divided by.
    """
    entry = {
        **settings.model_dump(mode="json", exclude_defaults=True, exclude={"hierarchy"}),
        "type": settings.type,
        **measured_on,
    }
    if hierarchy is not None:
        built = isinstance(settings.hierarchy, HierarchyBuilder)
        entry["hierarchy"] = {"size": len(hierarchy.paths)} if built else _tree(hierarchy)
    else:
        form = "numeric_output" if settings.is_numeric else "generalization"
        entry[form] = getattr(settings, form)
    return QuasiIdentifierEntry.read(entry)


def _tree(hierarchy: Hierarchy) -> Mapping[str, object]:
    """The paths of all leaves, sorted."""
    return listing(sorted(hierarchy.paths), "paths")


def _measured(settings: SensitiveAttribute, achieved: Achieved) -> MeasuredAttribute:
    """What is measured of a sensitive attribute and not required."""
    reached = achieved.reached
    return MeasuredAttribute(
        kl_divergence=reached["divergence"]["achieved"],
        delta_disclosure=DeltaDisclosure(
            largest=reached["delta"]["achieved"],
            infinite=achieved.unlike,
        ),
        similar=None if settings.distance == DEFAULT else achieved.similar,
    )
