"""The end of what a worker prints, however much it prints."""

from __future__ import annotations

import os
import select
import threading

KEPT_BYTES = 64 << 10

_POLL_MILLISECONDS = 200
_LAST_READS = 64


class LogTail:
    """Drains a pipe in a thread of its own, so that the writer never waits; keeps the tail."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._kept = bytearray()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._drain, name="log tail", daemon=True)
        self._thread.start()

    def text(self) -> str:
        """All that is kept."""
        return bytes(self._kept).decode("utf-8", "replace")

    def stop(self) -> None:
        """Read what is still in the pipe, then close it; harmless when repeated."""
        self._stopping.set()
        self._thread.join()

    def _drain(self) -> None:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        left = _LAST_READS
        try:
            # A grandchild may hold the other end, or even write to it, for ever: neither the
            # end of file nor silence is awaited once the worker is gone.
            while left:
                stopping = self._stopping.is_set()
                left -= stopping
                ready = poll.poll(0 if stopping else _POLL_MILLISECONDS)
                if (ready and not self._read()) or (stopping and not ready):
                    return
        finally:
            os.close(self._fd)

    def _read(self) -> bool:
        data = os.read(self._fd, KEPT_BYTES)
        self._kept += data
        del self._kept[:-KEPT_BYTES]
        return bool(data)
