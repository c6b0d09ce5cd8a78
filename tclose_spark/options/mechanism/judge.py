"""Records what the choices of the method reveal, and announces it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tclose_spark.checks.judged_release import ReleaseJudge
from tclose_spark.checks.written import RunFiles
from tclose_spark.errors import GuaranteeError
from tclose_spark.io.output_folders import MINIMALITY
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import MechanismRecord, VerifyRecord
from tclose_spark.io.storage.integrity import strict_json
from tclose_spark.options.mechanism.notes import (
    extreme_aggregates_notes,
    mechanism_found,
    mechanism_notes,
)


class MechanismJudge(ReleaseJudge):
    """Reads MINIMALITY."""

    def record(self, run: Run) -> Mapping[str, object]:
        figure = run.staged(MINIMALITY, json.loads)
        more = (
            f"; how far is in {run.internal.path(MINIMALITY)} (see docs/limits.md)"
            if figure["measured"]
            else ""
        )
        notes = [
            *(note + more for note in mechanism_notes(figure)),
            *extreme_aggregates_notes(figure, public=False),
        ]
        for note in notes:
            run.announce(f"note: {note}")
        return {"minimality": _recorded(figure)}

    def require_certified(self, files: RunFiles, certificate: Mapping[str, Any]) -> None:
        internal = files.internal
        try:
            text = internal.read(MINIMALITY)
            figure = strict_json(text)
            recorded = files.state.of(VerifyRecord).minimality
            as_it_was = json.dumps(figure, indent=1) == text and _recorded(figure) == recorded
        except (ValueError, TypeError, KeyError, AttributeError, OSError):
            as_it_was = False
        if not as_it_was:
            raise GuaranteeError(
                f"{internal.path(MINIMALITY)} is not what was recorded of the method's choices"
            )


def _recorded(figure: Mapping[str, Any]) -> MechanismRecord:
    """What a state records of MINIMALITY."""
    warnings = (
        mechanism_notes(figure)
        if figure["measured"]
        else extreme_aggregates_notes(figure, public=True)
    )
    return MechanismRecord.read({**mechanism_found(figure), "warnings": warnings})
