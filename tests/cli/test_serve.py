"""The verb `serve`: what it refuses before it loads a model, and the whole of it, from start to shutdown."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.cli.program import call


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--host 0.0.0.0", "--host must be an address of this machine only, unless there is a key"),
        ("--host example.org", "was: example.org"),
        ("--max-edus 0", "--max-edus must be more than 0, was: 0"),
        ("--max-wait -1", "--max-wait must be more than 0, was: -1.0"),
        ("--port 70000", "--port must be 0 to 65535, was: 70000"),
        ("--host 0.0.0.0 --api-key-file short", "a key must have 16 or more letters"),
        ("--api-key-file missing", "missing: No such file or directory"),
        ("--model missing", "a model must be installed"),
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


@pytest.mark.slow
def test_from_start_to_shutdown(tiny: Path):
    """A request that is being answered when the service is told to stop gets its answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "genrst.cli.main",
        "serve",
        "--model",
        str(tiny),
        "--device",
        "cpu",
        "--port",
        str(port),
    ]
    key = "0123456789abcdef"
    environment = {**os.environ, "GENRST_API_KEY": key, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as service:
        assert service.stderr is not None
        lines = []
        for line in service.stderr:
            lines.append(line)
            if "running" in line:
                break
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
            url = f"http://127.0.0.1:{port}/health"
            while json.load(urlopen(Request(url)))["status"] != "ok":
                time.sleep(0.01)
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
