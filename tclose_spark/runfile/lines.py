"""The line of each key in a run file, for errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import yaml


@dataclass(frozen=True)
class Lines:
    """The lines of a run file's keys.

    file: its path as given. of: the line of each key from 1, by the key's steps joined with dots; None for keys
    that `--set` gives.
    """

    file: str = ""
    of: Mapping[str, int | None] = field(default_factory=dict)

    @staticmethod
    def read(text: str, file: str) -> Lines:
        r"""The lines of a run file that is valid YAML.

        >>> Lines.read("privacy:\n  k: 1\n", "my.yaml").of
        {'privacy': 1, 'privacy.k': 2}
        """
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        return Lines(file, {} if root is None else dict(_lines(root, ())))

    def without(self, assignments: Iterable[str]) -> Lines:
        """The lines without those of keys that `key.path=value` overrides set."""
        given = [assignment.partition("=")[0] for assignment in assignments]
        kept = {key: line for key, line in self.of.items() if not any(key.startswith(f"{path}.") for path in given)}
        return Lines(self.file, {**kept, **dict.fromkeys(given)})

    def line_of(self, message: str) -> int | None:
        """The line of the key that a message begins with, or of the section that lacks the key."""
        found = ""
        for key in self.of:
            if len(key) > len(found) and message.startswith(key) and not _goes_on(message[len(key) :]):
                found = key
        return self.of.get(found)

    def told(self, message: str) -> str:
        r"""A message of one or more errors, a line each, with file and line of their keys, in file order

        >>> lines = Lines.read("name: a\nprivacy:\n  k: 1\n", "my.yaml")
        >>> print(lines.told("privacy.k: found 1; expected 2 or more\nname: found 'a'"))
        my.yaml, line 1: name: found 'a'
        my.yaml, line 3: privacy.k: found 1; expected 2 or more
        """
        placed = [(self.line_of(line), line) for line in message.split("\n")]
        if all(line is not None for line, _ in placed):
            placed.sort(key=lambda one: one[0] or 0)
        return "\n".join(text if line is None else f"{self.file}, line {line}: {text}" for line, text in placed)


def _lines(node: yaml.Node, steps: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            below = (*steps, str(key.value))
            yield ".".join(below), key.start_mark.line + 1
            yield from _lines(value, below)
    elif isinstance(node, yaml.SequenceNode):
        for place, part in enumerate(node.value):
            yield ".".join((*steps, str(place))), part.start_mark.line + 1


def _goes_on(rest: str) -> bool:
    """Whether the key continues beyond what was matched: `privacy.k` does not match `privacy.kk: ..`."""
    return bool(rest) and (rest[0].isalnum() or rest[0] in "_-")
