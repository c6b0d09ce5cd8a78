"""Prefetching: a kernel asks for memory that it will read soon, and works on something else
meanwhile.

It changes no result. It pays where a kernel knows early what it will read, and the processor does
not: along an order of rows that lie far apart.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj
from numpy.typing import NDArray

from tclose_spark.kernels import kernel

BYTES = ir.IntType(8).as_pointer()
INT32 = ir.IntType(32)
TO_READ = INT32(0)
IN_ALL_CACHES = INT32(3)
DATA = INT32(1)  # not code


@intrinsic
def address_of(typing_context: Any, array: Any, place: Any) -> Any:
    """The address of `array[place]`. The place may be outside the array."""

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, place_kind = signature.args
        read = arrayobj.make_array(kind)(context, builder, arguments[0])
        index = context.cast(builder, arguments[1], place_kind, types.intp)
        (stride, *_) = cgutils.unpack_tuple(builder, read.strides)
        first = builder.ptrtoint(read.data, context.get_value_type(types.intp))
        return builder.add(first, builder.mul(index, stride))

    return types.intp(array, place), lower


@intrinsic
def prefetch_address(typing_context: Any, address: Any) -> Any:
    """Ask the processor to fetch a line of its cache. It ignores an address without memory."""

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        instruction = builder.module.declare_intrinsic(
            "llvm.prefetch",
            [BYTES],
            ir.FunctionType(ir.VoidType(), [BYTES, INT32, INT32, INT32]),
        )
        place = builder.inttoptr(arguments[0], BYTES)
        builder.call(instruction, [place, TO_READ, IN_ALL_CACHES, DATA])
        return context.get_dummy_value()

    return types.void(types.intp), lower


@kernel
def prefetch(array: NDArray[Any], place: int) -> None:
    """Ask the processor to fetch `array[place]`: one line of its cache. Of an array with several
    dimensions, that is the beginning of the part.
    """
    prefetch_address(address_of(array, place))  # type: ignore[call-arg]
