"""k-anonymous and t-close releases of tables about people, on Apache Spark, with the proof.

    import tclose_spark as tc

    made = tc.release(people, {"attributes": ..., "privacy": {"k": 10}}, output="build/people")
    made.table, made.certificate, made.report

`tclose_spark/api/public.py` lists the public names; docs/python.md describes them. The first use of
a name imports them, so `import tclose_spark` is fast and starts nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tclose_spark.version import __version__ as __version__

if TYPE_CHECKING:
    from tclose_spark.api.public import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """A public name, imported now."""
    if name == "__all__" or not name.startswith("_"):
        public = import_module(f"{__name__}.api.public")
        if name == "__all__" or name in public.__all__:
            return getattr(public, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
