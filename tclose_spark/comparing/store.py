"""The folder of a comparison. It keeps finished combinations, so that a comparison that was killed
resumes.

Everything in it is internal: the figures are measured on raw rows, and it holds the rows until the
comparison ends.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from tclose_spark.comparing.request import Combination
from tclose_spark.comparing.result import LossBound, Outcome
from tclose_spark.errors import ConfigurationError
from tclose_spark.in_memory.sample import ComparedTable
from tclose_spark.io.storage.folders import Folder
from tclose_spark.runfile.spec import FRAME, ReleaseSpec
from tclose_spark.version import __version__

ABOUT = "about.json"
TABLE = "rows.json"
OUTCOMES = "outcomes"
RESULT = "compare.json"
PAGE = "compare.html"
PLOT = "compare.svg"


@dataclass(frozen=True)
class ComparisonStore:
    """A comparison's folder, while it is locked. key: of all comparisons that may share it."""

    folder: Folder
    key: str

    def begin(self, overwrite: bool) -> None:
        """Claims the folder for this comparison.

        Raises:
            ConfigurationError: if it holds another comparison, and may not be overwritten.
        """
        about = (
            json.loads(self.folder.read(ABOUT)) if self.folder.exists(ABOUT) else {"key": self.key}
        )
        if about["key"] != self.key and not overwrite:
            raise ConfigurationError(
                f"--output: {self.folder.path()} holds a comparison of another input, sample or "
                "run file (or by another version); give another folder, or --overwrite to start "
                "again",
            )
        if overwrite:
            for name in (
                TABLE,
                OUTCOMES,
                RESULT,
                PAGE,
                PLOT,
                ABOUT,
            ):  # ABOUT last: it names the owner of the others
                self.folder.remove(name)
        if not self.folder.exists(ABOUT):
            self._write(ABOUT, {"key": self.key})

    def outcome(self, combination: Combination, variant: str) -> Outcome | None:
        """The outcome of a combination; None if it is not finished."""
        name = self._name(combination, variant)
        return (
            Outcome.from_json(json.loads(self.folder.read(name)))
            if self.folder.exists(name)
            else None
        )

    def keep(self, combination: Combination, variant: str, outcome: Outcome) -> None:
        """Keeps the outcome of a combination, in a file that appears whole or not at all."""
        self._write(self._name(combination, variant), outcome.to_json())

    def bound(self, combination: Combination) -> LossBound | None:
        """The bound at the k and t of a combination; None if it was not found yet."""
        name = self._name_of_bound(combination)
        return LossBound(**json.loads(self.folder.read(name))) if self.folder.exists(name) else None

    def keep_bound(self, combination: Combination, bound: LossBound) -> None:
        """Keeps the bound at the k and t of a combination."""
        self._write(self._name_of_bound(combination), bound.to_json())

    @staticmethod
    def _name_of_bound(combination: Combination) -> str:
        assert combination.spec is not None
        ts = {name: a.t for name, a in combination.spec.attributes.sensitive_attributes.items()}
        privacy = combination.spec.privacy.model_dump(mode="json")
        named = json.dumps(["bound", ts, privacy], sort_keys=True, default=str)
        return f"{OUTCOMES}/{hashlib.sha256(named.encode()).hexdigest()[:24]}.json"

    @staticmethod
    def _name(combination: Combination, variant: str) -> str:
        """The file of an outcome. variant: how it was planned and measured."""
        decisive = combination.spec.fingerprint if combination.spec else combination.refused
        named = json.dumps([combination.method, combination.k, combination.t, decisive, variant])
        return f"{OUTCOMES}/{hashlib.sha256(named.encode()).hexdigest()[:24]}.json"

    def table(self) -> ComparedTable | None:
        """The rows of a comparison that was killed; None if there are none."""
        return (
            ComparedTable.from_json(self.folder.read(TABLE)) if self.folder.exists(TABLE) else None
        )

    def keep_table(self, table: ComparedTable) -> None:
        """Keeps the rows until `finish`.

        Raises:
            ConfigurationError: if the finished combinations were measured on other rows.
        """
        about = json.loads(self.folder.read(ABOUT))
        about = {"rows": table.digest, "compared": [len(table.rows), table.whole], **about}
        if about["rows"] != table.digest:
            raise ConfigurationError(
                f"--output: the figures in {self.folder.path()} were measured on other rows (the "
                "input or the secret changed); give another folder, or --overwrite to start again",
            )
        self._write(ABOUT, about)
        self.folder.write(TABLE, table.to_json(), private=True)

    @property
    def rows(self) -> tuple[int, int]:
        """The number of rows compared on, and of the input; 0 if none were needed."""
        compared, whole = json.loads(self.folder.read(ABOUT)).get("compared", [0, 0])
        return compared, whole

    def finish(self, result: Mapping[str, object], page: str, plot: str) -> None:
        """Writes figures, page and plot, and removes the rows."""
        self._write(RESULT, result)
        self.folder.write(PAGE, page, private=True)
        self.folder.write(PLOT, plot, private=True)
        self.folder.remove(TABLE)

    def _write(self, name: str, tree: Mapping[str, object]) -> None:
        self.folder.write(name, json.dumps(tree, indent=1), private=True)


def key_of(spec: ReleaseSpec, hierarchies: str, sample: str) -> str:
    """A hash of what all combinations share: input, sample, version, and the columns without their
    t.
    """
    tree = spec.model_dump(mode="json", include={"input", "attributes"})
    tree["input"] |= {"path": FRAME} if spec.input.is_frame else {}
    for asked in tree["attributes"]["sensitive_attributes"].values():
        asked.pop("t")
    decisive = json.dumps([tree, hierarchies, sample, __version__], sort_keys=True, default=str)
    return hashlib.sha256(decisive.encode()).hexdigest()
