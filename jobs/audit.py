"""spark-submit jobs/audit.py TABLE --quasi-identifiers A,B --sensitive C:equal --k 5 --t 0.2 [all
options of `tclose audit`]

Audits an existing table. Exit code: 0 if every requirement holds, 1 if not, 2 if the input is
wrong.
"""

import sys

if sys.path and sys.path[0].rstrip("/").endswith("jobs"):
    del sys.path[0]  # this folder's profile.py would hide the standard library's

from tclose_spark.__main__ import main

if __name__ == "__main__":
    sys.argv.insert(1, "audit")
    code = main()
    if code:
        sys.exit(code)
