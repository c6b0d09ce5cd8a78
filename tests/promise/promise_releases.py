"""Releases that the tests of docs/promise.md look at, as those look who may read all of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from people import read

ROWS = 3000


def skewed(rows: int = ROWS) -> pd.DataFrame:
    """Ten zips; in A .6 have flu, elsewhere .15."""
    draw = np.random.default_rng(1)
    zips = draw.integers(10, size=rows)
    flu = draw.random(rows) < np.where(zips == 0, 0.6, 0.15)
    others = np.array(["gout", "ulcer", "cold", "asthma"])[draw.integers(4, size=rows)]
    return pd.DataFrame({"zip": [f"zip {chr(65 + z)}" for z in zips], "disease": np.where(flu, "flu", others)})


class Finished:
    """A finished release: its rows, its certificate, what the run printed, and what is kept inside."""

    def __init__(self, folder: Path, said: list[str]) -> None:
        self.folder, self.said = folder, said
        self.rows = read(folder / "public/release")
        self.certificate: dict[str, Any] = json.loads((folder / "public/certificate.json").read_text())
        self.measured: dict[str, Any] = json.loads((folder / "internal/minimality.json").read_text())


MakeRelease = Callable[..., Finished]
