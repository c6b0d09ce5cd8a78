"""What one change of a suggested run file there is to try, the likeliest to help first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import islice
from typing import Any

from tclose_spark.measures.loss.information_loss import loses_most
from tclose_spark.runfile.attributes import MEASURE
from tclose_spark.suggesting.facts import ColumnFacts
from tclose_spark.suggesting.judging import SuggestedColumn
from tclose_spark.suggesting.settings import MEASURED
from tclose_spark.suggesting.writing import Draft

OFTEN_MISSING = 0.2  # share of rows without a value from which `missing: any` is tried
FEW_QUASI = 2  # quasi-identifiers, of which none is left out
MANY_QUASI = 4  # from which half of them are tried
Tree = dict[str, Any]
"""A run file as YAML."""


def changes(draft: Draft, tree: Tree, losses: Mapping[str, float]) -> Iterator[tuple[str, Tree]]:
    """(a change in words, the run file with it), the likeliest to help first.

    losses: by quasi-identifier in the trial of the run file as it is; empty if there was no
        release.
    """
    quasi, sensitive = (
        tree["attributes"][role] for role in ("quasi_identifiers", "sensitive_attributes")
    )
    for one in draft.choice.sensitive:
        settings = sensitive[one.name]
        if settings["distance"] != "ordered" and _may_be_ordered(one, settings["distance"]):
            kept = {
                key: part for key, part in settings.items() if key not in ("hierarchy", "missing")
            }
            ordered = {
                **kept,
                "distance": "ordered",
                **({"missing": "lowest"} if one.facts.whole.missing else {}),
            }
            yield (
                f"{one.name} as ordered",
                _with(tree, "sensitive_attributes", {**sensitive, one.name: ordered}),
            )
    for change, columns in _other_quasi(
        quasi, {one.name: one.facts for one in draft.choice.quasi}, losses
    ):
        yield change, _with(tree, "quasi_identifiers", columns)
    required = {
        name: Fraction(str(one["t"])) for name, one in sensitive.items() if one["t"] != MEASURE
    }
    if required and (t := 2 * max(required.values())) < 1:
        wider = {
            name: {**one, "t": float(t)} if name in required else one
            for name, one in sensitive.items()
        }
        yield f"t = {float(t):g}, which protects less", _with(tree, "sensitive_attributes", wider)


def _other_quasi(
    quasi: Tree, facts: Mapping[str, ColumnFacts], losses: Mapping[str, float]
) -> Iterator[tuple[str, Tree]]:
    """Quasi-identifiers with other settings, or fewer of them. Without losses, the one with most
    values is left out.
    """
    empty = [
        name
        for name in quasi
        if facts[name].whole.missing >= OFTEN_MISSING * facts[name].whole.rows
    ]
    if empty:
        yield (
            f"{', '.join(empty)} with missing: any",
            quasi | {n: {**quasi[n], "missing": "any"} for n in empty},
        )
    for name in [
        name for name, settings in quasi.items() if "order" in (settings.get("hierarchy") or {})
    ][:1]:
        sets = {key: part for key, part in quasi[name].items() if key != "hierarchy"} | {
            "generalization": "set"
        }
        yield f"{name} as sets", {**quasi, name: sets}
    if len(quasi) > FEW_QUASI:
        most = loses_most(losses) or max(quasi, key=lambda name: facts[name].whole.distinct)
        yield (
            f"Without {most} as quasi-identifier",
            {name: one for name, one in quasi.items() if name != most},
        )
    if len(quasi) > MANY_QUASI:
        half = dict(islice(quasi.items(), len(quasi) // 2))
        yield f"With {', '.join(half)} as the only quasi-identifiers", half


def _with(tree: Tree, role: str, columns: Tree) -> Tree:
    return {**tree, "attributes": {**tree["attributes"], role: columns}}


def _may_be_ordered(one: SuggestedColumn, distance: str) -> bool:
    """Whether the values are numbers or dates; those with a hierarchy of codes only if their name
    says a quantity.
    """
    quantity = one.concept is not None and one.concept.name in MEASURED
    ordered = one.facts.are_all_numbers or one.facts.calendar is not None
    return ordered and one.facts.whole.distinct > 2 and (distance == "equal" or quantity)
