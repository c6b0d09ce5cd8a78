"""A run that is killed publishes nothing or all; the same command then makes the release that it
would have made.
"""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path

from broken_runs import (
    LAST_WORDS,
    METHODS,
    Command,
    disturb,
    is_whole,
    kill_group,
    nothing_public,
    published,
    seconds_of,
)
from trials import Trials

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def killed_and_repeated(
    engine: str,
    most: int,
    trials: Trials,
    crowd: Path,
    fingerprints: dict[str, str],
    folder: Path,
) -> None:
    whole = seconds_of(Command(crowd / "closeness_tree.yaml", folder / "timed", engine))
    for number in trials(most):
        method = list(METHODS)[number % len(METHODS)]
        killer, after = trials.draw.choice(SIGNALS), trials.draw.uniform(0.1, 1.1) * whole
        command = Command(crowd / f"{method}.yaml", folder / str(number), engine)
        code, told = disturb(command, after, partial(kill_group, number=killer))
        ended = nothing_public(command.output) if code else is_whole(command.output)
        options = ("--overwrite", *(["--resume"] if number % 2 else []))
        again = Command(command.run_file, command.output, engine, options).run()
        made = published(command.output) if again.returncode == 0 else None
        trials.well(
            ended
            and "Traceback" not in told
            and made == fingerprints[method]
            and is_whole(command.output),
            f"{method}, {killer.name} after {after:.2f} s, exit {code}, then {again.returncode}: "
            f"{again.stderr[-LAST_WORDS:]}",
        )


def test_driver_killed_on_the_local_engine(
    trials: Trials,
    crowd: Path,
    fingerprints: dict[str, str],
    tmp_path: Path,
) -> None:
    killed_and_repeated("local", 40, trials, crowd, fingerprints, tmp_path)


def test_driver_killed_on_spark(
    trials: Trials,
    crowd: Path,
    fingerprints: dict[str, str],
    tmp_path: Path,
) -> None:
    killed_and_repeated("spark", 10, trials, crowd, fingerprints, tmp_path)


def test_driver_killed_while_it_replaces_a_release(
    trials: Trials,
    crowd: Path,
    fingerprints: dict[str, str],
    tmp_path: Path,
) -> None:
    """Readers have the old release or the new one at each moment, also after the kill."""
    old, new = "stack_and_deal", "closeness_tree"
    output = tmp_path / "out"
    whole = seconds_of(Command(crowd / f"{new}.yaml", tmp_path / "timed", "local"))
    for _ in trials(10):
        assert (
            Command(crowd / f"{old}.yaml", output, "local", ("--overwrite",)).run().returncode == 0
        )
        after = trials.draw.uniform(0.6, 1.0) * whole
        command = Command(crowd / f"{new}.yaml", output, "local", ("--overwrite",))
        code, _ = disturb(command, after, partial(kill_group, number=signal.SIGKILL))
        seen = published(output)
        again = Command(command.run_file, output, "local", ("--overwrite", "--resume")).run()
        trials.well(
            is_whole(output)
            and seen in (fingerprints[old], fingerprints[new])
            and published(output) == fingerprints[new],
            f"after {after:.2f} s, exit {code} and {again.returncode}: "
            f"{again.stderr[-LAST_WORDS:]}",
        )
