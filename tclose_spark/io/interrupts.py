"""Ctrl-C (SIGINT) and a scheduler's SIGTERM: they end a command with one line and 130 or 143, whatever it is doing."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
MESSAGE = "interrupted; what was not finished is not public"
SHORT = "interrupted"  # of commands that publish nothing
PATIENCE = 3.0  # seconds that compiled code has to come back to Python


@dataclass(kw_only=True)
class Interrupt:
    """What was received, if anything.

    message: what is told then.
    """

    message: str = MESSAGE
    received: int | None = None
    holding: bool = False
    ending: bool = False
    handled: threading.Event = field(default_factory=threading.Event)

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
            raise KeyboardInterrupt


_current: Interrupt | None = None  # signals are the process's, and so is this


@contextmanager
def noticed(message: str = MESSAGE, last: bool = False) -> Iterator[Interrupt]:
    """Signals raise KeyboardInterrupt in the body, and the yielded Interrupt says which came, and this message.
    last: nothing follows in this process but Spark's end, which no signal is to cut short: they are ignored then.

    PySpark's own handler calls the JVM over the connection that the interrupted call is reading from, which fails with
    pages of py4j's log; and it replaces this one when a session starts: see `held`. Handlers belong to the main thread:
    in another one nothing is changed.
    """
    global _current
    interrupt = Interrupt(message=message)
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    before, level = (
        {number: signal.signal(number, interrupt.handle) for number in SIGNALS},
        logging.root.manager.disable,
    )
    _current = interrupt
    try:
        with _watched(interrupt):
            yield interrupt
    finally:
        interrupt.ending = True
        _current = None
        logging.disable(level)
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if last else handler if handler is not None else signal.SIG_DFL)


def done() -> None:
    """The command did what it was asked to, and a release is public: from here on signals do not change what it says or
    its exit code.
    """
    if _current is not None:
        _current.ending = True


def raise_again() -> None:
    """Raises KeyboardInterrupt if a signal came that the command does not end by: what is raised inside a finalizer, or
    inside another's callback, is lost.
    """
    interrupt = _current
    if interrupt is not None and interrupt.received is not None and not (interrupt.ending or interrupt.holding):
        raise KeyboardInterrupt


@contextmanager
def held() -> Iterator[None]:
    """A signal in the body is raised after it (a second one at once), and handlers that the body sets are put back.

    For the start of a JVM: one whose launcher is interrupted never ends, since it finds no place to write its port to.
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
        for number in SIGNALS:
            signal.signal(number, interrupt.handle)
    if interrupt.received is not None and not interrupt.ending:
        raise KeyboardInterrupt


@contextmanager
def _watched(interrupt: Interrupt) -> Iterator[None]:
    """Ends the process if compiled code keeps a signal from the main thread for too long.

    Python runs handlers between its own instructions only; the number of a signal is written to a socket at once.
    Kernels let other threads run meanwhile (`kernels.kernel`).
    """
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)

    def watch() -> None:
        while number := ours.recv(1):
            if number[0] in SIGNALS and not interrupt.handled.wait(PATIENCE):
                os.write(2, f"{interrupt.message}\n".encode())
                os._exit(128 + number[0])

    watcher = threading.Thread(target=watch, daemon=True)
    before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    watcher.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        theirs.close()
        watcher.join()
        ours.close()


def apart(action: Callable[[], object], seconds: float = 5.0) -> None:
    """Does something in a thread of its own, not longer than so many seconds, and forgets what goes wrong.

    A connection to the JVM belongs to a thread, and that of an interrupted call is of no use any more.
    """

    def quietly() -> None:
        try:
            action()
        except Exception:
            return

    thread = threading.Thread(target=quietly, daemon=True)
    thread.start()
    thread.join(seconds)
