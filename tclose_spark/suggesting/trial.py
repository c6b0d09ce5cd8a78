"""A suggested run file carried out in memory on rows of the sample, and what one change of it would
bring.

The figures are measured on raw rows, as those of `tclose compare`. No sentence holds a value of a
person.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from tclose_spark.comparing.request import AS_ASKED, Combination
from tclose_spark.comparing.result import Outcome
from tclose_spark.comparing.trial import draw_rows, run_trial
from tclose_spark.engine.sources import viewed
from tclose_spark.errors import TcloseError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run
from tclose_spark.measures.loss.information_loss import loses_most
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.runfile.attributes import MEASURE
from tclose_spark.runfile.loading import spec_of
from tclose_spark.runfile.spec import FRAME
from tclose_spark.suggesting.facts import ColumnFacts, TableFacts
from tclose_spark.suggesting.judging import SuggestedColumn
from tclose_spark.suggesting.settings import MEASURED
from tclose_spark.suggesting.suggestion import Suggestion
from tclose_spark.suggesting.writing import Draft
from tclose_spark.usefulness.queries import QueryError
from tclose_spark.usefulness.utility_measures import UtilityMeasures

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
        quasi,
        {one.name: one.facts for one in draft.choice.quasi},
        losses,
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
    quasi: Tree,
    facts: Mapping[str, ColumnFacts],
    losses: Mapping[str, float],
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
            "generalization": "set",
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


TRIAL_ROWS = 20_000
SEARCHED_ROWS = 5_000  # on which the number of columns is chosen
SEED = 2026
BAD = 0.5  # NCP or query error above which changes are tried
MOST_CHANGES = 5
HELPS = 0.05  # of NCP or of query error; less may be chance


def try_suggestion(draft: Draft, tree: Tree, gathered: TableFacts, folder: str) -> tuple[str, ...]:
    """What a release by this run file can be expected to be, in sentences; if it would be bad,
    which changes help.

    tree: the run file of the draft. folder: an internal folder for the secret and the staged rows.
    """
    rows = rows_to_try(draft, gathered, TRIAL_ROWS)
    try:
        first = _carried_out(tree, rows, folder)
        if first.state != "released":
            head = f"{_on(rows, draft)}: no release; {first.why or first.state}"
        else:
            loss, error, classes = (
                first.figures[name] for name in ("ncp", "query_error", "classes")
            )
            counted = f"{classes:,} class{'' if classes == 1 else 'es'}"
            head = f"{_on(rows, draft)}: NCP {loss:.2f}, median query error {error:.2f}, {counted}"
            if loss <= BAD and error <= BAD and classes > 1:
                return (head,)
        tried = [
            (change, _carried_out(_quickly(changed), rows, folder))
            for change, changed in islice(
                changes(draft, tree, first.figures.get("losses", {})),
                MOST_CHANGES,
            )
        ]
    except TcloseError as error:
        return (f"The trial on {rows.num_rows:,} rows failed: {error}",)
    return (head, *_helpful(first, tried), *_decision(first, tried))


def largest_useful(
    suggestions: Iterable[Suggestion],
    gathered: TableFacts,
    folder: str,
) -> Suggestion:
    """The first of these suggestions whose release is useful on few rows with the least effort;
    else the last one.

    suggestions: the largest first. folder: see `try_suggestion`.
    """
    tried: list[Suggestion] = []
    for suggestion in suggestions:
        if tried and suggestion.roles == tried[-1].roles:
            continue
        tried.append(suggestion)
        rows = rows_to_try(suggestion, gathered, SEARCHED_ROWS)
        try:
            outcome = _carried_out(_quickly(suggestion.spec), rows, folder)
        except TcloseError:
            continue
        if (
            outcome.state == "released"
            and outcome.figures["ncp"] <= BAD
            and outcome.figures["classes"] > 1
        ):
            return suggestion
    return tried[-1]


def rows_to_try(draft: Draft, gathered: TableFacts, most: int) -> pa.Table:
    """About `most` rows of the sample, all columns as the run file names them; whole people if they
    are counted.
    """
    if gathered.sample.num_rows <= most:
        return gathered.sample
    person = draft.person
    owner = np.arange(gathered.sample.num_rows) if person is None else gathered.codes[person.column]
    number, of_row = np.unique(owner, return_inverse=True)
    share = most / len(of_row)
    taken = np.random.default_rng(SEED).permutation(len(number)) < share * len(number)
    return gathered.sample.filter(pa.array(taken[of_row]))


def _quickly(tree: Tree) -> Tree:
    """The run file with the least effort: half the time, and a somewhat higher loss, which
    understates gains.
    """
    method = tree["method"]
    return (
        {**tree, "method": {**method, "effort": "fast"}}
        if method["name"] == "closeness_tree"
        else tree
    )


def _carried_out(tree: Tree, rows: pa.Table, folder: str) -> Outcome:
    """The outcome of a run file on these rows, with the error of random counts."""
    own = copy.deepcopy(dict(tree)) | {"input": {"path": f"{FRAME}_trial", "format": "table"}}
    spec = spec_of({**own, "output": {"path": folder}})
    session = LocalSession()
    run = Run(spec, session, lambda line: None)
    run.internal.create(private=True)
    # No row is published, and the figures can be repeated.
    run.internal.write("secret", str(SEED), private=True)
    with viewed(session, rows, spec.input.path):
        table = draw_rows(run, run.internal, None)
    trees = {**run.hierarchies, **table.built}
    measures = UtilityMeasures(
        [QueryError.of(table, ResolvedAttributes.of(spec.attributes, table.profile, trees))],
    )
    combination = Combination(method=spec.method.name, k=spec.privacy.k, t=AS_ASKED, spec=spec)
    return run_trial(combination, table, trees, measures, plan_only=False)


def _on(rows: pa.Table, draft: Draft) -> str:
    """The rows of the trial, in words."""
    if rows.num_rows == draft.rows:
        return f"Expected, from a trial on all {draft.rows:,} rows"
    return (
        f"Expected, from a trial on a sample of {rows.num_rows:,} rows (a small sample overstates "
        "loss)"
    )


def _helpful(first: Outcome, tried: list[tuple[str, Outcome]]) -> Iterator[str]:
    """A sentence for each change that helps, those that help most first."""
    figure, name = (
        ("ncp", "NCP") if first.loss is None or first.loss > BAD else ("query_error", "query error")
    )
    worst = 1.0 if first.loss is None else first.figures[figure]
    before = "" if first.loss is None else f" instead of {worst:.2f}"
    released = [(change, one.figures[figure]) for change, one in tried if one.state == "released"]
    helpful = sorted([one for one in released if worst - one[1] > HELPS], key=lambda one: one[1])
    for change, reached in helpful:
        yield f"{change}: {name} {reached:.2f}{before}"
    if tried and not helpful:
        yield f"Changes that were tried, and do not help much: {len(tried)}"


def _decision(first: Outcome, tried: list[tuple[str, Outcome]]) -> Iterator[str]:
    """What a person has to decide if a release by the run file as it is would be nearly useless."""
    useful = [
        one.state == "released" and one.figures["classes"] > 1 and one.figures["ncp"] <= BAD
        for one in (first, *(one for _, one in tried))
    ]
    if not useful[0]:
        decide = (
            "which quasi-identifiers an adversary can know, which t is needed, and whether there "
            "are enough rows"
        )
        decide = (
            "which of these changes to make"
            if any(useful)
            else f"{decide}: no change that was tried is enough"
        )
        yield f"Not ready: a release by this file as it is would be nearly useless. Decide {decide}"
