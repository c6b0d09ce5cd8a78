"""The checks that find damages, by what their messages say: each damage names the one that is meant
for it.
"""

from __future__ import annotations

import re

CHECKS = {
    # of the files
    "list of files": r"was changed after publication",
    "foreign": r"is no file of a release",
    "log": r"is not as it was written: _delta_log/0+\.json|/0+\.json cannot be read",
    "files of the log": r"its log does not list|is not there, or not as long as its log says",
    "gone": r"there is no release in|/release is missing",
    "readable": r"the release is damaged: part-\S+ cannot be read",
    "metadata": r"the release is damaged: \S+ has metadata beyond",
    "columns": r"columns of the release are missing or unexpected|has other columns than the release",
    "identifiers": r"the direct identifier '\w+' is in the release",
    # of what the run observed
    "hash of the release": r"read back differs from the release that was written",
    "hash of the input": r"the rows whose labels were checked during the write are not the rows of the input",
    "rows": r"rows are released and \d+ are in classes, of \d+ rows of the input",
    "empty": r"the release has no rows",
    "values": r"the released values differ from those of the input",
    "labels": r"is not a label of its quasi-identifier",
    # of what is required
    "k": r"are smaller than k = \d+",
    "t": r"are farther than t = \d",
    "distinct l": r"have less distinct l-diversity",
    "entropy l": r"have less entropy l-diversity",
    "recursive l": r"are not recursive \(",
    "frequency l": r"have less frequency l-diversity",
    "beta": r"times as frequent as in the table",
    # of what is beside the release
    "hierarchies": r"is not the hierarchy that was built for this release",
    "certificate": r"the certificate in \S+ does not describe the release beside it",
    "certificate's form": r"is no certificate: it is no JSON object, or has a key twice",
    "version": r"is of version \S+ of tclose_spark, and this is",
    "minimality": r"is not what was recorded of the method's choices",
    "pages": r"(report\.html|codebook\.csv|contract\.yaml) (does not describe the release beside it|is no text)",
    "configuration": r"was made with another configuration",
    "state": r"run\.json is missing, or cannot be read",
    "staged evidence": r"staging/\S+ is missing, damaged, or of another version",
    "verified files": r"was changed after it was verified",
}


def checks_in(message: str) -> set[str]:
    """The checks whose message this is, or is part of this."""
    return {name for name, words in CHECKS.items() if re.search(words, message)}
