"""Arguments of wrong types: every verb names the argument, and what it expects."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal

import pyarrow as pa
import pytest

import tclose_spark as tc
from tclose_spark.api.signatures import described, fits, verb


class Odd:
    """Of no type that an argument has."""

    def __repr__(self) -> str:
        return "Ann"


TABLE = pa.table({"age": [20, 21] * 9, "disease": ["flu", "gout"] * 9})
SPEC = {
    "attributes": {
        "quasi_identifiers": {"age": {"type": "numeric"}},
        "sensitive_attributes": {"disease": {"t": 0.5}},
    },
    "privacy": {"k": 2},
}
GIVEN: Mapping[str, Any] = {
    "table": TABLE,
    "spec": SPEC,
    "column": "age",
    "rows": 9,
    "name": "plan",
    "path": "-",
}
VERBS = {
    name: getattr(tc, name)
    for name in (*tc.__all__,)
    if inspect.isfunction(getattr(tc, name)) and name not in ("schema",)
} | {"Release.open": tc.Release.open}
ARGUMENTS = [
    (name, argument)
    for name, function in VERBS.items()
    for argument, parameter in inspect.signature(function).parameters.items()
    if parameter.kind is not parameter.VAR_KEYWORD
]


def test_every_verb_is_here() -> None:
    assert len(VERBS) == 13
    assert len(ARGUMENTS) > 100


@pytest.mark.parametrize(
    "value",
    [Odd(), Odd, {1: Odd()}, (Odd(), 5), b"Ann"],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_an_argument_of_a_wrong_type_is_named(
    name: str,
    argument: str,
    value: Any,
    tmp_path: Any,
) -> None:
    """Of nearly all arguments these values have a wrong type. A path is never given."""
    function = VERBS[name]
    parameters = inspect.signature(function).parameters
    if argument in ("log", "progress") and callable(value):
        pytest.skip("a type may be called")
    known = {key: given for key, given in GIVEN.items() if key in parameters}
    needed = {"output": tmp_path / "out"} if "output" in parameters and name != "history" else {}
    if "quasi_identifiers" in parameters and argument != "spec":
        known = {"table": TABLE, "quasi_identifiers": ["age"], "sensitive": ["disease"]}
    silent = {"log": None} if "log" in parameters else {}
    with pytest.raises(tc.TcloseError) as error:
        function(**{**known, **needed, **silent, argument: value})
    assert error.value.exit_code == 2, str(error.value)
    assert "Ann" not in str(error.value)


def test_what_the_message_names() -> None:
    with pytest.raises(tc.ConfigurationError) as error:
        tc.compare(TABLE, SPEC, methods=5, log=None)  # type: ignore[arg-type]
    assert str(error.value).startswith("methods is of type int; expected text, a dict")
    with pytest.raises(
        tc.ConfigurationError,
        match=r"^output is of type int; expected text or a path$",
    ):
        tc.history(5)  # type: ignore[arg-type]
    with pytest.raises(
        tc.ConfigurationError,
        match=r"^path is of type int; expected text or a path$",
    ):
        tc.suggest(TABLE).write(5)  # type: ignore[arg-type]
    with pytest.raises(tc.ConfigurationError, match=r"^overrides is of type str; expected a list "):
        tc.release(TABLE, SPEC, overrides="privacy.k=5")
    with pytest.raises(
        tc.ConfigurationError,
        match=r"^finished is of type int; expected True or False$",
    ):
        tc.run_stage("verify", TABLE, SPEC, finished=1)
    with pytest.raises(tc.ConfigurationError, match=r"^nix: stage plan takes no options$"):
        tc.run_stage("plan", TABLE, SPEC, nix=1)


def test_python_reports_what_no_verb_takes() -> None:
    with pytest.raises(TypeError, match="nix"):
        tc.fingerprint(TABLE, nix=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="table"):
        tc.fingerprint()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (None, int | None, True),
        (None, int, False),
        (True, int, False),
        (True, float, False),
        (5, float, True),
        ([], Sequence[int], True),
        ([True], Sequence[int], False),
        ("ab", Sequence[str], False),
        ({"a": None}, Mapping[str, str | None], True),
        ({"a": 5}, Mapping[str, str | None], False),
        ({5: "a"}, Mapping[str, str], False),
        ("all", int | Literal["all"], True),
        (print, Callable[[str], object], True),
        ("a", PathLike[str], False),
        (object(), Any, True),
    ],
)
def test_fits(value: Any, kind: Any, expected: bool) -> None:
    assert fits(value, kind) is expected


def test_every_annotation_has_words() -> None:
    for function in VERBS.values():
        names = function.__globals__
        for name, kind in inspect.get_annotations(inspect.unwrap(function)).items():
            if name != "return":
                assert "typing" not in described(
                    eval(kind, inspect.unwrap(function).__globals__),
                ), (name, names)


def test_a_verb_keeps_its_signature() -> None:
    @verb
    def doubled(number: int) -> int:
        """Twice."""
        return 2 * number

    assert doubled(4) == 8
    assert doubled.__doc__ == "Twice."
    assert typing.get_type_hints(doubled)["number"] is int


@pytest.mark.parametrize(
    "call",
    [
        lambda: tc.fingerprint(None),
        lambda: tc.suggest(None),
        lambda: tc.audit(None, ["age"], {"disease": "equal"}),
        lambda: tc.hierarchy(None, "age", {"prefix": 1}),
    ],
)
def test_a_verb_that_needs_a_table_asks_for_it(call: Callable[[], object]) -> None:
    with pytest.raises(tc.ConfigurationError, match="which table"):
        call()
