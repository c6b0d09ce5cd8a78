"""A table with labels and distances of all kinds, a run that leaves out a tenth of it, and fixtures
of conftest.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from strategies import CITIES

from tclose_spark import pipeline
from tclose_spark.runfile import registry

ROWS, LEFT = 120, 12
MANY: dict[str, list[Any]] = {
    "age": [8_130_000 + i // 2 for i in range(ROWS)],
    "income": [None if i % 37 == 5 else 1013 + i * 97 % 4001 for i in range(ROWS)],
    "height": [round(1.5 + i * 7 % 50 / 100, 2) for i in range(ROWS)],
    "score": [30 + i * 11 % 41 for i in range(ROWS)],
    "city": [CITIES.leaves[i // 6 % 2 * 3 + i % 2] for i in range(ROWS)],
    "code": [["A00", "A01", "B10", "B11"][i // 12 % 2 * 2 + i % 2] for i in range(ROWS)],
    "sex": [["f", "m", None][i // 30 % 3] for i in range(ROWS)],
    "site": [["north", "south", "east"][(i // 6 + i % 2) % 3] for i in range(ROWS)],
    "disease": [
        "anthrax" if i == ROWS - 1 else ["flu", "gout", "flu", None][(i * i // 3) % 4]
        for i in range(ROWS)
    ],
    "mood": [["low", "middle", "high", None][i // 2 % 4] for i in range(ROWS)],
    "dose": [[0.25, 2.5, 1e7][i * 5 % 7 % 3] for i in range(ROWS)],
    "home": [["Pisa", "Siena", "Lyon", None][i * 3 % 11 % 4] for i in range(ROWS)],
    "flag": [i * 7 % 5 < 2 for i in range(ROWS)],
    "note": [f"note {i % 3}" if i < ROWS - LEFT else "left-out note" for i in range(ROWS)],
}
"""People, the oldest of whom are left out; one of them has what nobody else has."""
OF_MANY: dict[str, Any] = {
    "quasi": {
        "age": {"type": "numeric", "weight": "2"},
        "income": {"type": "numeric", "round_to": 500},
        "height": {"type": "numeric", "numeric_output": "bounds"},
        "score": {"type": "numeric", "range": [0, 100]},
        "city": {"hierarchy": "cities.csv"},
        "code": {"hierarchy": {"prefix": [2, 1]}},
        "sex": {},
        "site": {"generalization": "set"},
    },
    "sensitive": {
        "disease": {"t": "0.8", "l": {"distinct": 2}},
        "mood": {
            "distance": "ordered",
            "order": ["never", "low", "middle", "high", "always"],
            "missing": "lowest",
            "t": "0.8",
        },
        "dose": {"distance": "ordered", "t": "0.8"},
        "home": {
            "distance": "hierarchical",
            "hierarchy": "cities.csv",
            "missing": "leaf",
            "t": "0.8",
        },
        "flag": {"t": "measure"},
    },
    "insensitive_attributes": ["note"],
    "k": 6,
    "privacy": {"suppression_limit": "0.1"},
    "method": {"name": "every_k", "any_t": True, "suppress": LEFT},
    "output": {"keep_linked": True},
}


@pytest.fixture(scope="session")
def with_every_k(site_of_every_k: Path) -> Callable[[], Any]:
    """`with with_every_k():` has the method of another package that leaves out as many rows as it
    is asked to.
    """

    @contextmanager
    def installed() -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(site_of_every_k)
            registry.modules.cache_clear()
            yield
        registry.modules.cache_clear()

    return installed


@pytest.fixture(scope="session")
def dealt_in_turn(
    conf: Path,
    open_run: Callable[..., Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A finished output of the people of `finished`, who are dealt to classes in the order of their
    hashes.
    """
    folder = tmp_path_factory.mktemp("in-turn") / "out"
    pipeline.release(open_run(conf, f"output.path={folder}", "method.deal=round_robin"))
    return folder


@pytest.fixture(scope="session")
def left_out(
    write_run: Callable[..., Path],
    open_run: Callable[..., Any],
    with_every_k: Callable[[], Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A finished output with labels and distances of all kinds; a tenth of the rows is suppressed,
    of: input.
    """
    path = write_run(tmp_path_factory.mktemp("left-out"), pa.table(MANY), **OF_MANY)
    with with_every_k():
        pipeline.release(open_run(path))
    return path.parent / "out"
