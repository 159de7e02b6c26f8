"""A server with its console as a test sees it: requests of root, and pages of a browser."""

import base64
import json
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Browser, BrowserContext, Page, expect

from dovemq.testing.local_server import LocalServer

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
PASSWORD = "correct horse battery"
WAIT_MS_MAX = 120_000
"""Far longer than any page takes."""
SENT_MAX = 100
expect.set_options(timeout=WAIT_MS_MAX)


class Site:
    def __init__(self, server: LocalServer, browser: Browser) -> None:
        self.server = server
        self.browser = browser
        self.url = server.admin_url
        self.account = server.access_key.account

    def admin(self, method: str, path: str, body: Any = None) -> Any:
        key = self.server.access_key
        basic = base64.b64encode(f"{key.key_id}:{key.secret}".encode()).decode()
        headers = {"Authorization": f"Basic {basic}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        if data is None:
            del headers["Content-Type"]
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def path(self, queue: str, rest: str = "") -> str:
        return f"/v1/queues/{self.account}/{quote(queue)}{rest}"

    def queue(self, name: str, **attributes: str) -> str:
        """Makes a queue that has no messages, with these attributes."""
        self.admin("PUT", self.path(name), {})
        if attributes:
            self.admin("PATCH", self.path(name), {"attributes": attributes})
        self.admin("DELETE", self.path(name, "/messages"))
        return name

    def send(self, queue: str, *messages: Any) -> None:
        drafts = [each if isinstance(each, dict) else {"body": each} for each in messages]
        for first in range(0, len(drafts), SENT_MAX):
            some = drafts[first : first + SENT_MAX]
            self.admin("POST", self.path(queue, "/messages"), {"messages": some})

    def messages(self, queue: str) -> list[Any]:
        found: list[Any] = self.admin("GET", self.path(queue, "/messages?limit=1000"))["messages"]
        return found

    def bodies(self, queue: str) -> list[str]:
        return [each["body"] for each in self.messages(queue)]

    def dead_letters(self, count: int) -> tuple[str, str]:
        """A queue, and its dead-letter queue with so many of its messages."""
        dead = self.queue("orders-dead")
        arn = f"arn:aws:sqs:{self.server.region}:{self.account}:{dead}"
        policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
        orders = self.queue("orders", RedrivePolicy=policy)
        self.send(dead, *(f"letter {number}" for number in range(count)))
        return orders, dead

    def member(self, name: str, role: str | None) -> str:
        """An account that can log in."""
        accounts = self.admin("GET", "/v1/accounts?limit=1000")["accounts"]
        if all(each["name"] != name for each in accounts):
            self.admin("POST", "/v1/accounts", {"name": name, "role": role})
        self.admin("PUT", f"/v1/accounts/{name}/password", {"password": PASSWORD})
        return name

    def log_in(self, page: Page, account: str = "root", password: str = PASSWORD) -> None:
        page.goto(self.url + "/console/")
        page.get_by_label("Account").fill(account)
        page.get_by_label("Password").fill(password)
        page.get_by_role("button", name="Log in").click()
        if password == PASSWORD:
            expect(page.get_by_role("heading", name="Overview")).to_be_visible()

    def open(self, page: Page, *parts: str) -> None:
        """Shows a part of the console to a page that is logged in."""
        page.goto(f"{self.url}/console/#/" + "/".join(quote(part) for part in parts))

    def open_queue(self, page: Page, name: str, *tab: str) -> None:
        self.open(page, "queues", self.account, name, *tab)


def problems_of(context: BrowserContext) -> list[str]:
    """The complaints of the pages of a context, from now on."""
    found: list[str] = []
    context.on("weberror", lambda error: found.append(str(error.error)))

    def said(message: Any) -> None:
        refused = message.text.startswith("Failed to load resource")
        if message.type in ("error", "warning") and not refused:
            found.append(message.text)

    context.on("console", said)
    context.on("dialog", lambda dialog: found.append(f"dialog {dialog.message}"))
    context.on(
        "request",
        lambda request: found.append(request.url) if _is_outside(request.url) else None,
    )
    return found


def _is_outside(url: str, inside: Sequence[str] = ("http://127.0.0.1:", "blob:", "data:")) -> bool:
    return not url.startswith(tuple(inside))
