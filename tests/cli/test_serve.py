"""The verb `serve`: what it refuses before it loads a model, and the whole of it, from start to shutdown."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from genrst.cli.main import main
from genrst.serve.queues import client_of
from tests.cli.program import call


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--host 0.0.0.0", "--host 0.0.0.0: an API key is required to serve other machines"),
        ("--host example.org", "--host example.org: an API key is required"),
        ("--max-edus 0", "--max-edus must be greater than 0, got 0"),
        ("--max-wait -1", "--max-wait must be greater than 0, got -1.0"),
        ("--max-seconds 0", "--max-seconds must be greater than 0, got 0.0"),
        ("--port 70000", "--port must be between 0 and 65535, got 70000"),
        ("--host 0.0.0.0 --api-key-file short", "the API key must be at least 16 printable ASCII characters"),
        ("--api-key-file missing", "missing: No such file or directory"),
        ("--port 0 --model missing", "no model or folder named"),
    ],
)
def test_what_is_refused(
    arguments: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GENRST_API_KEY", raising=False)
    (tmp_path / "short").write_text("secret\n")
    outcome = call(capsys, "serve", *arguments.split())
    assert outcome.status in (1, 2)
    assert message in outcome.errors[0]
    assert "secret" not in outcome.errors[0]


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        outcome = call(capsys, "serve", "--port", str(port))
    message = f"genrst: cannot listen on 127.0.0.1:{port}: Address already in use"
    assert (outcome.status, outcome.messages) == (2, [message])


@pytest.mark.parametrize(("options", "client"), [("--proxy 10.0.0.1", "10.9.9.9"), ("", "10.0.0.1")])
def test_clients_behind_a_proxy(options: str, client: str, monkeypatch: pytest.MonkeyPatch):
    configs: list[uvicorn.Config] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse(client_of(Request(scope)))(scope, receive, send)

    monkeypatch.setattr("genrst.cli.verbs.serve._load", lambda arguments: [])
    monkeypatch.setattr("genrst.serve.app.make_app", lambda *others: app)
    monkeypatch.setattr(uvicorn.Server, "run", lambda server, sockets: configs.append(server.config))
    assert main(["serve", "--port", "0", *options.split()]) == 0
    configs[0].load()
    answer = TestClient(configs[0].loaded_app, client=("10.0.0.1", 5)).get("/", headers={"X-Forwarded-For": "10.9.9.9"})
    assert answer.text == client


@pytest.mark.slow
def test_from_start_to_shutdown(tiny: Path):
    """A request that is being answered when the service is told to stop gets its answer."""
    program = [sys.executable, "-m", "genrst.cli.main", "serve"]
    command = [*program, "--model", str(tiny), "--device", "cpu", "--port", "0"]
    key = "0123456789abcdef"
    environment = {**os.environ, "GENRST_API_KEY": key, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as service:
        assert service.stderr is not None
        lines = [service.stderr.readline()]
        port = int(lines[0].rpartition(":")[2])
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        body = json.dumps({"edus": ["It rained,", "the ferry stopped."] * 30}).encode()
        raw = f"POST /v1/parse HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
        raw += "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
        with (
            socket.create_connection(("127.0.0.1", port)) as client,
            socket.create_connection(("127.0.0.1", port)) as gone,
        ):
            gone.sendall(raw.encode() + body[:20])
            gone.close()
            client.sendall(raw.encode() + body)
            # What was sent before has been read when this is answered.
            with urlopen(f"http://127.0.0.1:{port}/health") as health:
                assert json.load(health)["status"] == "ok"
            service.send_signal(signal.SIGTERM)
            answer = b""
            while part := client.recv(65536):
                answer += part
        lines += service.stderr.readlines()
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b'"tree": {"relation"' in answer
    assert service.returncode in (0, -signal.SIGTERM)
    logged = [json.loads(line) for line in lines if line.startswith("{")]
    assert ("/v1/parse", 200) in {(line.get("path"), line.get("status")) for line in logged}
    assert not any("ferry" in line or key in line or "Traceback" in line for line in lines)
