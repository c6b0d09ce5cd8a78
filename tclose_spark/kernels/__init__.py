"""How kernels are compiled, and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit, types

from tclose_spark.kernels.caching import folder, is_ours, keep_compiled_kernels
from tclose_spark.kernels.compile_lock import compile_lock

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def kernel(function: Kernel) -> Kernel:
    """The function compiled without reference counts: with them, a call pays for every array of its tuples, often more
    than its work.

    So a kernel, and what it calls, must not make arrays. Floats are added up in the order that is written, so that
    every machine finds the same classes. Other threads run meanwhile: one of them notices an interrupt (see
    `io.interrupts`). Every kernel is compiled once for the types of its arrays, whatever integers it is called with,
    and by one process of a machine.
    """
    options: dict[str, Any] = {"cache": True, "_nrt": False, "nogil": True, "no_cfunc_wrapper": True}
    compiled: Any = njit(**options)(function)
    compile_, template = compiled.compile, compiled.get_call_template

    def compile_in_turn(kinds: Any) -> Any:
        with compile_lock(folder(function.__module__)):
            return compile_(kinds)

    if is_ours(function):
        compiled.compile = compile_in_turn
    compiled.get_call_template = lambda kinds, named: template([_wide(kind) for kind in kinds], named)
    return cast(Kernel, compiled)


def _wide(kind: Any) -> Any:
    """The type of an argument that another kernel gives, with 64 bits for all integers: else a kernel is compiled anew
    for every constant.
    """
    kind = types.unliteral(kind)
    if kind in types.signed_domain:
        return types.int64
    if isinstance(kind, types.Tuple | types.UniTuple):
        return types.Tuple([_wide(part) for part in kind])
    return kind


keep_compiled_kernels()


@kernel
def log2(x: float) -> float:
    """The binary logarithm of x > 0, to 15 digits, in additions and products only: libraries round differently from
    processor to processor.
    """
    whole = 0.0
    while x > 1.4142135623730951:
        x, whole = x * 0.5, whole + 1.0
    while x < 0.7071067811865476:
        x, whole = x * 2.0, whole - 1.0
    z = (x - 1.0) / (x + 1.0)
    square, power, total = z * z, z, 0.0
    for odd in range(1, 20, 2):
        total += power / odd
        power *= square
    return whole + total * 2.8853900817779268
