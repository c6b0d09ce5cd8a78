"""Interrupts: Ctrl-C (SIGINT) and a scheduler's SIGTERM end a command with one line and exit code
130 or 143, at any moment.

A thread that reads signals from Python's wake-up socket watches the main thread. `sigwait` would be
shorter, but needs the signals blocked in every thread, and libraries start threads on import that
do not block them.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
MESSAGE = "interrupted; nothing unfinished was published"
SHORT = "interrupted"  # of commands that publish nothing
PATIENCE = 1.0  # seconds that an interrupted command has to end in its own way


@dataclass(kw_only=True)
class Interrupt:
    """The received signal, if any.

    message: printed after a signal.
    last: whether only Spark's end follows the command in this process.
    holding: whether the first signal waits for the current work.
    ending: whether signals no longer have an effect.
    raising: an action before KeyboardInterrupt is raised.
    handled: the main thread noticed a signal; told: the message was printed; over: the command has
        ended.
    """

    message: str = MESSAGE
    last: bool = False
    received: int | None = None
    holding: bool = False
    ending: bool = False
    told: bool = False
    raising: Callable[[], object] | None = None
    handled: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def exit_code(self) -> int:
        """The exit code by the shell's convention: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + (self.received or signal.SIGINT)

    def handle(self, number: int, _: FrameType | None) -> None:
        """Raises KeyboardInterrupt in the main thread: the first time only after deferred work, and
        not if the command is `ending` already.
        """
        first = self.received is None
        self.received = number
        logging.disable()  # py4j and Spark's threads log what breaks off, by pages
        self.handled.set()
        if not self.ending and not (self.holding and first):
            if self.raising is not None:
                self.raising()
            raise KeyboardInterrupt

    def tell(self) -> None:
        """Prints the message once. If nothing follows the command, later output of other threads is
        hidden.
        """
        if not self.told:
            self.told = True
            os.write(2, f"{self.message}\n".encode())
            if self.last:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)

    def is_overdue(self) -> bool:
        """Waits for the command to end after a signal; returns whether it is overdue.

        A command that is not the process's own only has to notice the signal, because its caller
        continues.
        """
        awaited = self.over if self.last else self.handled
        while not awaited.wait(PATIENCE):
            if self.ending and not self.told:
                return False
            if not self.holding:
                return True
        return False


_current: Interrupt | None = None  # signals are the process's, and so is this
_abandoning: list[Callable[[], object]] = []


def abandoned_with(action: Callable[[], object]) -> Callable[[], None]:
    """Registers an action of at most half a second for a process that is left in the middle of its
    work. Returns a function that withdraws it.
    """
    _abandoning.append(action)
    return lambda: _abandoning.remove(action)


@contextmanager
def handle_signals(message: str = MESSAGE, last: bool = False) -> Iterator[Interrupt]:
    """Signals raise KeyboardInterrupt in the body. The yielded Interrupt has the signal, and this
    message.

    last: whether only Spark's end follows in this process. No signal may interrupt that end, so
        signals are ignored then.

    Handlers belong to the main thread. In another thread nothing is changed.
    """
    global _current
    interrupt = Interrupt(message=message, last=last)
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    before = {number: signal.signal(number, interrupt.handle) for number in SIGNALS}
    level = logging.root.manager.disable
    others = sys.unraisablehook

    def unless_ours(raised: Any) -> None:
        """Hides a signal raised in a finalizer, such as py4j's; `raise_if_interrupted` raises it
        again.
        """
        if interrupt.received is None or raised.exc_type is not KeyboardInterrupt:
            others(raised)

    _current = interrupt
    sys.unraisablehook = unless_ours
    try:
        with _watched(interrupt):
            yield interrupt
    finally:
        interrupt.ending = True
        _current = None
        sys.unraisablehook = others
        if not (last and interrupt.told):  # else what ends in pieces would still be logged
            logging.disable(level)
        for number, handler in before.items():
            signal.signal(
                number,
                signal.SIG_IGN if last else handler if handler is not None else signal.SIG_DFL,
            )


@contextmanager
def interruptible(raising: Callable[[], object]) -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt in the body, after deferred work. raising: an action before
    that.

    The process is a notebook's or another program's, so it does not end, and SIGTERM is not
    handled. Handlers belong to the main thread. In another thread, and inside `handle_signals`,
    nothing is changed.
    """
    global _current
    if _current is not None or threading.current_thread() is not threading.main_thread():
        yield
        return
    _current = interrupt = Interrupt(raising=raising)
    before = signal.signal(signal.SIGINT, interrupt.handle)
    level = logging.root.manager.disable
    try:
        yield
    finally:
        interrupt.ending = True
        _current = None
        logging.disable(level)
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)


def done() -> None:
    """Marks the command as successful and a release as public. From here on, signals change neither
    output nor exit code.
    """
    if _current is not None:
        _current.ending = True


def raise_if_interrupted() -> None:
    """Raises KeyboardInterrupt if a signal came that did not end the command. An exception inside a
    finalizer, or inside a foreign callback, is lost.
    """
    interrupt = _current
    if (
        interrupt is not None
        and interrupt.received is not None
        and not (interrupt.ending or interrupt.holding)
    ):
        raise KeyboardInterrupt


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Raises a signal of the body after the body, however long it takes; a second signal at
    once.
    """
    interrupt = _current
    if interrupt is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupt.holding = True
    try:
        yield
    finally:
        interrupt.holding = False
    if interrupt.received is not None and not interrupt.ending:
        raise KeyboardInterrupt


@contextmanager
def _watched(interrupt: Interrupt) -> Iterator[None]:
    """Ends the process if a signal does not end it in time: compiled code does not return to
    Python, a call of the JVM waits for an answer, or an executor's end is awaited.

    Python runs handlers between its own instructions only. The system writes the number of a signal
    to a socket at once, and a thread reads it. Kernels let other threads run meanwhile
    (`kernels.kernel`).
    """
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)

    def watch() -> None:
        while number := ours.recv(1):
            if number[0] in SIGNALS and interrupt.is_overdue():
                _leave(interrupt, 128 + number[0])

    watcher = threading.Thread(target=watch, daemon=True)
    before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    watcher.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        theirs.close()
        if not (interrupt.last and interrupt.told):  # else the end of the process is watched, too
            interrupt.over.set()
            watcher.join()
            ours.close()


def _leave(interrupt: Interrupt, code: int) -> None:
    """Ends the process immediately."""
    interrupt.tell()
    for action in reversed(_abandoning):
        run_with_timeout(action, 0.5)
    os._exit(code)


def run_with_timeout(action: Callable[[], object], seconds: float = 5.0) -> None:
    """Runs an action in a thread of its own for at most this many seconds, and ignores its errors.

    A connection to the JVM belongs to a thread, and that of an interrupted call is unusable. While
    a process ends, Python 3.12 and later start no thread; then the action runs here.
    """

    def quietly() -> None:
        try:
            action()
        except Exception:
            return

    thread = threading.Thread(target=quietly, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        quietly()
    else:
        thread.join(seconds)
