"""Builds a column's hierarchy from the run file and the column's values."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from tclose_spark.errors import ConfigurationError, InputError, Offending
from tclose_spark.runfile.attributes import Attributes, QuasiIdentifier, SensitiveAttribute
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.table.domains import Counts, by_value, number_in_text
from tclose_spark.table.hierarchies import builders
from tclose_spark.table.hierarchies.hierarchy import ROOT, Hierarchy

HIERARCHIES = "hierarchies"
RELEASED_HIERARCHIES = "released_hierarchies"
"""The folders of those that were built: of all values, and where rows are suppressed of what is
released.
"""
LONGEST_FILE_NAME = 200  # bytes, without the ending; file systems allow 255
HOMELESS = {
    "intervals": "not numeric; correct them, or use another form",
    "dates": "neither a date (such as 2024-02-29) nor a time; correct them, or use another form",
    "groups": "in no group; name them, or give other: LABEL",
    "levels": "in no group; name them, or give other: LABEL",
    "ranges": "in no range; add theirs, or give other: LABEL",
}
"""What values are that a form has no place for, and what to do."""


def built_columns(attributes: Attributes) -> dict[str, tuple[HierarchyBuilder, str]]:
    """The columns with a built hierarchy: its builder, and its key in the run file."""
    columns = {}
    for role in ("quasi_identifiers", "sensitive_attributes"):
        for name, settings in getattr(attributes, role).items():
            if isinstance(settings.hierarchy, HierarchyBuilder):
                columns[name] = (settings.hierarchy, f"attributes.{role}.{name}.hierarchy")
    return columns


def build_hierarchies(attributes: Attributes, counts: Mapping[str, Counts]) -> dict[str, Hierarchy]:
    """The built hierarchies of these columns, by column. counts: the rows of each value, by column.

    Raises:
        InputError: if a value does not fit the form.
    """
    trees = {}
    for name, (builder, key) in built_columns(attributes).items():
        if name not in counts:
            continue
        settings = settings_of(attributes, name)
        numeric = isinstance(settings, QuasiIdentifier) and settings.reads_numbers
        trees[name] = with_missing(
            build_hierarchy(builder, counts[name], name, key, numeric),
            settings,
            key,
        )
    return trees


def file_of(name: str, folder: str = HIERARCHIES) -> str:
    """The internal file of a column's built hierarchy. Its name escapes what the name of a file
    cannot have, and what looks like such an escape, so that no two columns have the same file.

    >>> file_of("ZIP/PLZ"), file_of("ZIP%2FPLZ")
    ('hierarchies/ZIP%2FPLZ.csv', 'hierarchies/ZIP%252FPLZ.csv')
    """
    plain = re.sub(r"^\.|/|%(?=2[5EF])", lambda found: f"%{ord(found[0]):02X}", name)
    if len(plain.encode()) > LONGEST_FILE_NAME:
        plain = hashlib.sha256(name.encode()).hexdigest()
    return f"{folder}/{plain}.csv"


def settings_of(attributes: Attributes, name: str) -> QuasiIdentifier | SensitiveAttribute:
    """The settings of a column with a hierarchy."""
    return attributes.quasi_identifiers.get(name) or attributes.sensitive_attributes[name]


def with_missing(
    tree: Hierarchy,
    settings: QuasiIdentifier | SensitiveAttribute,
    key: str,
) -> Hierarchy:
    """The hierarchy, with a leaf for missing values of a sensitive attribute that has `missing:
    leaf`; with numbers as leaves of a quasi-identifier that has `type: numeric`.
    """
    if isinstance(settings, QuasiIdentifier) and settings.type == "numeric":
        return tree.of_numbers(key)
    leaf = isinstance(settings, SensitiveAttribute) and settings.missing == "leaf"
    return tree.with_missing(key) if leaf else tree


def build_hierarchy(
    builder: HierarchyBuilder,
    counts: Counts,
    name: str,
    key: str,
    numeric: bool = False,
) -> Hierarchy:
    """The hierarchy of a column with these values. Missing values are not leaves.

    Its leaves are the values. For groups and levels, the values that only the run file names are
    leaves too.

    counts: the rows of each value.
    name, key: the column and its key, for errors.
    numeric: whether equal numbers are one value.

    >>> build_hierarchy(HierarchyBuilder(prefix=1), {"81667": 3, "81671": 1}, "zip", "zip.hierarchy").paths[1]
    ('81671', '8167*', '816**', '81***', '8****', '*')

    Raises:
        InputError: if a value does not fit the form, equals a label, or cannot be written to a
            file.
    """
    present = by_value([value for value in counts if value is not None])
    if not present:
        raise InputError(
            f"{key}: column {name!r} has no value to build a hierarchy of; leave the hierarchy out",
        )
    if builder.form in ("groups", "levels"):
        builder = _as_written(builder, present, key) if numeric else builder
        values = list(
            dict.fromkeys([*(v for group in builder.grouped[0].values() for v in group), *present]),
        )
    else:
        values = builders.by_range(present, builder) if builder.ranges is not None else present
        values = builders.by_place(values) if builder.order is not None else values
    above = _labels(builder, values)
    lost = [value for value, labels in zip(values, above, strict=True) if labels is None]
    if lost:
        _refuse(name, f"{key}.{builder.form}", HOMELESS[builder.form], lost, counts)
    paths = [
        (value, *labels, ROOT)
        for value, labels in zip(values, above, strict=True)
        if labels is not None
    ]
    leaves = set(values)
    alike = sorted(
        {label for path in paths for label in path[1:-1] if label in leaves and label != path[0]},
    )
    if alike or ROOT in leaves:
        _refuse(
            name,
            key,
            "written like a label of the hierarchy; rename them",
            alike or [ROOT],
            counts,
        )
    tree = _tree(paths, key)
    hierarchy_csv(tree, key)
    return tree


def labels_above(builder: HierarchyBuilder, value: str, labels: Collection[str]) -> tuple[str, ...]:
    """The labels, lowest first, that a value would have in a hierarchy that was built without it.
    None of `order`, whose groups consist of the values that they were made of.

    labels: of the hierarchy.

    >>> labels_above(HierarchyBuilder(prefix=[3]), "8169", ["8167", "8168", "816*", "*"])
    ('816*',)
    """
    if builder.order is not None:
        return ()
    # Labels depend on the longest value, and on whether all are whole numbers.
    alike = [max(labels, key=len)] if builder.prefix is not None else []
    alike += ["0.5"] if any(label.endswith(")") for label in labels) else []
    return _labels(builder, [*alike, value])[-1] or ()


def _labels(builder: HierarchyBuilder, values: Sequence[str]) -> builders.Above:
    """The labels above each value."""
    if builder.intervals is not None:
        return builders.intervals(values, builder.intervals)
    if builder.prefix is not None:
        return builders.prefixes(values, builder.prefix)
    if builder.dates is not None:
        return builders.dates(values, builder.dates)
    if builder.order is not None:
        return builders.group_neighbours(values, builder.order)
    if builder.ranges is not None:
        return builders.in_ranges(values, builder)
    return builders.grouped(values, builder)


def _as_written(builder: HierarchyBuilder, present: Sequence[str], key: str) -> HierarchyBuilder:
    """The builder, with numbers written as the column has them.

    Raises:
        ConfigurationError: if two of its groups have one number.
    """
    numbers = Counter(
        number_in_text(member) for members in builder.grouped[0].values() for member in members
    )
    twice = sum(times > 1 for each, times in numbers.items() if each is not None)
    if twice:
        raise ConfigurationError(
            f"{key}: {twice} numbers are in several groups, or twice in one; expected one label "
            "for each",
        )
    written = {number_in_text(value): value for value in present}
    lowest = {
        label: tuple(written.get(number_in_text(member), member) for member in members)
        for label, members in builder.grouped[0].items()
    }
    changed = (
        {"groups": lowest} if builder.levels is None else {"levels": (lowest, *builder.levels[1:])}
    )
    return builder.model_copy(update=changed)


def _tree(paths: Sequence[tuple[str, ...]], key: str) -> Hierarchy:
    try:
        return Hierarchy.build(paths, key)
    except ConfigurationError:  # whose message may hold a value
        raise InputError(
            f"{key}: values and labels do not make a tree; rename what reads alike",
        ) from None


def _refuse(name: str, key: str, what: str, values: Sequence[str], counts: Counts) -> None:
    rows = sum(counts.get(value, 0) for value in values)
    count = f"{len(values)} value{'s' if len(values) > 1 else ''} in {rows} rows"
    raise InputError(
        f"{key}: {count} {'are' if len(values) > 1 else 'is'} {what}",
        values=Offending(name, what, {value: counts.get(value, 0) for value in values}),
    )


def hierarchy_csv(tree: Hierarchy, key: str) -> str:
    """The hierarchy as an ARX-style CSV: no header, a row per leaf, leaf first, `*` last.

    Raises:
        InputError: if the CSV would be read as another hierarchy.
    """
    for separator in (";", ","):
        text = io.StringIO()
        csv.writer(text, delimiter=separator, lineterminator="\n").writerows(tree.paths)
        try:
            if Hierarchy.parse(text.getvalue(), key) == tree:
                return text.getvalue()
        except ConfigurationError:
            continue
    raise InputError(
        f"{key}: values with blanks at their ends, line breaks, or many separators have no place "
        "in a CSV; give the column text: {strip: true}, or correct them",
    )
