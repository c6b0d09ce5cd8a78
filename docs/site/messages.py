"""Every error message of the package, from the code that raises it: its text with <names> for what
is filled in.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

from tclose_spark import errors
from tclose_spark.runfile import combinations

HEADINGS: Mapping[int, str] = {
    1: "Exit code 1: a requirement does not hold",
    2: "Exit code 2: the run file, the input or the installation is wrong",
    3: "Exit code 3: the requirements cannot be met",
}
CODES: Mapping[str, int] = {
    name: kind.exit_code
    for name, kind in vars(errors).items()
    if isinstance(kind, type)
    and issubclass(kind, errors.TcloseError)
    and kind.exit_code in HEADINGS
} | {"ValueError": 2}


def messages(package: Path) -> dict[int, list[str]]:
    """The texts by exit code, each once, in order. A ValueError counts where the run file is
    validated.
    """
    found: dict[int, set[str]] = {code: set() for code in HEADINGS}
    for file in package.rglob("*.py"):
        for name, text in _raised(ast.parse(file.read_text())):
            if name in CODES and (name != "ValueError" or file.parent.name == "runfile"):
                found[CODES[name]].add(text)
    found[2] |= {*_of_combinations()}
    return {code: sorted(texts, key=str.casefold) for code, texts in found.items()}


def _of_combinations() -> Iterator[str]:
    """The texts of the rules on keys that do not go together."""
    tables = [rules for name, rules in vars(combinations).items() if name.startswith("OF_")]
    for rule in chain(*tables):
        keys = ", ".join(rule.keys)
        match rule:
            case combinations.Exclusion():
                yield f"{keys}: {rule.text(combinations.either(rule.others))}"
            case combinations.OneOf():
                yield rule.text()
            case combinations.Need():
                yield f"{keys}: {rule.text()}"
            case combinations.Listed():
                yield f"{keys}: {rule.text('<column>')}"


def _raised(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Every error that is made with a text, by its class's name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            text = _text(node.args[0])
            if text.strip("<> "):
                yield node.func.id, text


def _text(node: ast.expr) -> str:
    """A text as it is written, with the names of what is filled in; "" of what is no text."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            _filled(part) if isinstance(part, ast.FormattedValue) else _text(part)
            for part in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    return ""


def _filled(part: ast.FormattedValue) -> str:
    names = [each.attr if isinstance(each, ast.Attribute) else each.id for each in ast.walk(part.value)
             if isinstance(each, ast.Attribute | ast.Name)]  # fmt: skip
    return f"<{names[0].strip('_').replace('_', ' ') if names else '..'}>"


def page(package: Path) -> str:
    """The page of all messages."""
    lines = [
        "# Error messages",
        "",
        "Every message names the column or the key, what was found and what was expected; "
        "`<names>` stand for what",
        "is filled in. Values of people are never in a message: those to correct are in",
        "`internal/problems.json`, which the message names.",
    ]
    for code, texts in messages(package).items():
        lines += ["", f"## {HEADINGS[code]}", "", *(f"- {_escaped(text)}" for text in texts)]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    """A text that Markdown leaves as it is."""
    return f"`` {' '.join(text.split())} ``"
