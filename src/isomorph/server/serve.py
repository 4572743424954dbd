"""The loopback server behind ``isomorph view``."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from isomorph.core.error_of import error_of
from isomorph.core.errors import UsageError
from isomorph.core.lazy import require

if TYPE_CHECKING:
    from isomorph.server.report_store import ReportStore

ADDRESS = "127.0.0.1"


def serve(store: ReportStore, *, port: int, ready: Callable[[str], None]) -> None:
    """Serve on the loopback until interrupted; ``ready`` gets the address with its token.

    The token is in the fragment of the URL, which browsers do not send: no log contains it.
    """
    uvicorn = require("uvicorn", extra="view", needed_for="isomorph view")
    from isomorph.server.app import application

    token = secrets.token_urlsafe(24)
    app = application(store, token)
    with _listening(port) as listener:
        config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off")
        ready(f"http://{ADDRESS}:{listener.getsockname()[1]}/#token={token}")
        uvicorn.Server(config).run(sockets=[listener])


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((ADDRESS, port))
        listener.listen()  # connections made before the server is ready wait in the queue
    except OSError as error:
        listener.close()
        raise error_of(
            UsageError, "PORT_IN_USE.listen", port=port, error=str(error.strerror)
        ) from error
    return listener
