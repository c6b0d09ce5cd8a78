"""The mutants of the package: copies of a module with one expression changed by one of mutmut's
operators.

mutmut itself is not run. It leaves out decorated functions (the properties and cached properties
here), and chooses the tests of a mutant by function, not by line.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from itertools import islice
from pathlib import Path

import libcst
from libcst.metadata import MetadataWrapper
from mutmut.mutation.file_mutation import Mutation, MutationVisitor
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import IgnoredCode

ROOT = Path(__file__).resolve().parents[2]
SCOPE = ("checks", "measures", "table/labels.py", "table/domains.py", "auditing", "options")
"""What is mutated, of the package."""

ONLY_TYPES = {"cast", "TypeVar"}
"""Calls whose arguments only a type checker reads."""


@dataclass(frozen=True)
class Mutant:
    """A changed module.

    path: of the module, from the root of the repository. line: where it differs. before, after: the
        lines that differ.
    source: a hash of the module before. code: the module after.
    """

    path: str
    line: int
    before: str
    after: str
    source: str
    code: str

    @property
    def key(self) -> str:
        """The mutant's name, as long as nobody edits its module."""
        return hashed(f"{self.path}\n{self.source}\n{self.code}")


class Changes(MutationVisitor):
    """mutmut's mutations, those of decorated functions too."""

    def _skip_node_and_children(self, node: libcst.CSTNode) -> bool:
        if isinstance(node, libcst.FunctionDef):
            return False
        if isinstance(node, libcst.Call) and getattr(node.func, "value", None) in ONLY_TYPES:
            return True
        return bool(super()._skip_node_and_children(node))


def hashed(text: str) -> str:
    """A short name of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def modules() -> list[Path]:
    """The modules of the scope."""
    found = [ROOT / "tclose_spark" / part for part in SCOPE]
    return sorted(
        one for path in found for one in (path.rglob("*.py") if path.is_dir() else [path])
    )


def sample(count: int, seed: int, folder: Path) -> list[Mutant]:
    """Mutants drawn at random, of each module in proportion to how many it has. A larger sample
    contains a smaller.

    Drawing takes a minute, so a file in `folder` keeps the sample until a module is changed.
    """
    package = hashed("".join(path.read_text() for path in modules()))
    kept = folder / f"sample-{count}-{seed}-{package}.json"
    if not kept.exists():
        kept.write_text(json.dumps([asdict(one) for one in _drawn(count, seed)]))
    return [Mutant(**one) for one in json.loads(kept.read_text())]


def _drawn(count: int, seed: int) -> list[Mutant]:
    drawn = []
    for path in modules():
        draw = random.Random(f"{seed} {path.relative_to(ROOT)}")
        module, changes = changes_of(path)
        draw.shuffle(changes)
        start = draw.random()
        drawn += [
            ((rank + start) / len(changes), path, module, change)
            for rank, change in enumerate(changes)
        ]
    drawn.sort(key=lambda one: one[0])
    return list(islice(valid(drawn), count))


def changes_of(path: Path) -> tuple[libcst.Module, list[Mutation]]:
    """A module and all its changes."""
    wrapper = MetadataWrapper(libcst.parse_module(path.read_text()))
    visitor = Changes(mutation_operators, IgnoredCode(set(), set(), set()))
    wrapper.visit(visitor)
    return wrapper.module, visitor.mutations


def valid(drawn: list[tuple[float, Path, libcst.Module, Mutation]]) -> Iterator[Mutant]:
    """The mutants that are Python, and differ from their module and from each other."""
    known = set()
    for _, path, module, change in drawn:
        source, code = (
            module.code,
            module.deep_replace(change.original_node, change.mutated_node).code,
        )  # type: ignore
        if code not in known and meaning_of(code) not in (None, meaning_of(source)):
            known.add(code)
            yield mutant_of(path, source, code)


@cache
def meaning_of(code: str) -> str | None:
    """A hash of the syntax tree, none if the code is not Python."""
    try:
        return hashed(ast.dump(ast.parse(code)))
    except SyntaxError:
        return None


def mutant_of(path: Path, source: str, code: str) -> Mutant:
    old, new = source.splitlines(), code.splitlines()
    edits = [
        one
        for one in difflib.SequenceMatcher(None, old, new, False).get_opcodes()
        if one[0] != "equal"
    ]
    first, last = edits[0], edits[-1]
    before, after = old[first[1] : last[2]], new[first[3] : last[4]]
    texts = ["\n".join(line.strip() for line in lines) for lines in (before, after)]
    return Mutant(str(path.relative_to(ROOT)), first[1] + 1, *texts, hashed(source), code)
