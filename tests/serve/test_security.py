"""Access control: hosts, origins, keys."""

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from genrst.serve.middleware import HEADERS, Access, AccessControl, is_host_allowed, is_loopback

KEY = "correct-horse-battery"
PATHS = ("/health", "/docs", "/x")


def visit(path: str, access: Access, method: str = "GET", **headers: str) -> int:
    """The status of an answer."""
    routes = [Route(one, lambda request: PlainTextResponse("ok"), methods=["GET", "POST"]) for one in PATHS]
    app = AccessControl(Starlette(routes=routes), access)
    named = {name.replace("_", "-"): value for name, value in {"host": "127.0.0.1:8000", **headers}.items()}
    answer = TestClient(app, raise_server_exceptions=False).request(method, path, headers=named)
    assert all(answer.headers[name] == value for name, value in HEADERS.items())
    return answer.status_code


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8000", "localhost", "LOCALHOST:80", "[::1]:8000", "10.0.0.7", "rst.example.org:80"]
)
def test_hosts_that_are_allowed(host: str):
    assert is_host_allowed(host, ["RST.example.org"])


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "[::1",
        "a:b",
        "0x7f.1",
    ],
)
def test_hosts_that_lead_here_by_another_name(host: str):
    assert not is_host_allowed(host, ["rst.example.org"])
    assert visit("/health", Access(("rst.example.org",)), host=host) in (400, 421)


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8000", "https://127.0.0.1:8000"])
def test_the_page_of_the_service_may_ask(origin: str):
    assert visit("/x", Access(), origin=origin, sec_fetch_site="same-origin") == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9000"},
        {"origin": "http://127.0.0.1:8000.evil.example"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
)
def test_pages_of_other_sites_may_not(headers: dict[str, str]):
    assert visit("/x", Access(), **headers) == 403
    assert visit("/x", Access(), "POST", content_type="application/json", **headers) == 403


VISIT = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}


def test_links_on_other_sites_lead_to_pages_only():
    assert visit("/docs", Access(), **VISIT) == 200
    assert visit("/x", Access(), **VISIT) == 403
    assert visit("/docs", Access(), "POST", content_type="application/json", **VISIT) == 403
    for other in ({"sec_fetch_dest": "iframe"}, {"sec_fetch_mode": "no-cors"}, {"origin": "http://evil.example"}):
        assert visit("/docs", Access(), **{**VISIT, **other}) == 403
    assert visit("/docs", Access(), **{**VISIT, "host": "evil.example"}) == 421


@pytest.mark.parametrize("method", ["TRACE", "DELETE", "OPTIONS"])
def test_methods_that_are_not_there(method: str):
    assert visit("/x", Access(), method) == 405
    assert visit("/y", Access(), method) == 404


def test_head_has_the_status_of_get():
    assert visit("/x", Access(), "HEAD") == 200
    assert visit("/x", Access(key=KEY), "HEAD") == 401


def test_a_form_cannot_ask():
    assert visit("/x", Access(), "POST") == 415
    assert visit("/x", Access(), "POST", content_type="text/plain") == 415
    assert visit("/x", Access(), "POST", content_type="Application/JSON; charset=utf-8") == 200


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (f"Bearer {KEY}", 200),
        (f"bearer {KEY}", 200),
        ("", 401),
        (KEY, 401),
        (f"Basic {KEY}", 401),
        (f"Bearer {KEY}s", 401),
        (f"Bearer {KEY[:-1]}", 401),
        ("Bearer ", 401),
    ],
)
def test_keys(header: str, status: int):
    assert visit("/x", Access(key=KEY), authorization=header) == status
    assert visit("/health", Access(key=KEY), authorization=header) == 200


def test_what_only_this_machine_can_reach():
    assert all(map(is_loopback, ["127.0.0.1", "::1", "localhost", "127.3.2.1"]))
    assert not any(map(is_loopback, ["0.0.0.0", "::", "10.0.0.7", "example.org", ""]))
