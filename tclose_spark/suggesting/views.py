"""A suggestion on the terminal: a line for each column, then the roles."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from tclose_spark.suggesting.facts import WholeCounts
from tclose_spark.suggesting.judging import SuggestedColumn
from tclose_spark.suggesting.settings import said_of_codes, said_of_far_numbers, type_in_words
from tclose_spark.suggesting.suggestion import Suggestion
from tclose_spark.table.column_names.names import is_name

NAME = 24
KIND = 7
HEADING = (
    f"{'column':<{NAME}} {'type':<{KIND}} {'values':>8} {'missing':>7} {'alone':>6}  looks like"
)
ROLES = {
    "direct": "direct",
    "quasi": "quasi",
    "sensitive": "sensitive",
    "insensitive": "insensitive",
}
ROLES |= {"weight": "weight", "open": "?"}


def column_line(judged: SuggestedColumn) -> str:
    """A column in 80 characters: its values, missing values, unique rows, and role."""
    facts = judged.facts
    missing = facts.whole.missing / facts.whole.rows
    share = (
        "-"
        if not missing or (facts.unusable and missing == 1)
        else "<1%"
        if missing < 0.01
        else f"{missing:.0%}"
    )
    kind = type_in_words(facts).replace("stamp", "")
    return (
        f"{_short(facts.name):<{NAME}} {kind:<{KIND}} {_counted(facts.whole):>8} {share:>7} "
        f"{facts.alone:>6.1%}  {_looks(judged)}"
    )


def summary_lines(suggestion: Suggestion) -> Iterator[str]:
    """The roles of the run file, and what to check, in lines of at most 80 characters."""
    groups = [
        "direct identifier",
        "quasi-identifier",
        "sensitive attribute",
        "insensitive attribute",
        "left out",
    ]
    some = [
        (suggestion.person, "person"),
        (suggestion.household, "household"),
        (suggestion.weight, "survey weight"),
    ]
    single = {one.name for one in (*suggestion.choice.left_out, *suggestion.choice.weights)}
    for role in [*(role for one, role in some if one is not None), *groups]:
        every = [name for name, own in suggestion.roles.items() if own == role]
        names = [name for name in every if role != "left out" or name in single]
        head = f"{len(every):>3} {role}{'' if len(every) == 1 or role == 'left out' else 's'}"
        text = f"{head}: {', '.join(map(_short, names))}" if names else head
        yield from wrap(text, 80, subsequent_indent="      ", break_on_hyphens=False)
    named = {_short(column.name): column.facts for column in suggestion.columns}
    codes = [f"{name}: {said_of_codes(facts)}" for name, facts in named.items() if facts.codes.rows]
    far = [
        f"{name}: {said_of_far_numbers(facts)}"
        for name, facts in named.items()
        if facts.codes.unnamed
    ]
    for sentence in (*suggestion.choice.groups, *codes, *far):
        yield from wrap(
            sentence,
            80,
            initial_indent="    ",
            subsequent_indent="      ",
            break_on_hyphens=False,
        )
    for column in suggestion.columns:
        if column.facts.unusable:
            sentence = f"{_short(column.name)}: {column.facts.unusable}"
            yield from wrap(
                sentence,
                80,
                initial_indent="    ",
                subsequent_indent="      ",
                break_on_hyphens=False,
            )
    worst = [one for one in suggestion.alone if len(one.columns) > 1][-1:]
    if any(one.facts.whole.estimated for one in suggestion.columns):
        yield "    ~ marks numbers of values that are estimates"
    for one in worst:
        most = "" if suggestion.sampled >= suggestion.rows else "at most "
        yield (
            f"    {len(one.columns)} quasi-identifiers together single out {most}{one.share:.1%} "
            "of rows"
        )
    yield from wrap(
        suggestion.rare,
        80,
        initial_indent="    ",
        subsequent_indent="      ",
        break_on_hyphens=False,
    )
    for warning in suggestion.warnings:
        yield from wrap(warning, 80, initial_indent="note: ", subsequent_indent="      ")
    coverage = f"This file {suggestion.coverage.partition(';')[0]}"
    for sentence in (coverage, *suggestion.tried, *suggestion.decisions):
        yield from wrap(
            sentence,
            80,
            initial_indent="    ",
            subsequent_indent="      ",
            break_on_hyphens=False,
        )


def _looks(judged: SuggestedColumn) -> str:
    about = (
        judged.concept.name
        if judged.concept is not None and judged.role == judged.concept.role
        else ""
    )
    return f"{ROLES[judged.role]}{f': {about}' if about else ''}"


def _short(name: str) -> str:
    text = name if is_name(name) else "(no name)"
    return text if len(text) <= NAME else f"{text[: NAME - 2]}.."


def _counted(whole: WholeCounts) -> str:
    """The number of different values; `~` marks an estimate."""
    number = whole.distinct
    text = f"{number:,}" if number < 10**6 else f"{number / 10**6:,.1f}m"
    return f"~{text}" if whole.estimated else text
