"""Structures: named tuples that kernels pass by reference.

Numba passes each array of a named tuple as seven or more arguments, and compiling these takes
longer than everything else. A structure is one pointer to words of 64 bits instead: the address and
shape of an array, the bits of a number, the words of a structure inside it. A field is read where
it is used.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Any, NamedTuple, TypeVar

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np import arrayobj
from numpy.typing import NDArray

Fields = TypeVar("Fields", bound=type[NamedTuple])
WORD = ir.IntType(64)


class Structure(types.Type):
    """The numba type of a structure: its class and the types of its fields (C-contiguous arrays,
    numbers, structures).
    """

    def __init__(self, cls: str, fields: tuple[tuple[str, Any], ...]) -> None:
        self.fields = fields
        # The names of compiled functions hold it.
        digest = hashlib.sha256(repr(fields).encode()).hexdigest()[:8]
        super().__init__(name=f"{cls}_{digest}")

    @property
    def words(self) -> int:
        """How many words it has."""
        return sum(_words_of_type(kind) for _, kind in self.fields)

    def place(self, name: str) -> tuple[int, Any]:
        """(the number of a field's first word, its type)."""
        at = 0
        for known, kind in self.fields:
            if known == name:
                return at, kind
            at += _words_of_type(kind)
        raise KeyError(name)


def _words_of_type(kind: Any) -> int:
    if isinstance(kind, Structure):
        return kind.words
    return 1 + kind.ndim if isinstance(kind, types.Array) else 1


def structure(cls: Fields) -> Fields:
    """Makes kernels take a named tuple by reference. They read its fields and write to its arrays,
    but cannot create or return one, or set a field.
    """

    @typeof_impl.register(cls)
    def type_of(value: Any, context: Any) -> Structure:
        kinds = [(name, typeof_impl(field, context)) for name, field in value._asdict().items()]
        for name, kind in kinds:
            if isinstance(kind, types.Array) and (kind.layout != "C" or not kind.mutable):
                raise TypeError(
                    f"{cls.__name__}.{name} is not a C-contiguous array that may be written to",
                )
        return Structure(cls.__name__, tuple(kinds))

    return cls


def make_words(value: tuple[Any, ...]) -> NDArray[np.int64]:
    """The words of a structure. They are valid as long as it exists."""
    return np.array(_words(value), dtype=np.int64)


def _words(value: tuple[Any, ...]) -> list[int]:
    words: list[int] = []
    for field in value:
        if isinstance(field, np.ndarray):
            words += (field.__array_interface__["data"][0], *field.shape)
        elif isinstance(field, tuple):
            words += _words(field)
        else:
            words += struct.unpack(
                "q",
                struct.pack("d" if isinstance(field, float) else "q", field),
            )
    return words


register_model(Structure)(models.OpaqueModel)


@infer_getattr
class _FieldTypes(AttributeTemplate):
    key = Structure

    def generic_resolve(self, structure: Structure, name: str) -> Any:  # type: ignore[override]
        return dict(structure.fields).get(name)


@lower_getattr_generic(Structure)
def _read(context: Any, builder: Any, structure: Structure, pointer: Any, name: str) -> Any:
    """The value of a field."""
    at, kind = structure.place(name)
    words = builder.gep(builder.bitcast(pointer, WORD.as_pointer()), [WORD(at)])
    if isinstance(kind, Structure):
        return builder.bitcast(words, pointer.type)
    if not isinstance(kind, types.Array):
        model = context.data_model_manager[kind]
        return _load(builder, words, 0, model.get_value_type())
    array = arrayobj.make_array(kind)(context, builder)
    shape = [_load(builder, words, 1 + axis, WORD) for axis in range(kind.ndim)]
    itemsize = WORD(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides = [itemsize]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    data = _load(builder, words, 0, array.data.type)
    arrayobj.populate_array(
        array,
        data=data,
        shape=shape,
        strides=strides,
        itemsize=itemsize,
        meminfo=None,
    )
    return array._getvalue()


def _load(builder: Any, words: Any, at: int, kind: Any) -> Any:
    """A word as a value of a type. The load is marked as invariant, because no kernel writes to
    words. Otherwise the compiler would read the word again after every store.
    """
    place = builder.bitcast(builder.gep(words, [WORD(at)]), kind.as_pointer())
    value = builder.load(place)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


@unbox(Structure)
def _unbox(structure: Structure, value: Any, c: Any) -> NativeValue:
    """Python makes the words and releases them after the call."""
    module = c.pyapi.import_module(c.context.insert_const_string(c.builder.module, __name__))
    function = c.pyapi.object_getattr_string(module, make_words.__name__)
    words = c.pyapi.call_function_objargs(function, (value,))
    c.pyapi.decref(function)
    c.pyapi.decref(module)
    failed = cgutils.is_null(c.builder, words)
    pointer = cgutils.alloca_once_value(
        c.builder,
        cgutils.get_null_value(c.context.get_value_type(structure)),
    )
    with c.builder.if_then(c.builder.not_(failed), likely=True):
        kind = types.Array(types.int64, 1, "C")
        array = arrayobj.make_array(kind)(c.context, c.builder, value=c.unbox(kind, words).value)
        c.builder.store(c.builder.bitcast(array.data, cgutils.voidptr_t), pointer)
    return NativeValue(
        c.builder.load(pointer),
        is_error=failed,
        cleanup=lambda: c.pyapi.decref(words),
    )
