"""A suggested run file carried out in memory on rows of the sample, and what one change of it would
bring.

The figures are measured on raw rows, as those of `tclose compare`. No sentence holds a value of a
person.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
import pyarrow as pa

from tclose_spark.comparing.outcome import Outcome
from tclose_spark.comparing.read_rows import read_rows
from tclose_spark.comparing.request import AS_ASKED, Combination
from tclose_spark.comparing.trial import run_trial
from tclose_spark.engine.sources import viewed
from tclose_spark.errors import TcloseError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.runfile.loading import spec_of
from tclose_spark.runfile.spec import FRAME
from tclose_spark.suggesting.facts import TableFacts
from tclose_spark.suggesting.suggestion import Suggestion
from tclose_spark.suggesting.trial.changes import Tree, changes
from tclose_spark.suggesting.writing import Draft
from tclose_spark.usefulness.queries import QueryError
from tclose_spark.usefulness.utility_measures import UtilityMeasures

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
                changes(draft, tree, first.figures.get("losses", {})), MOST_CHANGES
            )
        ]
    except TcloseError as error:
        return (f"The trial on {rows.num_rows:,} rows failed: {error}",)
    return (head, *_helpful(first, tried), *_decision(first, tried))


def largest_useful(
    suggestions: Iterable[Suggestion], gathered: TableFacts, folder: str
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
        table = read_rows(run, run.internal, None)
    trees = {**run.hierarchies, **table.built}
    measures = UtilityMeasures(
        [QueryError.of(table, ResolvedAttributes.of(spec.attributes, table.profile, trees))]
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
