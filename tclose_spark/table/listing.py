"""A list as a document holds it: whole where it is short, else its size and a hash by which it can be recognised."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

LONGEST = 1000


def listing(items: Sequence[Any], what: str = "values") -> dict[str, Any]:
    """`{size, values}` of at most LONGEST items, else `{size, sha256}`: of the list as JSON, without blanks, in UTF-8.

    >>> listing(["low", None])
    {'size': 2, 'values': ['low', None]}
    """
    plain = json.loads(json.dumps(items))
    if len(plain) <= LONGEST:
        return {"size": len(plain), what: plain}
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    return {"size": len(plain), "sha256": hashlib.sha256(text.encode()).hexdigest()}
