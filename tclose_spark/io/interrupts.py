"""Ctrl-C (SIGINT) and a scheduler's SIGTERM: they end a command with one line and 130 or 143, whatever it is doing."""

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
MESSAGE = "interrupted; what was not finished is not public"
SHORT = "interrupted"  # of commands that publish nothing
PATIENCE = 1.0  # seconds that an interrupted command has to end in its own way


@dataclass(kw_only=True)
class Interrupt:
    """What was received, if anything.

    message: what is told then.
    last: nothing follows the command in this process but Spark's end.
    holding: the first signal waits for what is done now.
    ending: signals change nothing any more.
    raising: what is done before KeyboardInterrupt is raised.
    handled: the main thread noticed a signal; told: the message was printed; over: the command has ended.
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
        """As a shell has it: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + (self.received or signal.SIGINT)

    def handle(self, number: int, _: FrameType | None) -> None:
        """Raises KeyboardInterrupt in the main thread; the first one only after `held`, none when the command is
        `ending` already.
        """
        first, self.received = self.received is None, number
        logging.disable()  # py4j and Spark's threads log what breaks off, by pages
        self.handled.set()
        if not self.ending and not (self.holding and first):
            if self.raising is not None:
                self.raising()
            raise KeyboardInterrupt

    def tell(self) -> None:
        """Prints the message, once; where nothing follows the command, other threads' words of what breaks off are not
        shown.
        """
        if not self.told:
            self.told = True
            os.write(2, f"{self.message}\n".encode())
            if self.last:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)

    def is_overdue(self) -> bool:
        """Waits for the command to end after a signal; whether it does not, and has no right to go on.

        One that is not the process's own has until Python notices the signal: what called it goes on.
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
    """What a process does, not longer than half a second, before it is left in the middle of its work.

    Returns what takes this back.
    """
    _abandoning.append(action)
    return lambda: _abandoning.remove(action)


@contextmanager
def handle_signals(message: str = MESSAGE, last: bool = False) -> Iterator[Interrupt]:
    """Signals raise KeyboardInterrupt in the body, and the yielded Interrupt says which came, and this message.
    last: nothing follows in this process but Spark's end, which no signal is to cut short: they are ignored then.

    Handlers belong to the main thread: in another one nothing is changed.
    """
    global _current
    interrupt = Interrupt(message=message, last=last)
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    before, level = (
        {number: signal.signal(number, interrupt.handle) for number in SIGNALS},
        logging.root.manager.disable,
    )
    others = sys.unraisablehook

    def unless_ours(raised: Any) -> None:
        """Hides a signal raised in a finalizer, such as py4j's; `raise_if_interrupted` raises it again."""
        if interrupt.received is None or raised.exc_type is not KeyboardInterrupt:
            others(raised)

    _current, sys.unraisablehook = interrupt, unless_ours
    try:
        with _watched(interrupt):
            yield interrupt
    finally:
        interrupt.ending = True
        _current, sys.unraisablehook = None, others
        if not (last and interrupt.told):  # else what ends in pieces would still be logged
            logging.disable(level)
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if last else handler if handler is not None else signal.SIG_DFL)


@contextmanager
def interruptible(raising: Callable[[], object]) -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt in the body, after what is `held`. Nothing leaves the process, which is a
    notebook's or another's program, and SIGTERM is theirs. raising: what is done before that.

    Handlers belong to the main thread: in another one, and inside `noticed`, nothing is changed.
    """
    global _current
    if _current is not None or threading.current_thread() is not threading.main_thread():
        yield
        return
    _current = interrupt = Interrupt(raising=raising)
    before, level = signal.signal(signal.SIGINT, interrupt.handle), logging.root.manager.disable
    try:
        yield
    finally:
        interrupt.ending, _current = True, None
        logging.disable(level)
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)


def done() -> None:
    """The command did what it was asked to, and a release is public: from here on signals do not change what it says or
    its exit code.
    """
    if _current is not None:
        _current.ending = True


def raise_if_interrupted() -> None:
    """Raises KeyboardInterrupt if a signal came that the command does not end by: what is raised inside a finalizer, or
    inside another's callback, is lost.
    """
    interrupt = _current
    if interrupt is not None and interrupt.received is not None and not (interrupt.ending or interrupt.holding):
        raise KeyboardInterrupt


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """A signal in the body is raised after it, however long it takes; a second one at once."""
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
    """Leaves the process if a signal does not end it in time: compiled code does not come back to Python, a call of the
    JVM waits for an answer, an executor's end is awaited.

    Python runs handlers between its own instructions only; the number of a signal is written to a socket at once.
    Kernels let other threads run meanwhile (`kernels.kernel`).
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
    """Ends the process here and now."""
    interrupt.tell()
    for action in reversed(_abandoning):
        run_with_timeout(action, 0.5)
    os._exit(code)


def run_with_timeout(action: Callable[[], object], seconds: float = 5.0) -> None:
    """Does something in a thread of its own, not longer than so many seconds, and forgets what goes wrong.

    A connection to the JVM belongs to a thread, and that of an interrupted call is of no use any more. While a process
    ends, Python 3.12 and later start no thread; then it is done here.
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
