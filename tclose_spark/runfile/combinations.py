"""Which keys of a run file do not go together, and which need another: one table, and the check of
a section by it.

Validators, messages and the table of docs/known-limits.md are made of it. A key is a path from its
section: `privacy.joint` is given if it is not the default, `privacy.of: input` has this value,
`sensitive_attributes.*.domain` is that of any column, and `a with b` is both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pydantic_core import PydanticCustomError

from tclose_spark.runfile.text import one_of

Keys = tuple[str, ...]
Broken = tuple[list[str], str]
"""Names of keys, and what is wrong with them."""
NOTHING: tuple[Any, ...] = (None, (), {})
REFUSED = "refused combination"
"""The kind of pydantic's problem."""


class Exclusion(NamedTuple):
    """None of `keys` goes with any of `others`. reason: goes on from `not with` and the other
    key.
    """

    keys: Keys
    others: Keys
    reason: str
    remedy: str = "leave out one of them"

    def text(self, other: str) -> str:
        """The message after the keys."""
        return f"not with {other}, {self.reason}; {self.remedy}"

    def broken(self, section: Any) -> Iterator[Broken]:
        """The keys that break it in a section."""
        keys = names(section, self.keys)
        others = names(section, self.others) if keys else []
        if others:
            yield keys, self.text(others[0])


class Need(NamedTuple):
    """Each of `keys` needs one of `others`. reason: why, if it is not that they are its use."""

    keys: Keys
    others: Keys
    reason: str = ""
    such_as: str = ""

    def text(self) -> str:
        """The message after the keys."""
        needed = either(self.others) + (f", such as {self.such_as}" if self.such_as else "")
        return f"{self.reason}; expected {needed}" if self.reason else f"it is for {needed}"

    def broken(self, section: Any) -> Iterator[Broken]:
        """The keys that break it in a section."""
        keys = names(section, self.keys)
        if keys and not names(section, self.others):
            yield keys, self.text()


class OneOf(NamedTuple):
    """Exactly one of `keys` is given. choices: in the words of the message."""

    keys: Keys
    choices: str

    def text(self) -> str:
        """The message after what was found."""
        return f"expected {self.choices}"

    def broken(self, section: Any) -> Iterator[Broken]:
        """Nothing, or no key in particular."""
        if sum(getattr(section, key) is not None for key in self.keys) != 1:
            yield [], self.text()


class Listed(NamedTuple):
    """The columns that `keys` name are among those of `others`. otherwise: what the message says of
    another one.
    """

    keys: Keys
    others: Keys
    otherwise: str

    def text(self, column: str) -> str:
        """The message after the key."""
        return f"names {column!r}, which {self.otherwise}"

    def broken(self, section: Any) -> Iterator[Broken]:
        """The keys that break it in a section."""
        known = {
            column for key in self.others for found in given(section, key) for column in found.value
        }
        for key in self.keys:
            for found in given(section, key):
                columns = [found.value] if isinstance(found.value, str) else found.value
                yield from (
                    ([found.name], self.text(column)) for column in columns if column not in known
                )


Rule = Exclusion | Need | OneOf | Listed


class Found(NamedTuple):
    """A key that is given: its name in this run file, and its value."""

    name: str
    value: Any


def require_fitting(section: Any, rules: Iterable[Rule]) -> None:
    """Raises pydantic's error of the first rule that a section breaks."""
    for rule in rules:
        for keys, text in rule.broken(section):
            for words, exact in section.in_words.items():
                text = text.replace(words, exact(section))
            raise PydanticCustomError(REFUSED, "{keys}: {text}", {"keys": keys, "text": text})


def names(section: Any, keys: Keys) -> list[str]:
    """The names of those keys that are given."""
    return [found.name for key in keys for found in given(section, key)]


def given(section: Any, key: str) -> Iterator[Found]:
    """The keys of a section that a key of the table stands for, where they are given."""
    first, *conditions = key.split(" with ")
    path, _, wanted = first.partition(": ")
    decided_by = getattr(section, "decided_by", {})
    if not all(any(given(section, condition)) for condition in conditions):
        return
    if first in decided_by:
        if any(given(section, decided_by[first])):
            yield Found(first, True)
        return
    for name, value, default in _values(section, path.split(".")):
        if wanted and str(value).lower() == wanted:
            yield Found(f"{name}: {wanted}", value)
        elif not wanted and value != default and value not in NOTHING:
            yield Found(name, value)


def _values(section: Any, path: list[str]) -> Iterator[tuple[str, Any, Any]]:
    """(name, value, default) of each key below a section that a path leads to."""
    step, *below = path
    for name, value, default in _columns(section) if step == "*" else [_value(section, step)]:
        if not below:
            yield name, value, default
        elif value is not None and not isinstance(value, str):
            for name_below, value_below, default_below in _values(value, below):
                yield f"{name}.{name_below}", value_below, default_below


def _columns(section: Any) -> list[tuple[str, Any, Any]]:
    return [(name, value, None) for name, value in section.items()]


def _value(section: Any, key: str) -> tuple[str, Any, Any]:
    field = getattr(type(section), "model_fields", {}).get(key)
    default = (
        False if field is None else field.get_default(call_default_factory=True, validated_data={})
    )
    value = getattr(section, key)
    return value[0].key if key == "brought" and value else key, value, default


def either(keys: Keys) -> str:
    """Keys as choices; the values of one key after its name.

    >>> either(("type: date", "type: timestamp")), either(("fraction", "weight"))
    ('type: date or timestamp', 'fraction or weight')
    """
    names = {key.partition(": ")[0] for key in keys}
    first, *more = keys
    if len(names) == 1:
        more = [key.partition(": ")[2] for key in more]
    return one_of([first, *more])


NO_INTERVALS = ("round_to", "numeric_output: bounds", "range")
OF_QUASI_IDENTIFIER: tuple[Rule, ...] = (
    Need(
        NO_INTERVALS,
        ("type: numeric", "type: date", "type: timestamp"),
    ),
    Exclusion(NO_INTERVALS, ("hierarchy",), "whose nodes are published instead of intervals"),
    Need(("generalization: set",), ("type: categorical",)),
    Exclusion(
        ("generalization: set",),
        ("hierarchy",),
        "whose nodes are published instead of sets",
    ),
    Need(("date_format",), ("type: date", "type: timestamp")),
    Exclusion(
        ("text",),
        ("type: date", "type: timestamp", "type: numeric with reads_numbers"),
        "since it is for columns of text",
        "expected type: categorical",
    ),
    Need(("hierarchy.intervals",), ("type: numeric",), "intervals are of numbers"),
    Need(("hierarchy.prefix",), ("type: categorical",)),
    Need(
        ("hierarchy.dates",),
        ("type: date", "type: timestamp", "type: categorical"),
    ),
)

FORMS = ("intervals", "prefix", "dates", "order", "groups", "levels", "ranges")
OF_HIERARCHY: tuple[Rule, ...] = (
    OneOf(FORMS, f"the path of a CSV, or one of {', '.join(f'{form}: ..' for form in FORMS)}"),
    Need(("other",), ("groups", "levels", "ranges")),
)

ORDERED = "an ordered distance"
NESTED = "a hierarchical distance"
OF_SENSITIVE_ATTRIBUTE: tuple[Rule, ...] = (
    Need(("hierarchy",), (NESTED,), such_as="distance: hierarchical"),
    Need((f"distance with {NESTED}",), ("hierarchy",), "it needs a hierarchy"),
    Need(("order",), (ORDERED,), such_as="distance: ordered"),
    Need(("bins",), (ORDERED,), such_as="distance: ordered"),
    Need(("domain",), ("distance: ordered",)),
    Exclusion(("bins", "domain"), ("order",), "since they are for distance: ordered by value"),
    Exclusion(("domain",), ("bins",), "since both form groups of values"),
    Exclusion(
        ("beta",),
        ("domain",),
        "since beta is of values, and domain makes classes by places",
    ),
)
OF_BINS: tuple[Rule, ...] = (
    OneOf(
        ("equal_width", "equal_mass", "edges"),
        "one of equal_width: N, equal_mass: N, edges: [a, b, ..]",
    ),
)
OF_PLACES: tuple[Rule, ...] = (OneOf(("equal_width", "step"), "one of equal_width: N, step: S"),)

OF_ATTRIBUTES: tuple[Rule, ...] = (
    Listed(
        ("allow_unique",),
        ("insensitive", "sensitive_attributes"),
        "is not in insensitive_attributes or sensitive_attributes",
    ),
    Listed(("missing_values",), ("insensitive_attributes",), "is not in insensitive_attributes"),
    Exclusion(("rows_are_persons: true",), ("person",), "since it is for a table without person"),
)
OF_WEIGHT: tuple[Rule, ...] = (
    Need(("round_to",), ("publish: true",), "it is for a published weight"),
)

ESTIMATED = ("population.fraction", "population.weight")
RISK_FIGURES = ("maximum", "mean", "share")
OF_PRIVACY: tuple[Rule, ...] = (
    Need(
        tuple(
            f"risk.{kind}.{figure}"
            for kind in ("journalist", "marketer", "individual")
            for figure in RISK_FIGURES
        ),
        ("population",),
        "this risk depends on the population",
        "{fraction: 0.05}",
    ),
    Need(
        tuple(f"risk.individual.{figure}" for figure in RISK_FIGURES),
        ESTIMATED,
        "it is of people whose number is estimated, and a table counts them",
        "{fraction: 0.05}, or marketer",
    ),
)
OF_POPULATION: tuple[Rule, ...] = (
    OneOf(("fraction", "weight", "table"), "one of fraction, weight and table"),
    Need(("format",), ("table",), "format is that of a table"),
)
OF_PROFILE: tuple[Rule, ...] = (
    Need(
        ("populations",),
        ("name: hipaa_safe_harbor", "name: public_use"),
        "other profiles have no rule on areas",
    ),
    Need(("invasion_of_privacy", "release_model"), ("name: ipc_ontario",)),
)

QUASI = "attributes.quasi_identifiers.*"
SENSITIVE = "attributes.sensitive_attributes.*"
LINE = ("output.after", "output.leavers: keep")
FORM = ("release.form", "release.together")
AUTO_K = "privacy.k: auto"
AGGREGATES = "method.representative"
A_T = "a t of a sensitive attribute"
COUNTING = "method: {name: closeness_tree, t_mondrian or t_incognito}"
GATHERING = "method: {name: closeness_tree, overlap: allowed}"
LABELS = tuple(
    f"{QUASI}.{key}"
    for key in ("numeric_output", "generalization", "round_to", "coarsest", "missing: any")
)
"""Settings of quasi-identifiers that concern labels."""
ANOTHER_METHOD = "another method"
UNPROVEN = "since their guarantee together is not proven"
OF_RUN: tuple[Rule, ...] = (
    Need(
        ("attributes.person", "attributes.household.k"),
        (COUNTING,),
        f"{ANOTHER_METHOD} counts rows, not people",
    ),
    Exclusion(("privacy.nt", AUTO_K), ("attributes.person",), "since it counts rows, not people"),
    Exclusion(
        (f"{SENSITIVE}.t: 0",),
        ("attributes.person",),
        "since it is over rows, and a t is over people, too",
    ),
    Exclusion(
        ("attributes.weight",),
        ("attributes.person",),
        "since weights are of rows, and k counts people",
    ),
    Exclusion(
        ("privacy.population.weight",),
        ("attributes.person",),
        "since weights are of rows, and k counts people",
        "expected fraction or table",
    ),
    Exclusion(
        ("privacy.risk.household",),
        ("attributes.person",),
        "since it counts the rows of a household, not its people",
    ),
    Need(("privacy.risk.household",), ("attributes.household",), "it is the risk of its members"),
    Exclusion((*LINE, *FORM), ("attributes.household",), UNPROVEN),
    Exclusion(
        (
            "privacy.nt",
            AUTO_K,
            f"{SENSITIVE}.t: 0",
            "privacy.suppression_limit with privacy.of: input",
        ),
        ("attributes.household.k",),
        UNPROVEN,
    ),
    Exclusion(
        ("attributes.pseudonyms",),
        ("output.leavers: keep",),
        "since kept rows have no pseudonyms",
    ),
    Need(
        LINE,
        ("attributes.person",),
        "people are recognized by attributes.person",
        "its column with rows: together",
    ),
    Need(LINE, ("attributes.person.rows: together",), "people who stay are one atom"),
    Need(LINE, (GATHERING,), "people who stay keep their classes, whose regions may overlap"),
    Need(
        LINE,
        ("privacy.of: released",),
        "with privacy.of: input, the distribution of suppressed people is public, and they are no "
        "atoms",
    ),
    Exclusion(
        (f"{QUASI}.coarsest",),
        LINE,
        "since classes of people who stay may need coarser labels",
    ),
    Exclusion(
        ("attributes.person.unknown: alone",),
        ("output.after",),
        "since it makes people of rows, which no later release can recognize",
        "expected drop",
    ),
    Exclusion(
        ("privacy.joint", f"{SENSITIVE}.brought"),
        ("output.after",),
        "since atoms of a line are not judged by it",
    ),
    Exclusion(("privacy.joint",), ("privacy.nt",), "since its distance is from the whole table"),
    Exclusion(
        ("privacy.joint",),
        ("privacy.suppression_limit with privacy.of: input",),
        "since with privacy.of: input, the tuples of suppressed rows would be public",
        "expected privacy.of: released, or no suppression_limit",
    ),
    Exclusion(
        (f"{SENSITIVE}.domain",),
        ("privacy.suppression_limit with privacy.of: released", "output.after"),
        "since suppressed rows may have its ends, the smallest and the largest value",
        "leave it out, or suppress no row; expected privacy.of: input",
    ),
    Exclusion(
        ("privacy.population.table",),
        (AGGREGATES,),
        "since people are counted by labels that cover their values",
        "expected fraction or weight",
    ),
    Listed(
        ("privacy.population.weight",),
        ("attributes.insensitive",),
        "is not published; expected a column of attributes.insensitive_attributes, or "
        "attributes.weight with publish: true, so that others can recompute the figures",
    ),
    Listed(
        ("privacy.profile.populations", "privacy.profile.ages", "privacy.profile.not_identifiers"),
        ("attributes.published",),
        "is not published; expected a published column",
    ),
    Need(("privacy.nt",), (A_T,), "it is of a t, and no sensitive attribute has one"),
    Exclusion(
        (f"{QUASI}.missing: any",),
        ("privacy.suppression_limit with cuts_regions",),
        "with a method that cuts regions, since regions of missing values may show those of "
        "suppressed rows",
        "leave out one, or use another method",
    ),
    Exclusion(
        (*LABELS, "privacy.nt"),
        (AGGREGATES,),
        "since these keys concern labels, and a release of aggregates has none",
    ),
    Exclusion(
        (
            "output.after",
            "output.keep_linked",
            "attributes.person",
            "attributes.weight",
            "privacy.suppression_limit",
            "privacy.nt",
            "privacy.population",
            "privacy.risk",
            "privacy.profile",
            AUTO_K,
            AGGREGATES,
        ),
        FORM,
        UNPROVEN,
    ),
    Exclusion(
        ("output.export", "output.table"),
        ("release.form: anatomy", "release.together with release.form: generalization"),
        "since the release has several tables",
    ),
    Exclusion(
        LABELS,
        ("release.form",),
        "since quasi-identifiers are published as they are, without labels",
    ),
)
"""Of the whole run file."""

OF_AUDIT: tuple[Rule, ...] = (
    Exclusion(("n",), ("joint",), "since joint closeness is of the distance from the whole table"),
    Exclusion(("n",), ("person",), "since (n, t)-closeness is judged over rows only"),
    Exclusion(("population.weight",), ("person",), "since weights are of rows, not of people"),
    Exclusion(("n",), (AGGREGATES,), "since aggregates define no natural superset"),
    Need(("n",), (A_T,), "(n, t)-closeness needs a t, and no sensitive attribute has one"),
)
"""Of the question of an audit."""
