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
from tclose_spark.io.run_state import VerifyRecord
from tclose_spark.io.storage.integrity import strict_json
from tclose_spark.report.mechanism import (
    Mechanism,
    extreme_aggregates_notes,
    mechanism_notes,
    mechanism_record,
)


class MechanismJudge(ReleaseJudge):
    """Reads MINIMALITY."""

    def record(self, run: Run) -> Mapping[str, object]:
        figure = run.staged(MINIMALITY, Mechanism.parse)
        more = (
            f"; how far is in {run.internal.path(MINIMALITY)} (see docs/limits.md)"
            if figure.measured
            else ""
        )
        notes = [
            *(note + more for note in mechanism_notes(figure)),
            *extreme_aggregates_notes(figure, public=False),
        ]
        for note in notes:
            run.announce(f"note: {note}")
        return {"minimality": mechanism_record(figure)}

    def require_certified(self, files: RunFiles, certificate: Mapping[str, Any]) -> None:
        internal = files.internal
        try:
            text = internal.read(MINIMALITY)
            figure = strict_json(text)
            recorded = files.state.of(VerifyRecord).minimality
            same = mechanism_record(Mechanism.read(figure)) == recorded
            as_it_was = same and json.dumps(figure, indent=1) == text
        except (ValueError, TypeError, KeyError, AttributeError, OSError):
            as_it_was = False
        if not as_it_was:
            raise GuaranteeError(
                f"{internal.path(MINIMALITY)} is not what was recorded of the method's choices"
            )
