"""Staged releases whose adversary also replaced the hash of the release in the state of the run:
what is left is what the classes must meet. Each is made of the rows of people.py, with classes that
lie exactly on a requirement, or one record beyond it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import deltalake
import pandas as pd
import pyarrow as pa
from acts import rewritten

from tclose_spark.table.fingerprint import Fingerprint

FLU, GOUT, ULCER = 24, 12, 12  # the rows of people.py
WITH_T = ("attributes.sensitive_attributes.disease={t: 0.2}",)
WITH_L = (
    "attributes.sensitive_attributes.disease={t: measure, l: {distinct: 3, entropy: 1.9, "
    "recursive: {c: 10, l: 3}}}",
)
WITH_BETA = ("attributes.sensitive_attributes.disease={beta: 0.4}",)
WITH_FREQUENCY = ("attributes.sensitive_attributes.disease={l: {frequency: 1.6}}",)
Class = tuple[int, int, int]
"""The rows of a class with flu, gout and ulcer."""


@dataclass(frozen=True)
class Forged:
    """One class of these rows; all other rows are a second class. broken: the checks that find it,
    and no others.
    """

    first: Class
    sets: Sequence[str] = WITH_T
    broken: tuple[str, ...] = ()


FORGED: Mapping[str, Forged] = {
    # 14 of 20 have flu, 24 of 48 in the table: .7 - .5 is t
    "a class at t": Forged((14, 3, 3)),
    "a class above t by one record": Forged((15, 2, 3), broken=("t",)),
    "a class above t by one record more": Forged((15, 3, 3), broken=("t",)),
    # 3 of 10 have flu, and 7 of 10 the others
    "a class at t, without flu": Forged((3, 4, 3)),
    "a class above t by one record, without flu": Forged((2, 4, 4), broken=("t",)),
    "a class of k": Forged((3, 1, 1)),
    "a class of k - 1": Forged((2, 1, 1), broken=("k",)),
    "a class of one row": Forged((1, 0, 0), broken=("k", "t")),
    "a class that leaves k rows": Forged((21, 11, 11)),
    "a class that leaves k - 1 rows": Forged((22, 11, 11), broken=("k",)),
    "one class": Forged((24, 12, 12)),
    "a class of every l": Forged((9, 2, 2), WITH_L),
    "a class of two values": Forged((10, 10, 0), WITH_L, ("distinct l", "recursive l")),
    "a class of one value": Forged((10, 0, 0), WITH_L, ("distinct l", "entropy l", "recursive l")),
    "a class of little entropy": Forged((9, 1, 1), WITH_L, ("entropy l",)),
    "a class with c times as many rows of one value": Forged((10, 9, 1), WITH_L, ("recursive l",)),
    "a class with less than c times as many": Forged((9, 9, 1), WITH_L),
    # flu is .5 of the table, and may be 1.4 times .5 of a class
    "a class at beta": Forged((14, 3, 3), WITH_BETA),
    "a class above beta by one record": Forged((15, 3, 3), WITH_BETA, ("beta",)),
    "a class of 1 / l": Forged((10, 3, 3), WITH_FREQUENCY),
    "a class of more than 1 / l by one record": Forged(
        (11, 3, 3),
        WITH_FREQUENCY,
        ("frequency l",),
    ),
}


def forge(area: Path, first: Class) -> None:
    """Writes the classes in place of those of the release in a staging area, and their hash into
    its state.
    """

    def relabelled(release: pd.DataFrame) -> pd.DataFrame:
        left = dict(zip(("flu", "gout", "ulcer"), first, strict=True))
        labels = []
        for disease in release["disease"]:
            labels.append("[20, 50]" if left[disease] else "*")
            left[disease] -= left[disease] > 0
        return release.assign(age=labels, city="*")

    rewritten(relabelled)(area)
    state = json.loads((area / "run.json").read_text())
    rows = pa.table(deltalake.DeltaTable(str(area / "release")).to_pyarrow_table()).combine_chunks()
    columns = [column.chunk(0).cast(pa.string()) for column in rows.columns]
    state["stages"]["anonymize"]["written"]["published"] = str(Fingerprint.of(columns))
    (area / "run.json").write_text(json.dumps(state))
