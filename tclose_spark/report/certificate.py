"""The certificate of a release: what is required and what is achieved, for a disclosure board and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, NamedTuple

from tclose_spark.errors import ConfigurationError
from tclose_spark.requirements.closeness import JOINT
from tclose_spark.requirements.supersets import near_entry
from tclose_spark.requirements.wording import entries_of
from tclose_spark.runfile.aggregates import Aggregate
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.runfile.distances import DEFAULT
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.runfile.joint import covered
from tclose_spark.runfile.options import used_parts
from tclose_spark.runfile.population import ADVERSARIES
from tclose_spark.runfile.pseudonyms import NAMED
from tclose_spark.runfile.release_form import GROUP
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.writing import listing
from tclose_spark.version import __version__

OF_AGGREGATES = (
    "aggregates of classes are published, which do not say how far the values of a class lie apart; what labels that "
    "cover them would lose follows from the raw table alone"
)

SAME_LOSS = 2e-6
"""Losses that differ by no more are the same: a plan's has six digits."""
COUNTS = "Counts are rows. A person with several rows counts several times."
COUNTS_OF_PEOPLE = "k and l count people, once in each class, as well as rows. Other counts are rows."

NO_PEOPLE: Mapping[str, Any] = {"attributes": {}}


def build_certificate(
    spec: ReleaseSpec,
    hierarchies: Mapping[str, Hierarchy],
    figures: Mapping[str, Any],
    rows: int,
    version: int | None,
    columns: list[str],
) -> dict[str, Any]:
    """The certificate of a verified release. Its figures can be recomputed from the release and the key `attributes`.

    figures: the verifier's. rows, version: of the input. columns: of the release.

    Raises:
        ConfigurationError: if an option of another package would replace a key.
    """
    made = _Certified(spec, figures, rows)
    sections: dict[str, Any] = {
        "verdict": "holds",
        "unprotected": _unprotected(spec, figures),
        "tool": {"name": "tclose_spark", "version": __version__},
        "issued": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "release": {
            "name": spec.name,
            **{key: figures[key] for key in ("rows", "classes", "fingerprint")},
            "columns": columns,
            **_form(spec, columns, figures.get("fingerprints", {})),
        },
        "counts": COUNTS if "people" not in figures else COUNTS_OF_PEOPLE,
        "input": {"rows": rows, "version": version},
        "people": _people(made),
        "earlier": figures.get("earlier"),
        "method": spec.method.model_dump(exclude_none=True),
        "regions": figures["regions"],
        "guarantees": {
            **_guarantees(spec, figures["smallest_class"], figures["attributes"], figures.get("people", NO_PEOPLE)),
            **_given({"nt": _near(made), "joint": _joint(made)}),
        },
        "risks": _risks(made),
        "weights": _weights(made),
        "suppressed": _suppressed(made),
        "attributes": {
            "sensitive": _all_sensitive(made, hierarchies),
            "quasi_identifiers": _all_quasi(made, hierarchies),
        },
        "information": _information(figures, spec.attributes.sensitive_attributes),
        "utility": _utility(made),
        "evidence": {"expectations_evaluated": figures["expectations_evaluated"], "labels_checked": figures["rows"]},
        "allow_unique": list(spec.attributes.allow_unique),
        "pseudonyms": _pseudonyms(spec) or None,
        "profile": figures.get("profile"),
        "warnings": [
            *_of_form(spec),
            *figures["warnings"],
            *_as_they_were(figures),
            *(_linkable(*one) for one in _pseudonyms(spec).items()),
        ],
    }
    for write in used_parts(spec, "words"):
        more = write(spec, figures)
        if taken := sorted(sections.keys() & more.keys()):
            raise ConfigurationError(f"an option of another package writes {taken[0]!r}, which every certificate has")
        sections |= more
    return _given(sections)


class _Certified(NamedTuple):
    """What a certificate is made from. rows: of the input."""

    spec: ReleaseSpec
    figures: Mapping[str, Any]
    rows: int


def _given(sections: Mapping[str, Any]) -> dict[str, Any]:
    """The sections that there are."""
    return {key: section for key, section in sections.items() if section is not None}


def _unprotected(spec: ReleaseSpec, figures: Mapping[str, Any]) -> dict[str, Any]:
    """The sensitive attributes without a limit, with the classes of one value."""
    settings, limited = spec.attributes.sensitive_attributes, covered(spec.privacy.joint or ())
    without = [name for name, one in settings.items() if not one.limited and name not in limited]
    return {name: figures["attributes"][name]["homogeneous"] for name in without}


def _pseudonyms(spec: ReleaseSpec) -> dict[str, str]:
    """What the key of each published pseudonym is."""
    names = spec.attributes.pseudonym_names
    return {names[column]: one.keyed for column, one in spec.attributes.pseudonyms.items()}


def _all_sensitive(made: _Certified, hierarchies: Mapping[str, Hierarchy]) -> dict[str, Any]:
    achieved = made.figures["attributes"]
    settings = made.spec.attributes.sensitive_attributes
    return {name: _sensitive(one, achieved[name], hierarchies.get(name)) for name, one in settings.items()}


def _all_quasi(made: _Certified, hierarchies: Mapping[str, Hierarchy]) -> dict[str, Any]:
    spec, measured = made.spec, made.figures["quasi_identifiers"]
    aggregates, exact = spec.aggregates, spec.release.is_exact
    return {
        name: {**_quasi(quasi, hierarchies.get(name), aggregates.get(name), exact), **measured[name]}
        for name, quasi in spec.attributes.quasi_identifiers.items()
    }


def _utility(made: _Certified) -> dict[str, Any]:
    spec, figures = made.spec, made.figures
    return {
        "ncp": figures["ncp"],
        **({"ncp_unknown": OF_AGGREGATES} if spec.aggregates else {}),
        "ncp_by_quasi_identifier": figures["ncp_by_quasi_identifier"],
        **_weighted_loss(spec, figures["ncp_by_quasi_identifier"]),
        "average_class_size": figures["rows"] / figures["classes"],
        **{key: figures[key] for key in ("smallest_class", "largest_class", "discernibility")},
        **({"optimum": proven(spec, figures)} if "optimum" in figures else {}),
    }


def _form(spec: ReleaseSpec, columns: Sequence[str], fingerprints: Mapping[str, str]) -> dict[str, Any]:
    """The form of the release, unless it is one table of labels: the column of a class's number, the tables of
    sensitive values with their fingerprints, and the blocks that are published apart. columns: of the table `release`.
    """
    form, attributes = spec.release, spec.attributes
    if form.is_plain:
        return {}
    labels = [column for column in columns if column not in attributes.beside]
    tables = form.tables(labels, attributes.sensitive_attributes)
    return {
        "form": form.form,
        **({"group": GROUP} if form.is_exact else {}),
        **({"tables": tables, "fingerprints": dict(fingerprints)} if tables else {}),
        **({"together": [[*block] for block in form.together]} if form.together else {}),
    }


def _of_form(spec: ReleaseSpec) -> list[str]:
    """The warnings about exact quasi-identifiers, and about values that may not be those of their row."""
    form, found = spec.release, []
    if form.is_exact:
        found.append(
            f"{', '.join(spec.attributes.quasi_identifiers)}: published as they are (release.form: {form.form}), so "
            "who is in the table is disclosed, with these values; sensitive values are known by class only"
        )
    if form.form == "permutation":
        found.append(
            f"{', '.join(spec.attributes.sensitive_attributes)}: a row's value is that of some person of its "
            "class, perhaps of another one (release.form: permutation)"
        )
    return found


def _as_they_were(figures: Mapping[str, Any]) -> list[str]:
    """The warning about people who are published as they were."""
    kept = figures.get("earlier", {}).get("kept", 0)
    message = (
        f"{kept:,} people are published as they were in an earlier release, because they left or have other sensitive "
        "values by now, and others of their atoms are still there (output.leavers: keep)"
    )
    return [message] if kept else []


def _linkable(column: str, keyed: str) -> str:
    """The warning about a pseudonym."""
    releases = "of any table " if keyed == NAMED else ""
    return (
        f"{column!r} is a pseudonym ({keyed}): the rows of a person are linkable by it, across classes and across "
        f"releases {releases}with the same secret; an adversary who finds one row of a person finds all, and k, l and "
        "t hold for each class, not for the combination"
    )


def _weighted_loss(spec: ReleaseSpec, losses: Mapping[str, float]) -> dict[str, float]:
    """The weighted mean of the losses if the run file's weights differ."""
    weights = {name: float(quasi.weight) for name, quasi in spec.attributes.quasi_identifiers.items()}
    if len(set(weights.values())) == 1 or None in losses.values():
        return {}
    return {"ncp_weighted": sum(weights[name] * loss for name, loss in losses.items()) / sum(weights.values())}


def proven(spec: ReleaseSpec, figures: Mapping[str, Any]) -> str | dict[str, Any]:
    """What the method has proven (`utility.optimum`) of `ncp_weighted`, or of `ncp` without weights.

    No release loses less by these figures than by what the input has, since labels name no more. So a proof over the
    input holds for them if the release loses no more by them. Otherwise the proof is stated of the input, without the
    loss itself: it would reveal the range or the number of the input's values.
    """
    claim: str | dict[str, Any] = figures["optimum"]["proven"]
    measured = _weighted_loss(spec, figures["ncp_by_quasi_identifier"]).get("ncp_weighted", figures["ncp"])
    if measured - figures["optimum"]["loss"] <= SAME_LOSS:
        return claim
    return {"gap": 0.0, **(claim if isinstance(claim, dict) else {}), "over": "input"}


def _people(made: _Certified) -> dict[str, Any] | None:
    """The people of the input, and of the smallest class, if they are counted."""
    if "people" not in made.figures or made.spec.attributes.person is None:
        return None
    counted = {key: made.figures["people"][key] for key in ("people", "most_rows", "smallest_class")}
    return {**counted, "rows": made.rows, "rows_of_a_person": made.spec.attributes.person.rows}


def _guarantees(
    spec: ReleaseSpec,
    smallest: int,
    attributes: Mapping[str, Any],
    people: Mapping[str, Any],
    from_whole: bool | None = None,
) -> dict[str, Any]:
    """The required and achieved figures: k of the smallest class, t and l of the worst.

    people: what classes achieve over people, if they are counted. from_whole: whether t limits the distance from the
    whole table; otherwise that distance is only measured.
    """
    from_whole = spec.privacy.n is None if from_whole is None else from_whole
    k: dict[str, Any] = {"required": spec.privacy.k, "achieved": smallest}
    if "smallest_class" in people:
        k["over_people"] = {"achieved": people["smallest_class"]}
    if spec.privacy.alpha is not None:
        k["chosen"] = {"objective": "alpha * t + (1 - alpha) * NCP", "alpha": str(spec.privacy.alpha)}
    required = spec.attributes.sensitive_attributes
    if not from_whole:
        required = {name: a.model_copy(update={"t": None}) for name, a in required.items()}
    reached = {name: found["reached"] for name, found in attributes.items()}
    return {"k": k, **entries_of(required, reached, people["attributes"])}


def _near(made: _Certified) -> dict[str, Any] | None:
    """(n, t)-closeness by sensitive attribute with a t, if it is required."""
    settings, n = made.spec.attributes.sensitive_attributes, made.spec.privacy.n
    if n is None:
        return None
    return {name: near_entry(settings[name], n, found) for name, found in made.figures["near"].items()}


def _risks(made: _Certified) -> dict[str, Any] | None:
    """The risks of re-identification by adversary, with the limits that are required, if they are measured. Every class
    has k people, so nobody is alone in one.
    """
    if "risks" not in made.figures:
        return None
    required = [] if made.spec.privacy.risk is None else [*made.spec.privacy.risk.required()]
    risks = {key: entry for key, entry in made.figures["risks"].items() if key != "uniques"}
    for adversary in ADVERSARIES:
        if adversary in risks:
            limits = {figure: float(limit) for of, figure, limit in required if of == adversary}
            risks[adversary] = {**risks[adversary], "required": limits}
    return risks


def _weights(made: _Certified) -> dict[str, Any] | None:
    """The column of weights, and the people whom the release stands for; of an unpublished one, only that there is
    one.
    """
    weight = made.spec.attributes.weight
    if weight is None or not weight.publish:
        return None if weight is None else {"published": False}
    people = {key: made.figures["weights"][key] for key in ("total", "smallest_class", "mean_class")}
    rounded = {} if weight.round_to is None else {"round_to": str(weight.round_to)}
    return {"published": True, "column": weight.column, **rounded, **people}


def _suppressed(made: _Certified) -> dict[str, Any] | None:
    """The suppressed rows if any may be, and the table that classes were compared with. If that is the input, it
    reveals the distribution of the suppressed rows, and the entry has their figures as a class.
    """
    privacy, figures = made.spec.privacy, made.figures["suppressed"]
    if not privacy.suppression_limit:
        return None
    entry = {
        "rows": figures["rows"],
        "share": figures["rows"] / made.rows,
        "limit": float(privacy.suppression_limit),
        "limit_exact": str(privacy.suppression_limit),
        "of": privacy.of,
    }
    if "attributes" not in figures:
        return entry
    certain = [name for name, achieved in figures["attributes"].items() if achieved["homogeneous"]["classes"]]
    return {
        **entry,
        "guarantees": _guarantees(made.spec, figures["rows"], figures["attributes"], NO_PEOPLE, True),
        "certain": certain,
    }


def _sensitive(
    settings: SensitiveAttribute, achieved: Mapping[str, Any], hierarchy: Hierarchy | None
) -> dict[str, Any]:
    """The settings and domain from which an attribute's figures can be recomputed, and the rows that it is certain
    for.
    """
    entry = {
        "distance": settings.distance,
        "m": achieved["places" if "places" in achieved else "domain"]["size"],
        "domain": achieved["domain"],
        "unused": achieved["unused"],
        **({"input": achieved["input"]} if "input" in achieved else {}),
        "missing": settings.missing if settings.kind.missing else "value",
        "homogeneous": achieved["homogeneous"],
    }
    if "places" in achieved:
        entry["places"] = achieved["places"]
    if settings.kind.ordered:
        entry["order"] = settings.order if isinstance(settings.order, str) else "list"
    if settings.text is not None:
        entry["text"] = settings.text.model_dump(mode="json", exclude_defaults=True)
    return entry if hierarchy is None else {**entry, "hierarchy": _tree(hierarchy.without_missing())}


def _quasi(
    settings: QuasiIdentifier, hierarchy: Hierarchy | None, aggregate: Aggregate | None = None, exact: bool = False
) -> dict[str, Any]:
    """How a quasi-identifier is published: its settings, and the form of its labels or the kind of aggregate, or that
    it is exact. Leaves of a built hierarchy are values of people, so only their number is published.
    """
    if exact:
        return {"type": settings.type, "exact": True}
    entry = {"type": settings.type, **settings.model_dump(mode="json", exclude_defaults=True, exclude={"hierarchy"})}
    if aggregate is not None:
        entry["aggregate"] = aggregate.kind
    if aggregate is not None and aggregate.digits is not None:
        entry["digits"] = aggregate.digits
    if hierarchy is not None:
        built = isinstance(settings.hierarchy, HierarchyBuilder)
        return {**entry, "hierarchy": {"size": len(hierarchy.paths)} if built else _tree(hierarchy)}
    if aggregate is not None:
        return entry
    form = "numeric_output" if settings.is_numeric else "generalization"
    return {**entry, form: getattr(settings, form)}


def _tree(hierarchy: Hierarchy) -> dict[str, Any]:
    """The paths of all leaves, sorted."""
    return listing(sorted(hierarchy.paths), "paths")


def _information(figures: Mapping[str, Any], settings: Mapping[str, SensitiveAttribute]) -> dict[str, Any]:
    """What is measured and not required: of each sensitive attribute, the distances of tuples of them, and people alone
    with a pair of values.
    """
    found: dict[str, Any] = {
        "attributes": {
            name: {
                "kl_divergence": figures["attributes"][name]["reached"]["divergence"]["achieved"],
                "delta_disclosure": {
                    "largest": figures["attributes"][name]["reached"]["delta"]["achieved"],
                    "infinite": figures["attributes"][name]["unlike"],
                },
                **({} if one.distance == DEFAULT else {"similar": figures["attributes"][name]["similar"]}),
            }
            for name, one in settings.items()
        }
    }
    found |= {"alone": figures["alone"]} if "alone" in figures else {}
    if "tuples" in figures:
        growth = [
            {"attributes": one["attributes"], **_exactly(one["emd"]), "size": one["size"], "least": one["least"]}
            for one in figures["tuples"]
        ]
        found["tuples"] = {"distance": "equal", **_exactly(figures["tuples"][-1]["emd"]), "growth": growth}
    return found


def _joint(made: _Certified) -> dict[str, Any] | None:
    """The closeness of the tuples that the run file requires, by name."""
    found, over = {}, made.figures.get("people", NO_PEOPLE)["attributes"]
    if "joint" not in made.figures:
        return None
    for one in made.spec.privacy.joint or ():
        counted = over[one.name]["t"] if one.name in over else None
        entry = JOINT.entry(one.as_attribute, made.figures["joint"][one.name]["t"], counted)
        found[one.name] = {"attributes": list(one.attributes), **entry}
    return found


def _exactly(achieved: str) -> dict[str, Any]:
    return {"achieved": float(Fraction(achieved)), "achieved_exact": achieved}
