"""Length-prefixed JSON messages on a pair of file descriptors of their own.

Not standard input and output: frameworks print there. Both ends use ``Channel``; only the
parent gives deadlines and looks around while it waits.
"""

from __future__ import annotations

import json
import os
import select
import struct
import time
from collections.abc import Callable
from typing import Any

from isomorph.core.untrusted_json import read_json

_LENGTH = struct.Struct("<Q")
_READ_BYTES = 1 << 20

MESSAGE_BYTES = 1 << 30
"""No honest message is longer: tensors travel beside the channel."""

Message = dict[str, Any]
Watch = Callable[[], None]
"""Called while waiting, a few times a second; ends the wait by raising."""

WATCH_SECONDS = 0.1


class ChannelClosedError(Exception):
    """The other end is gone, or sent a message that is not valid."""


class DeadlineError(Exception):
    """The other end did not answer in time."""


class Channel:
    """One end of a conversation. Not for two threads at once."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read, self._write = read_fd, write_fd
        self._buffer = bytearray()
        for fd in (read_fd, write_fd):
            os.set_blocking(fd, False)

    def send(
        self, message: Message, *, deadline: float | None = None, watch: Watch | None = None
    ) -> None:
        """Hand the message over; ``deadline`` is a time of ``time.monotonic``."""
        body = json.dumps(message, allow_nan=False).encode("ascii")
        data = memoryview(_LENGTH.pack(len(body)) + body)
        while data:
            _wait(self._write, select.POLLOUT, deadline, watch)
            try:
                data = data[os.write(self._write, data) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise ChannelClosedError(str(error)) from error

    def receive(self, *, deadline: float | None = None, watch: Watch | None = None) -> Message:
        """The next message."""
        (length,) = _LENGTH.unpack(self._take(_LENGTH.size, deadline, watch))
        if length > MESSAGE_BYTES:
            raise ChannelClosedError(f"a message of {length} bytes was announced")
        body = self._take(length, deadline, watch)
        try:
            message = read_json(body)
        except (ValueError, RecursionError) as error:
            raise ChannelClosedError("a message was no JSON") from error
        if not isinstance(message, dict):
            raise ChannelClosedError("a message was no object")
        return message

    def _take(self, count: int, deadline: float | None, watch: Watch | None) -> bytes:
        while len(self._buffer) < count:
            _wait(self._read, select.POLLIN, deadline, watch)
            try:
                data = os.read(self._read, _READ_BYTES)
            except BlockingIOError:
                continue
            except OSError as error:
                raise ChannelClosedError(str(error)) from error
            if not data:
                raise ChannelClosedError("end of file")
            self._buffer += data
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def close(self) -> None:
        """Give both descriptors back; harmless when repeated."""
        for fd in {self._read, self._write} - {-1}:
            os.close(fd)
        self._read = self._write = -1


def _wait(fd: int, event: int, deadline: float | None, watch: Watch | None) -> None:
    """Until ``fd`` is ready, past its deadline, or ``watch`` has seen enough."""
    poll = select.poll()
    poll.register(fd, event)
    while True:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise DeadlineError
        if watch is None:
            pause = left
        else:
            pause = WATCH_SECONDS if left is None else min(left, WATCH_SECONDS)
        if poll.poll(None if pause is None else pause * 1000.0):
            return
        if watch is not None:
            watch()
