"""The process in which anjana anonymizes, for others.py: in an environment that has it, and nothing
of ours.
"""

import contextlib
import io
import json
import sys
import time
from pathlib import Path

import pandas as pd
from anjana.anonymity import t_closeness

given = json.loads(Path(sys.argv[1]).read_text())
table = pd.DataFrame(given["columns"]).assign(row=range(len(given["columns"][given["sensitive"]])))
levels = {
    name: {i: list(column) for i, column in enumerate(tree)}
    for name, tree in given["hierarchies"].items()
}
begun = time.process_time()
with contextlib.redirect_stdout(io.StringIO()):
    released = t_closeness(
        table,
        [],
        given["quasi"],
        given["sensitive"],
        given["k"],
        given["t"],
        given["suppressed"],
        levels,
    )
seconds = time.process_time() - begun
rows = released["row"].tolist() if len(released) else []
labels = [released[name].tolist() for name in given["quasi"]] if rows else []
Path(sys.argv[2]).write_text(json.dumps({"rows": rows, "labels": labels, "seconds": seconds}))
