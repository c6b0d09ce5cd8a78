"""The search for the splits that lose least: splits are tried to the end, with a budget of work.

A part has a budget, in rows to be examined. Its best splits share it by successive halving
(Jamieson and Talwalkar 2016): each is tried with an equal share, the better half again with twice
as much, until one is left. Trying a split is the same search for each of its children. A part with
a small budget takes the split with the best score.

A box is reached by many orders of cuts. What was found for it is kept, and is used again unless
there is now more to spend on it. So a large budget finds the best of all trees of cuts, where these
have few boxes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.structures import structure
from tclose_spark.methods.regions.children import divide
from tclose_spark.methods.regions.choice import examine, find_splits, lost_rows
from tclose_spark.methods.regions.workspace import CutInputs, CutWorkspace
from tclose_spark.table.arrays import FloatArray, IntArray

PRICE = 2.0  # a part tries one split for each so many times that its budget suffices to examine its rows
MOST_KNOWN = 1 << 20  # places for parts whose best split is kept

START, END, KEY, FOUND, LIVE, ROUNDS, TURN, NEXT, CHOICE, EXACT = range(10)
BUDGET, WORK, SHARE, TOTAL, LEAST = range(5)


@structure
class KnownParts(NamedTuple):
    """What is known of parts: a hash table with open addressing, by the sums of the keys of their
    rows.
    """

    key: IntArray  # 0 if a place is free, shape (places,), a power of two
    least: FloatArray  # the least loss of its regions so far, in rows times quasi-identifiers
    spent: FloatArray  # the work of which it is the result; infinite if every split was tried to the end
    choice: IntArray  # which of its splits is the first, by score, -1 if it is undivided
    made: IntArray  # how many parts there are, shape (1,)


@structure
class OpenParts(NamedTuple):
    """The parts that are being searched, each a child of the one before."""

    # START, END: its slice of the rows; KEY; FOUND: its splits; LIVE: those that are still tried;
    #     ROUNDS of trials to
    # come; TURN: the number of the present trial; NEXT: where its next child begins, -1 before the
    # trial; CHOICE: the best split, -1 if none; EXACT: whether all trials of this round went to the
    # end. Shape (depth, 10).
    whole: IntArray
    # BUDGET; WORK done; SHARE of the budget for the present trial; TOTAL: its loss so far; LEAST,
    # shape (depth, 5)
    figures: FloatArray
    splits: IntArray  # quasi-identifier and place of the cut, the best score first, shape (depth, tries, 2)
    worth: FloatArray  # the loss of each in its last trial, shape (depth, tries)
    order: IntArray  # the splits in the order of their trials, shape (depth, tries)
    ends: IntArray  # where the child ends that begins with a row, shape (n,)


@structure
class SplitSearch(NamedTuple):
    """A search for splits of a block.

    inputs: of the block, which stay. work: space for one part. known: what was found of parts.
    parts: those that are being searched.
    """

    inputs: CutInputs
    work: CutWorkspace
    known: KnownParts
    parts: OpenParts


def make_known(n: int, k: int, budget: int) -> KnownParts:
    """An empty table for a block of n rows."""
    places = min(1 << (2 * budget * n // k).bit_length(), MOST_KNOWN)
    key, choice = np.zeros((2, places), np.int64)
    least, spent = np.zeros((2, places))
    return KnownParts(key, least, spent, choice, np.zeros(1, np.int64))


def make_open(n: int, k: int, tries: int) -> OpenParts:
    """Room for a block of n rows. A child has at least k rows less than the part."""
    depth = n // k + 2
    return OpenParts(
        whole=np.zeros((depth, 10), np.int64),
        figures=np.zeros((depth, 5)),
        splits=np.zeros((depth, tries, 2), np.int64),
        worth=np.zeros((depth, tries)),
        order=np.zeros((depth, tries), np.int64),
        ends=np.zeros(n, np.int64),
    )


@kernel
def key_of(rows: IntArray, inputs: CutInputs) -> int:
    """The key of a part."""
    key = 0
    for row in rows:
        key += inputs.keys[row]
    return key


@kernel
def place_of(key: int, known: KnownParts) -> int:
    """The place of a part in the table, or the free one where it belongs."""
    last = len(known.key) - 1
    place = (key ^ (key >> 32)) & last
    while known.key[place] != 0 and known.key[place] != key:
        place = (place + 1) & last
    return int(place)


@kernel
def open_part(
    at: int,
    start: int,
    end: int,
    budget: float,
    rows: IntArray,
    search: SplitSearch,
) -> None:
    """Put the part of the rows start..end-1 at a place among the open ones."""
    inputs = search.inputs
    work = search.work
    known = search.known
    parts = search.parts
    whole = parts.whole[at]
    figures = parts.figures[at]
    part = rows[start:end]
    size = end - start
    found = find_splits(part, inputs, work) if examine(part, inputs, work) else 0
    figures[BUDGET], figures[WORK], figures[LEAST] = budget, size, lost_rows(size, inputs, work)
    live = min(found, max(1, int((budget - size) / (PRICE * size))))
    if 4 * known.made[0] > 3 * len(known.key):
        live = min(found, 1)
    whole[START], whole[END], whole[KEY], whole[FOUND], whole[LIVE] = (
        start,
        end,
        key_of(part, inputs),
        found,
        live,
    )
    whole[ROUNDS] = 1
    whole[TURN] = 0
    whole[NEXT] = -1
    whole[CHOICE] = -1
    whole[EXACT] = 1
    while live > 1:
        live, whole[ROUNDS] = (live + 1) // 2, whole[ROUNDS] + 1
    for x in range(whole[LIVE]):
        parts.splits[at, x, 0] = work.splits[x, 0]
        parts.splits[at, x, 1] = work.splits[x, 1]
        parts.order[at, x] = x


@kernel
def begin_trial(at: int, rows: IntArray, search: SplitSearch) -> None:
    """Divide an open part by the split whose turn it is."""
    work = search.work
    parts = search.parts
    whole = parts.whole[at]
    figures = parts.figures[at]
    start = parts.whole[at, START]
    split = parts.splits[at, parts.order[at, whole[TURN]]]
    children = divide(split[0], split[1], rows[start : whole[END]], search.inputs, work)
    for x in range(children):
        parts.ends[start + work.ends[x]] = start + work.ends[x + 1]
    trials = whole[ROUNDS] * (whole[LIVE] - whole[TURN])
    whole[NEXT], figures[TOTAL], figures[SHARE] = (
        start,
        0.0,
        max(0.0, figures[BUDGET] - figures[WORK]) / trials,
    )


@kernel
def end_trial(at: int, parts: OpenParts) -> None:
    """Record the loss of the present trial. At the end of a round, the better half of the splits
    stays.
    """
    whole = parts.whole[at]
    figures = parts.figures[at]
    worth = parts.worth[at]
    order = parts.order[at]
    split = order[whole[TURN]]
    worth[split] = figures[TOTAL]
    if figures[TOTAL] < figures[LEAST] or (whole[CHOICE] < 0 and figures[TOTAL] == figures[LEAST]):
        figures[LEAST] = figures[TOTAL]
        whole[CHOICE] = split
    whole[TURN] = whole[TURN] + 1
    whole[NEXT] = -1
    all_known = whole[EXACT] == 1 and whole[LIVE] == whole[FOUND]
    if whole[TURN] < whole[LIVE] or whole[ROUNDS] == 1 or all_known:
        return
    for x in range(1, whole[LIVE]):
        split = order[x]
        place = x
        while place > 0 and worth[order[place - 1]] > worth[split]:
            order[place], place = order[place - 1], place - 1
        order[place] = split
    whole[LIVE], whole[ROUNDS], whole[TURN], whole[EXACT] = (
        (whole[LIVE] + 1) // 2,
        whole[ROUNDS] - 1,
        0,
        1,
    )


@kernel
def close_part(at: int, known: KnownParts, parts: OpenParts) -> None:
    """Keep what was found for an open part, and add it to the trial of the part before."""
    whole = parts.whole[at]
    figures = parts.figures[at]
    exact = whole[EXACT] == 1 and whole[LIVE] == whole[FOUND]
    place = place_of(whole[KEY], known)
    if known.key[place] == 0 and known.made[0] < len(known.key) - 1:
        known.key[place], known.least[place], known.made[0] = whole[KEY], np.inf, known.made[0] + 1
    if known.key[place] == whole[KEY]:
        if figures[LEAST] < known.least[place]:
            known.least[place] = figures[LEAST]
            known.choice[place] = whole[CHOICE]
        known.spent[place] = np.inf if exact else max(figures[BUDGET], figures[WORK])
        figures[LEAST] = known.least[place]
    if at > 0:
        parts.figures[at - 1, WORK] += figures[WORK]
        add_child(at - 1, figures[LEAST], exact, parts)


@kernel
def add_child(at: int, least: float, exact: bool, parts: OpenParts) -> None:
    """Add the loss of a child to the present trial of an open part."""
    parts.figures[at, TOTAL] += least
    if not exact:
        parts.whole[at, EXACT] = 0


@kernel
def search_trials(rows: IntArray, budget: float, search: SplitSearch) -> None:
    """Find good splits for a block and for the parts that they lead to. rows: all of the block, in
    any order.
    """
    inputs = search.inputs
    known = search.known
    parts = search.parts
    at = 0
    place = place_of(key_of(rows, inputs), known)
    if known.key[place] != 0 and known.spent[place] >= budget:
        return
    open_part(at, 0, len(rows), budget, rows, search)
    while at >= 0:
        whole = parts.whole[at]
        figures = parts.figures[at]
        if whole[TURN] == whole[LIVE]:
            close_part(at, known, parts)
            at -= 1
        elif whole[NEXT] < 0:
            begin_trial(at, rows, search)
        elif whole[NEXT] == whole[END]:
            end_trial(at, parts)
        else:
            start = whole[NEXT]
            end = parts.ends[whole[NEXT]]
            whole[NEXT] = end
            share = figures[SHARE] * (end - start) / (whole[END] - whole[START])
            key = key_of(rows[start:end], inputs)
            place = place_of(key, known)
            if known.key[place] == key and known.spent[place] >= share:
                add_child(at, known.least[place], known.spent[place] == np.inf, parts)
            else:
                at += 1
                open_part(at, start, end, share, rows, search)
