"""What the choices of the method reveal: announced and recorded when a release is judged, and
required to be as recorded when it is judged again.
"""

from __future__ import annotations

import json

from tclose_spark.errors import GuaranteeError
from tclose_spark.io.output_folders import MINIMALITY
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import MechanismRecord, RunState, VerifyRecord
from tclose_spark.io.storage.folders import Folder
from tclose_spark.io.storage.integrity import strict_json
from tclose_spark.report.mechanism import (
    Mechanism,
    extreme_aggregates_notes,
    mechanism_notes,
    mechanism_record,
)


def record_mechanism(run: Run) -> MechanismRecord:
    """What the run records of the staged figures. Announces them."""
    figure = run.staged(MINIMALITY, Mechanism.parse)
    where = f"; how far is in {run.internal.path(MINIMALITY)} (see docs/limits.md)"
    more = where if figure.measured else ""
    notes = [
        *(note + more for note in mechanism_notes(figure)),
        *extreme_aggregates_notes(figure, public=False),
    ]
    for note in notes:
        run.announce(f"note: {note}")
    return mechanism_record(figure)


def require_mechanism(internal: Folder, state: RunState) -> None:
    """Raises GuaranteeError unless the figures of a finished release are those that it recorded."""
    recorded = state.of(VerifyRecord).minimality
    try:
        text = internal.read(MINIMALITY)
        figure = strict_json(text)
        same = mechanism_record(Mechanism.read(figure)) == recorded
        as_it_was = same and json.dumps(figure, indent=1) == text
    except (ValueError, TypeError, KeyError, AttributeError, OSError):
        as_it_was = False
    if not as_it_was:
        raise GuaranteeError(
            f"{internal.path(MINIMALITY)} is not what was recorded of the method's choices",
        )
