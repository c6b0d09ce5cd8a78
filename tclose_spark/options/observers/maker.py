"""Counts what the choices of the method reveal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tclose_spark.engine.protocol import Session
from tclose_spark.options.observers.minimality import MinimalityCounter
from tclose_spark.options.observers.refused_cuts import RefusedCuts
from tclose_spark.stages.generalize import run_starts
from tclose_spark.stages.release_maker import ReleaseMaker, TaskWork


class ObserversMaker(ReleaseMaker):
    """minimality: of rows in wide classes. refused: of classes that were not cut, if these reveal
    anything.
    """

    minimality: MinimalityCounter
    refused: RefusedCuts | None

    def begin(self, session: Session) -> None:
        making = self.making
        self.minimality = MinimalityCounter.of(session, making.attributes, making.plan.tasks)
        self.refused = RefusedCuts.of(session, making.spec, making.attributes)

    def assign(self, work: TaskWork) -> Iterable[tuple[str, bytes]]:
        rows = work.rows.take(work.place)
        starts = run_starts(work.labels) if len(work.place) else None
        shown = rows if starts is None else rows.shown(starts)
        chosen = work.assigned.regions is None and not self.spec.method.promises_disjoint
        self.minimality.add(shown, work.labels if chosen else None)
        self.minimality.add_suppressed(work.rows.take(work.left_out))
        if self.refused is not None and starts is not None:
            self.refused.add(rows, starts)
        return ()

    def mechanism(self) -> Mapping[str, object]:
        privacy = self.spec.privacy
        figure = self.minimality.figure(self.making.profile, privacy.k, privacy.of == "input")
        refused = None if self.refused is None else self.refused.figure()
        return figure if refused is None else {**figure, "refused_cuts": refused}
