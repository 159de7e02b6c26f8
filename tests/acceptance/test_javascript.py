"""The AWS SDK for JavaScript, as npm installs it; its own assertions are in `js/`."""

import re
from pathlib import Path

from dovemq.testing.local_server import LocalServer
from tests.acceptance.programs import HERE, clean_environment, missing, program, run

SCRIPT = HERE / "js" / "sqs.test.mjs"


def test_javascript_sdk_passes_its_tests_with_digest_checks_on(
    server: LocalServer, tmp_path: Path
) -> None:
    node = program("node")
    if not (SCRIPT.parent / "node_modules" / "@aws-sdk" / "client-sqs").exists():
        missing("the JavaScript SDK is not installed: run make setup")
    env = clean_environment(tmp_path, **server.env)
    report = run([node, "--test", "--test-reporter=tap", SCRIPT], env=env)
    written = len(re.findall(r"^test\(", SCRIPT.read_text(), re.MULTILINE))
    assert f"# pass {written}\n" in report
    assert "# fail 0\n" in report
    assert "# skipped 0\n" in report
