"""spark-submit jobs/compare.py CONF --k 5,10 --t 0.1,0.2 [all options of `tclose compare`]

Which method loses least? Ends with 0 if all releases that were made hold, 1 if one does not, 2 if
something is wrong.
"""

import sys

if sys.path and sys.path[0].rstrip("/").endswith("jobs"):
    del sys.path[0]  # this folder's profile.py would hide the standard library's

from tclose_spark.__main__ import main

if __name__ == "__main__":
    sys.argv.insert(1, "compare")
    code = main()
    if code:
        sys.exit(code)
