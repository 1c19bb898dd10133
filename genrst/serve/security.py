"""Who may ask: hosts, origins and keys are checked before anything is read, and every answer has careful headers.

A page elsewhere must not reach a service on this machine through the browser of whoever reads it. It may try by a name
of its own that leads here (DNS rebinding), so a host must be an address, localhost or a name that was allowed. It may
try by a request across sites, so an origin must be the host itself, and bodies must be JSON, which no form can send.
"""

import hmac
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

OPEN_PATHS = ("/", "/docs", "/health", "/openapi.json")
"""What needs no key: nothing of any client's is there."""

POLICY = "Content-Security-Policy"

BODILESS = ("GET", "HEAD", "OPTIONS")
"""Methods whose requests have no body."""

HEADERS = {
    "Cache-Control": "no-store",
    POLICY: "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Of every answer: nothing in it may be run, framed, kept or guessed at. The page brings a policy of its own."""


@dataclass(frozen=True, slots=True)
class Access:
    """Names by which the service may be called besides localhost, and the key that clients must have."""

    hosts: tuple[str, ...] = ()
    key: str | None = None


@dataclass(frozen=True, slots=True)
class _Refusal:
    status: int
    message: str
    header: tuple[str, str] | None = None


class Guard:
    """The middleware that lets in only what is allowed."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_carefully(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update({**HEADERS, **{name: headers[name] for name in (POLICY,) if name in headers}})
            await send(message)

        if refusal := self._check(scope["method"], scope["path"], Headers(scope=scope)):
            headers = dict([refusal.header]) if refusal.header else None
            await JSONResponse({"error": refusal.message}, refusal.status, headers)(scope, receive, send_carefully)
        else:
            await self._app(scope, receive, send_carefully)

    def _check(self, method: str, path: str, headers: Headers) -> _Refusal | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not is_host_allowed(hosts[0], self._access.hosts):
            return _Refusal(421, "the host must be an address, localhost or a name given by --allow-host")
        if not _is_same_site(headers, hosts[0]):
            return _Refusal(403, "a request must not come from a page of another site")
        if self._access.key is not None and path not in OPEN_PATHS and not self._has_key(headers):
            rule = "a request must have the key of the service: Authorization: Bearer KEY"
            return _Refusal(401, rule, ("WWW-Authenticate", "Bearer"))
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if method not in BODILESS and kind != "application/json":
            return _Refusal(415, "the Content-Type must be application/json")
        return None

    def _has_key(self, headers: Headers) -> bool:
        kind, _, key = headers.get("authorization", "").partition(" ")
        given, wanted = key.strip().encode("latin-1"), (self._access.key or "").encode("utf-8")
        return kind.lower() == "bearer" and hmac.compare_digest(given, wanted)


def is_host_allowed(host: str, names: Sequence[str]) -> bool:
    """Whether a Host header is an address, localhost or one of these names; the port does not matter."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        _ = urlsplit(f"//{host}").port
    except ValueError:
        return False
    return name in ("localhost", *(allowed.lower() for allowed in names)) or is_address(name)


def is_address(name: str) -> bool:
    """Whether this is an address, and no name that leads to one."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine can reach this host."""
    return host == "localhost" or (is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_same_site(headers: Headers, host: str) -> bool:
    origins = headers.getlist("origin")
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return False
    return all(origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}") for origin in origins)
