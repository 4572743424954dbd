"""The web application: the page without authentication, reports with the token."""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from isomorph.core.lazy import require
from isomorph.core.messages import message
from isomorph.web import page

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from isomorph.server.report_store import ReportStore

HOSTS = ("127.0.0.1", "localhost")
"""Other names that resolve to this machine are refused, against DNS rebinding."""

_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def application(store: ReportStore, token: str) -> Starlette:
    """The application that shows the reports of one store."""
    require("starlette", extra="view", needed_for="isomorph view")
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.responses import Response
    from starlette.routing import Route

    def respond(data: Any) -> Response:  # noqa: ANN401
        if data is None:
            return Response(message("REPORT.no_page"), 404, _HEADERS, media_type="text/plain")
        return Response(json.dumps(data), 200, _HEADERS, media_type="application/json")

    def with_token(find: Callable[[str], Any]) -> Callable[[Request], Awaitable[Response]]:
        async def handle(request: Request) -> Response:
            given = request.headers.get("authorization", "")
            if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
                return Response(message("REPORT.no_token"), 403, _HEADERS)
            return respond(find(request.path_params.get("id", "")))

        return handle

    async def front(_request: Request) -> Response:
        return Response(_front_page(), 200, _HEADERS, media_type="text/html")

    return Starlette(
        routes=[
            Route("/", front),
            Route("/reports", with_token(lambda _: store.listed())),
            Route("/reports/{id}", with_token(store.report)),
            Route("/tensors/{id}", with_token(store.tensor)),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(HOSTS))],
    )


def _front_page() -> str:
    """The page bundle without an embedded report, allowed to connect to its own origin."""
    return page('{"view":true}').replace("connect-src 'none'", "connect-src 'self'", 1)
