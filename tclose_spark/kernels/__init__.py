"""How kernels are compiled and cached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit, types

from tclose_spark.kernels.caching import cache_kernels, folder, is_ours
from tclose_spark.kernels.compiler import CalledCompiler, EntryCompiler, compile_lock

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
KERNELS: list[Callable[..., Any]] = []
"""The kernels of this project whose modules are imported."""


def kernel(function: Kernel) -> Kernel:
    """The function, compiled without reference counts: with them, a call often costs more than the
    work that it does.

    So a kernel, and whatever it calls, must not create arrays. No index may be negative: it is used
    as it is (see `compiler`). Floats are added in the order as written, so every machine forms the
    same classes. Other threads run meanwhile; one of them handles interrupts (see `io.interrupts`).
    A kernel is compiled once for the types of its arrays, for integers of any kind, by one process
    of a machine at a time; and once more if both Python and other kernels call it (see `compiler`).
    A kernel of another package is compiled in each process, because it holds code of this one.
    """
    options: dict[str, Any] = {"_nrt": False, "nogil": True, "no_cfunc_wrapper": True}
    ours = is_ours(function)
    compiled: Any = njit(**options, cache=ours, pipeline_class=EntryCompiler)(function)
    compiled.called = called = njit(**options, pipeline_class=CalledCompiler)(function)
    compile_ = compiled.compile

    def compile_alone(kinds: Any) -> Any:
        with compile_lock(folder()):
            return compile_(kinds)

    if ours:
        compiled.compile = compile_alone
        KERNELS.append(function)
    compiled.get_call_template = lambda kinds, named: called.get_call_template(
        [_wide(kind) for kind in kinds],
        named,
    )
    compiled.get_overload = called.get_overload
    return cast(Kernel, compiled)


def _wide(kind: Any) -> Any:
    """The type of an argument that another kernel passes, with 64 bits for all integers. Otherwise
    every constant would compile the kernel anew.
    """
    kind = types.unliteral(kind)
    if kind in types.signed_domain:
        return types.int64
    if isinstance(kind, types.Tuple | types.UniTuple):
        return types.Tuple([_wide(part) for part in kind])
    return kind


cache_kernels()


@kernel
def log2(x: float) -> float:
    """The binary logarithm of x > 0, to 15 digits. Only additions and products, because libraries
    round differently on different processors.
    """
    whole = 0.0
    while x > 1.4142135623730951:
        x = x * 0.5
        whole = whole + 1.0
    while x < 0.7071067811865476:
        x = x * 2.0
        whole = whole - 1.0
    z = (x - 1.0) / (x + 1.0)
    square = z * z
    power = z
    total = 0.0
    for odd in range(1, 20, 2):
        total += power / odd
        power *= square
    return whole + total * 2.8853900817779268
