"""How kernels are compiled: a kernel that Python calls becomes machine code, together with all
kernels that it calls.

Numba alone optimises every function, together with all that it calls, and makes machine code and a
wrapper for Python of each. With a hundred small kernels that call one another, this took half the
time. The passes that are left out rewrite closures, contexts and literals, which no kernel has.

An index is used as it is. Numba alone tests whether it is negative, and then counts it from the
end. Without this test, the exchange of the closeness tree takes a fifth less time.
NUMBA_BOUNDSCHECK=1 makes kernels raise IndexError instead, for an index that is negative or too
large. Slices are compiled as numba does it, and are not checked.

One process of a machine compiles at a time. The next one waits, and finds the kernels that the
first one cached.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import typed_passes, types, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.environment import lookup_environment
from numba.np import arrayobj

try:
    import fcntl
except ImportError:  # not a POSIX system: processes may compile the same kernel twice
    fcntl = None  # type: ignore[assignment]

LOCK = "lock"
_held: set[str] = set()


@contextmanager
def compile_lock(folder: str) -> Iterator[None]:
    """Runs the body while no other process runs one for the same folder. A process that ends
    releases the lock.

    Compiling a kernel compiles those that it calls, so the lock may be taken again inside. Numba's
    own lock separates threads.
    """
    with global_compiler_lock:
        file = None if folder in _held else _lock(folder)
        if file is None:
            yield
            return
        _held.add(folder)
        try:
            yield
        finally:
            _held.discard(folder)
            os.close(file)


def _lock(folder: str) -> int | None:
    """A file that is locked until it is closed; None if the file system has no locks."""
    file = None
    try:
        file = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
    except OSError:
        if file is not None:
            os.close(file)
        return None
    return file


class CalledCode(JITCodeLibrary):
    """The code of a kernel as its callers link it. It is not optimised and cannot be executed."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Does nothing: each caller that Python calls optimises all its code at once."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


def _index_as_it_is(context: Any, builder: Any, kind: Any, index: Any, length: Any) -> Any:
    """Takes the place of numba's `fix_integer_index`: the index in 64 bits, not counted from the end
    if it is negative. length: not used.
    """
    return context.cast(builder, index, kind, types.intp)


class LowerKernel(typed_passes.NativeLowering):
    """Makes code that uses each index as it is. Numba has no option for this, so one of its
    functions is replaced meanwhile. Numba's lock keeps other threads from compiling. What numba
    compiles meanwhile for itself is kept for all code of the process; for our kernels, none of that
    has a negative index.
    """

    _name = "lower_kernel"  # of a pass; those below have their own

    def run_pass(self, state: Any) -> bool:
        """Changes the state of a compilation, as numba's passes do."""
        fix_integer_index = arrayobj.fix_integer_index
        try:
            arrayobj.fix_integer_index = _index_as_it_is
            return bool(super().run_pass(state))
        finally:
            arrayobj.fix_integer_index = fix_integer_index


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerCalled(LowerKernel):
    """Makes `CalledCode`, and lets other kernels call it."""

    _name = "lower_called_kernel"

    def run_pass(self, state: Any) -> bool:
        """Changes the state of a compilation, as numba's passes do."""
        state.library = CalledCode(state.targetctx.codegen(), state.func_id.func_qualname)
        super().run_pass(state)
        name = state.cr.fndesc
        function = _dynfunc.make_function(
            name.lookup_module(),
            name.qualname,
            "",
            0,
            state.cr.env,
            (state.library,),
        )
        state.targetctx.insert_user_function(function, name, [state.library])
        state.cr = state.cr._replace(cfunc=function)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerEntry(LowerKernel):
    """Makes machine code, and fills in the environments (what a function raises) of the kernels
    inside it.
    """

    _name = "lower_entry_kernel"

    def run_pass(self, state: Any) -> bool:
        """Changes the state of a compilation, as numba's passes do."""
        super().run_pass(state)
        for variable in state.library._final_module.global_variables:
            if (environment := lookup_environment(variable.name)) is not None:
                state.library.codegen.set_env(variable.name, environment)
        return True


class EntryCompiler(CompilerBase):
    """Compiles a kernel that Python calls."""

    lower: type[LowerKernel] = LowerEntry

    def define_pipelines(self) -> list[PassManager]:
        """The passes."""
        passes = PassManager("kernel")
        for each in (
            untyped_passes.TranslateByteCode,
            untyped_passes.FixupArgs,
            untyped_passes.IRProcessing,
            untyped_passes.GenericRewrites,
            untyped_passes.ReconstructSSA,
            typed_passes.NopythonTypeInference,
            typed_passes.PreLowerStripPhis,
            typed_passes.NopythonRewrites,
            typed_passes.IRLegalization,
            typed_passes.AnnotateTypes,
            self.lower,
            typed_passes.NoPythonBackend,
        ):
            passes.add_pass(each, each.__name__)
        passes.finalize()
        return [passes]


class CalledCompiler(EntryCompiler):
    """Compiles a kernel for the kernels that call it."""

    lower = LowerCalled

    def define_pipelines(self) -> list[PassManager]:
        """The passes."""
        self.state.flags.no_cpython_wrapper = True
        self.state.flags.no_compile = True
        return super().define_pipelines()
