"""The types of arguments, which every verb requires by its annotations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, wraps
from inspect import Parameter, getdoc, signature
from numbers import Integral, Number
from os import PathLike
from textwrap import fill
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from tclose_spark.api.errors import in_python, translate_errors
from tclose_spark.auditing.options import options_of, sign
from tclose_spark.errors import ConfigurationError

Given = ParamSpec("Given")
Result = TypeVar("Result")

WORDS: Mapping[Any, str] = {
    str: "text",
    bytes: "bytes",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    NoneType: "None",
    PathLike: "a path",
    Callable: "a function",
    Mapping: "a dict",
}
"""What messages call a type."""


def verb(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function with errors as users meet them (`translate_errors`). It requires arguments of
    the annotated types. A call without a necessary argument, or with an unknown one, is a TypeError
    of Python.

    Raises:
        ConfigurationError: naming the argument, its type, and what is expected. It contains no
            value.
    """
    takes = signature(function)

    @wraps(function)
    def called(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        given = takes.bind(*args, **kwargs).arguments
        with translate_errors():
            kinds = _annotations(function)
            for name, value in given.items():
                require_type(name, value, kinds.get(name, Any))
            return function(*args, **kwargs)

    return called


def with_options(
    declared: type[Any],
    placed: Sequence[str],
    names: Mapping[str, object],
) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """Gives a function the options of a declaration: in its signature, with their defaults, and in
    its documentation, in place of `[options]`. placed: those that may be given without their name,
    in order. names: what the annotations of the declaration name.
    """
    options = options_of(declared)
    kinds = get_type_hints(declared, None, names)
    ordered = {name: options[name] for name in dict.fromkeys((*placed, *options))}

    def given_to(function: Callable[Given, Result]) -> Callable[Given, Result]:
        own = [
            p for p in signature(function).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD
        ]
        how = {True: Parameter.POSITIONAL_OR_KEYWORD, False: Parameter.KEYWORD_ONLY}
        more = [
            Parameter(name, how[name in placed], default=option.default, annotation=kinds[name])
            for name, option in ordered.items()
        ]

        @wraps(function)
        def called(*args: Given.args, **kwargs: Given.kwargs) -> Result:
            bound = takes.bind(*args, **kwargs)
            bound.apply_defaults()
            named: Any = function
            found: Result = named(**bound.arguments)
            return found

        said = {
            name: in_python(option.in_python or option.help) for name, option in ordered.items()
        }
        lines = [
            fill(f"{name}: {text}", 116, subsequent_indent="    ") for name, text in said.items()
        ]
        called.__doc__ = (getdoc(function) or "").replace("[options]", "\n".join(lines))
        called.__annotations__ = {
            **function.__annotations__,
            **{one.name: one.annotation for one in more},
        }
        takes = sign(called, [*own, *more])
        return called

    return given_to


def require_type(name: str, value: Any, kind: Any) -> None:
    """Raises ConfigurationError if the argument of this name is not of the annotated type."""
    if not fits(value, kind):
        inside = " that holds other types" if fits(value, _outside(kind)) else ""
        raise ConfigurationError(
            f"{name} is of type {type(value).__name__}{inside}; expected {described(kind)}",
        )


def fits(value: Any, kind: Any) -> bool:
    """Whether a value is of an annotated type. Values of a Literal, and results of functions, are
    not examined.

    >>> fits([5, 10], int | Sequence[int]), fits("5", int | Sequence[int]), fits(True, int), fits("a", Sequence[str])
    (True, False, False, False)
    """
    plain = get_origin(kind) or kind
    parts = get_args(kind)
    if plain is Any:
        return True
    if plain in (Union, UnionType):
        return any(fits(value, part) for part in parts)
    if plain is Literal:
        return any(type(value) is type(part) for part in parts)
    if not _is_a(value, plain):
        return False
    if isinstance(value, Mapping) and len(parts) == 2 and plain is Mapping:
        return all(fits(key, parts[0]) and fits(one, parts[1]) for key, one in value.items())
    held: Any = value if plain in (Sequence, Collection) else ()
    return all(fits(one, part) for part in parts for one in held)


def _is_a(value: Any, plain: Any) -> bool:
    """Whether a value is of a type, whatever it holds."""
    if plain in (int, float):
        return isinstance(value, Integral if plain is int else Number) and not isinstance(
            value,
            bool,
        )
    if plain is bool:
        return isinstance(value, bool | np.bool_)
    if plain in (Sequence, Collection) and isinstance(value, str | bytes):
        return False
    return isinstance(value, NoneType if plain is None else plain)


def described(kind: Any) -> str:
    """A type in words.

    >>> described(int | Sequence[int] | None)
    'a whole number, a list (each a whole number) or None'
    """
    plain = get_origin(kind) or kind
    parts = get_args(kind)
    if plain in (Union, UnionType):
        *some, last = dict.fromkeys(map(described, parts))
        return f"{', '.join(some)} or {last}" if some else last
    if plain is Literal:
        return " or ".join(map(repr, parts))
    if plain in (Sequence, Collection):
        return "a list" if parts[0] is Any else f"a list (each {described(parts[0])})"
    if plain is Mapping and len(parts) == 2 and parts[1] is not Any:
        return f"a dict (each value {described(parts[1])})"
    return WORDS.get(plain) or f"a {plain.__name__}"


def _outside(kind: Any) -> Any:
    """The type without what containers hold."""
    plain = get_origin(kind) or kind
    parts = get_args(kind)
    if plain in (Union, UnionType):
        return Union[tuple(map(_outside, parts))]  # noqa: UP007 - made at run time
    return plain if plain in (Sequence, Collection, Mapping) else kind


@cache
def _annotations(function: Callable[..., Any]) -> Mapping[str, object]:
    """The types of a function's parameters. Types of results may be known to type checkers only."""
    names = getattr(function, "__wrapped__", function).__globals__
    of_parameters = {
        name: kind for name, kind in function.__annotations__.items() if name != "return"
    }
    return get_type_hints(SimpleNamespace(__annotations__=of_parameters), names)
