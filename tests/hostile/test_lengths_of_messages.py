"""Errors are short: at most 30 words, each placeholder counted as one."""

import ast
from collections.abc import Iterator
from pathlib import Path

import tclose_spark

PACKAGE = Path(tclose_spark.__file__).parent
MOST_WORDS = 30


def text_of(node: ast.AST) -> str:
    """The text of an expression, with {x} for what is put in."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(text_of(part) for part in parts)
        case ast.BinOp(left=left, right=right):
            return text_of(left) + text_of(right)
        case _:
            return "{x}"


def messages() -> Iterator[tuple[str, str]]:
    """Where each error of the package is raised, and its message."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", text_of(node.exc.args[0])


def test_no_message_has_more_words():
    found = dict(messages())
    assert len(found) > 500
    assert {place: text for place, text in found.items() if len(text.split()) > MOST_WORDS} == {}
