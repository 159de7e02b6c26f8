"""Keys, quotas in use and the explanation of policies on the pages of accounts."""

import json

from playwright.sync_api import Page, expect

from tests.console.site import Site

DAY_MS = 86_400_000


def test_key_that_expires_is_made_rotated_and_disabled(site: Site, page: Page) -> None:
    name = site.member("keys", None)
    number = site.admin("GET", f"/v1/accounts/{name}")["number"]
    site.open(page, "accounts", number)
    page.get_by_role("button", name="Add a key").click()
    page.get_by_label("Valid for days (optional)").fill("10")
    page.get_by_role("button", name="Make the key").click()
    old = page.get_by_label("Key id").input_value()
    page.get_by_role("button", name="I have it").click()
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=old))
    expect(row).not_to_contain_text("never")
    row.get_by_role("button", name="Rotate").click()
    page.get_by_label("Hours until the old key expires").fill("2")
    page.get_by_role("button", name="Make a new key").click()
    new = page.get_by_label("Key id").input_value()
    assert len(page.get_by_label("Secret").input_value()) >= 32
    page.get_by_role("button", name="I have it").click()
    expect(page.get_by_role("rowheader", name=new)).to_be_visible()
    keys = site.admin("GET", f"/v1/accounts/{name}")["credentials"]
    ends = {key["key_id"]: key["expires_ms"] for key in keys}
    created = {key["key_id"]: key["created_ms"] for key in keys}
    assert ends.keys() == {old, new}
    assert ends[old] - created[new] < DAY_MS, "the old key ends after two hours"
    row.get_by_role("button", name="Disable").click()
    expect(row).to_contain_text("disabled")


def test_quotas_in_use_are_shown_to_admins_and_to_the_account(
    site: Site, page: Page, stranger: Page
) -> None:
    name = site.member("limited", None)
    site.admin("PATCH", f"/v1/accounts/{name}", {"quotas": {"queues_max": 4}})
    number = site.admin("GET", f"/v1/accounts/{name}")["number"]
    site.admin("PUT", f"/v1/queues/{number}/only", {})
    site.open(page, "accounts", number)
    expect(page.get_by_role("definition").filter(has_text="1 of 4")).to_be_visible()
    expect(page.get_by_role("progressbar", name="Queues in use")).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    site.log_in(stranger, name)
    stranger.get_by_role("link", name="limited · no role").click()
    expect(stranger.get_by_role("heading", name="My account")).to_be_visible()
    expect(stranger.get_by_role("definition").filter(has_text="1 of 4")).to_be_visible()


def test_policy_is_explained_statement_by_statement(site: Site, page: Page) -> None:
    name = site.member("friend", None)
    number = site.admin("GET", f"/v1/accounts/{name}")["number"]
    statement = {
        "Sid": "near",
        "Effect": "Allow",
        "Principal": {"AWS": number},
        "Action": "sqs:SendMessage",
        "Resource": "*",
        "Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}},
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": statement})
    site.queue("shared", Policy=policy)
    site.open(page, "accounts", number)
    page.get_by_label("Queue", exact=True).fill(f"{site.account}/shared")
    page.get_by_role("button", name="Explain").click()
    answer = page.get_by_role("status").filter(has_text="SendMessage on")
    expect(answer).to_contain_text("denied")
    page.get_by_label("Address of the client").fill("10.1.1.1")
    page.get_by_role("button", name="Explain").click()
    expect(answer).to_contain_text("allowed")
    expect(answer).to_contain_text("Statement: near")
    expect(answer.get_by_role("listitem")).to_have_text(["SendMessage: near allows it"])
    page.get_by_label("Address of the client").fill("nowhere")
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_text("address must be an IP address.")).to_be_visible()
