"""The closeness tree: carve a tree of valid classes, then exchange rows between near ones. See docs/design.md."""

import hashlib
import os
from pathlib import Path

import numba


def _keep_compiled_code() -> None:
    """Compiled kernels are kept in the user's cache, by what the sources say: numba alone looks at a function's own file, and
    would run an old kernel that the function calls from another one.
    """
    if not os.environ.get("NUMBA_CACHE_DIR"):
        sources = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        numba.config.CACHE_DIR = str(cache / "tclose_spark" / hashlib.sha256(sources).hexdigest()[:16])  # type: ignore[attr-defined]


_keep_compiled_code()
