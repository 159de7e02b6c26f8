"""Real clients over TLS: directly, through a proxy that ends it, and while the pair changes."""

import contextlib
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import SSLError

from dovemq.cli import main
from dovemq.testing.local_server import LocalServer, StartFailed
from tests.acceptance.documents import blocks
from tests.acceptance.programs import clean_environment, program, run
from tests.acceptance.proxy import TlsProxy
from tests.server.secured import Pair

RENEWAL_SECONDS_MAX = 60


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


@pytest.fixture
def bundle(pair: Pair, tmp_path: Path) -> Path:
    path = tmp_path / "authority.pem"
    path.write_bytes(pair.authority.cert_pem.bytes())
    return path


def tls_args(pair: Pair) -> list[str]:
    return ["--tls-certificate", str(pair.certificate), "--tls-key", str(pair.key)]


@pytest.fixture
def server(pair: Pair, tmp_path: Path) -> Iterator[LocalServer]:
    args = ["--store", "memory://", *tls_args(pair)]
    with LocalServer(tmp_path / "data", args=args) as running:
        yield running


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No server is known from outside the test."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "DOVEMQ_")):
            monkeypatch.delenv(name)


@contextlib.contextmanager
def sqs_of(server: LocalServer, **options: Any) -> Iterator[Any]:
    config = Config(retries={"total_max_attempts": 1})
    client = boto3.client("sqs", config=config, **{**server.boto3_kwargs, **options})
    try:
        yield client
    finally:
        client.close()


def serial(server: LocalServer, pair: Pair) -> str:
    port = int(server.endpoint_url.rpartition(":")[2])
    with (
        socket.create_connection(("127.0.0.1", port)) as tcp,
        pair.trust().wrap_socket(tcp, server_hostname="127.0.0.1") as secured,
    ):
        found = secured.getpeercert()
        assert found is not None
        return str(found["serialNumber"])


def renewed(server: LocalServer, pair: Pair, before: str) -> str:
    """The serial number once it is another."""
    until = time.monotonic() + RENEWAL_SECONDS_MAX
    while (found := serial(server, pair)) == before and time.monotonic() < until:
        time.sleep(0.05)
    return found


def test_boto3_talks_over_tls_and_gets_https_urls(server: LocalServer, bundle: Path) -> None:
    assert server.endpoint_url.startswith("https://")
    with sqs_of(server, verify=str(bundle)) as sqs:
        url = sqs.create_queue(QueueName="jobs")["QueueUrl"]
        assert url.startswith(server.endpoint_url + "/")
        sqs.send_message(QueueUrl=url, MessageBody="a" * 1_000_000)
        [message] = sqs.receive_message(QueueUrl=url)["Messages"]
        assert len(message["Body"]) == 1_000_000
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def test_boto3_refuses_a_certificate_that_nobody_vouches_for(server: LocalServer) -> None:
    with sqs_of(server) as sqs, pytest.raises(SSLError):
        sqs.list_queues()


def test_command_checks_certificates(
    alone: None,
    server: LocalServer,
    bundle: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in server.env.items():
        monkeypatch.setenv(name, value)
    assert main(["queue", "list"]) == 1
    assert "--ca-bundle" in capsys.readouterr().err
    assert main(["queue", "create", "jobs", "--ca-bundle", str(bundle)]) == 0
    monkeypatch.setenv("AWS_CA_BUNDLE", str(bundle))
    capsys.readouterr()
    assert main(["queue", "list", "--json"]) == 0
    assert "jobs" in capsys.readouterr().out
    assert main(["doctor", "--json"]) == 0


def test_command_without_tls_is_answered_with_a_hint(
    alone: None,
    server: LocalServer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    port = server.endpoint_url.rpartition(":")[2]
    assert main(["send", "jobs", "tea", "--data", str(server.data), "--port", port]) == 1
    assert "https://" in capsys.readouterr().err


def test_move_trusts_each_side_by_itself(
    alone: None, server: LocalServer, bundle: Path, tmp_path: Path
) -> None:
    sides = ["--from-data", str(tmp_path / "clear"), "--to-data", str(server.data)]
    args = ["--store", "memory://"]
    with (
        LocalServer(tmp_path / "clear", args=args) as clear,
        sqs_of(clear) as source,
        sqs_of(server, verify=str(bundle)) as target,
    ):
        urls = [sqs.create_queue(QueueName="jobs")["QueueUrl"] for sqs in (source, target)]
        source.send_message(QueueUrl=urls[0], MessageBody="tea")
        assert main(["move", *urls, *sides]) == 1
        assert main(["move", *urls, *sides, "--to-ca-bundle", str(bundle)]) == 0
        assert target.receive_message(QueueUrl=urls[1])["Messages"][0]["Body"] == "tea"


def test_env_finds_the_scheme_of_a_running_server(
    alone: None, server: LocalServer, bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["env", "--json", "--data", str(server.data), "--ca-bundle", str(bundle)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    exported = json.loads(printed.out)["export"]
    assert exported["AWS_ENDPOINT_URL_SQS"] == server.endpoint_url
    assert exported["AWS_CA_BUNDLE"] == str(bundle)
    lister = "import boto3; print(boto3.client('sqs').list_queues())"
    environment = {**os.environ, **exported}
    subprocess.run([sys.executable, "-c", lister], check=True, env=environment)


def test_changed_pair_is_taken_up_by_itself(server: LocalServer, pair: Pair) -> None:
    before = serial(server, pair)
    pair.renew()
    assert renewed(server, pair, before) != before


def test_changed_pair_is_taken_up_on_hangup_and_open_connections_go_on(
    server: LocalServer, pair: Pair, bundle: Path
) -> None:
    with sqs_of(server, verify=str(bundle)) as sqs:
        sqs.list_queues()
        before = serial(server, pair)
        pair.renew()
        server.signal(signal.SIGHUP)
        assert renewed(server, pair, before) != before
        sqs.list_queues()


def test_broken_pair_keeps_the_server_going(server: LocalServer, pair: Pair) -> None:
    before = serial(server, pair)
    pair.key.write_text("no key")
    server.signal(signal.SIGHUP)
    until = time.monotonic() + RENEWAL_SECONDS_MAX
    while "previous certificate" not in server.log_tail() and time.monotonic() < until:
        time.sleep(0.05)
    assert "previous certificate" in server.log_tail()
    assert serial(server, pair) == before


def test_pair_that_cannot_be_used_keeps_the_server_from_starting(
    pair: Pair, tmp_path: Path
) -> None:
    pair.key.write_text("no key")
    server = LocalServer(tmp_path / "data", args=["--store", "memory://", *tls_args(pair)])
    with pytest.raises(StartFailed, match=str(pair.certificate)) as failed:
        server.start()
    assert "Traceback" not in str(failed.value)


def test_signature_holds_through_a_proxy_that_rewrites_the_host(
    pair: Pair, bundle: Path, tmp_path: Path
) -> None:
    args = ["--store", "memory://", "--trusted-proxies", "127.0.0.1"]
    with LocalServer(tmp_path / "data", args=args) as server:
        inner = int(server.endpoint_url.rpartition(":")[2])
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(pair.certificate, pair.key)
        with TlsProxy(inner, context) as proxy:
            outer = f"https://localhost:{proxy.port}"
            with sqs_of(server, endpoint_url=outer, verify=str(bundle)) as sqs:
                url = sqs.create_queue(QueueName="jobs")["QueueUrl"]
                assert url == f"{outer}/000000000000/jobs"
                sqs.send_message(QueueUrl=url, MessageBody="tea")
                assert len(sqs.receive_message(QueueUrl=url)["Messages"]) == 1


def test_tls_is_set_up_as_written(tmp_path: Path) -> None:
    program("openssl")
    making, serving, using = (text for _, text in blocks("docs/how-to/tls-and-proxies.md")[:3])
    shell = ["bash", "-euo", "pipefail", "-c"]
    run([*shell, making], env=clean_environment(tmp_path), cwd=tmp_path)
    command, *args = serving.split()[1:]
    assert (command, args[::2]) == ("serve", ["--tls-certificate", "--tls-key"])
    files = [str(tmp_path / name) for name in args[1::2]]
    given = [args[0], files[0], args[2], files[1]]
    with LocalServer(tmp_path / "data", args=["--store", "memory://", *given]) as server:
        port = server.endpoint_url.rpartition(":")[2]
        env = clean_environment(tmp_path, DOVEMQ_DATA=str(server.data))
        env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"
        output = run([*shell, using.replace("9324", port)], env=env, cwd=tmp_path)
    assert f"https://localhost:{port}/000000000000/jobs" in output
