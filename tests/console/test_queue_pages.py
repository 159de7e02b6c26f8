"""Everything that the pages of a queue offer, on a real server."""

import json
from pathlib import Path
from typing import Any

import boto3
from playwright.sync_api import Page, expect

from tests.console.site import Site

MARKUP = "<img src=x onerror=alert(1)><script>alert(2)</script>"


def test_message_is_sent_with_attribute_group_and_delay(site: Site, page: Page) -> None:
    site.queue("orders")
    site.open_queue(page, "orders", "send")
    page.get_by_label("Body").fill("hello")
    page.get_by_label("Group (optional)").fill("tenant")
    page.get_by_label("Delay in seconds").fill("90")
    page.get_by_role("button", name="Add an attribute").click()
    page.get_by_label("Name").fill("kind")
    page.get_by_label("Value").fill("retail")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("is sent.")).to_be_visible()
    [message] = site.messages("orders")
    assert (message["body"], message["group"], message["visibility"]) == (
        "hello",
        "tenant",
        "delayed",
    )
    assert message["attributes"] == {"kind": {"type": "String", "value": "retail"}}
    site.open_queue(page, "orders", "messages")
    expect(page.get_by_text("visible in 1")).to_be_visible()


def test_refusal_of_a_send_is_shown(site: Site, page: Page) -> None:
    site.queue("orders")
    site.open_queue(page, "orders", "send")
    page.get_by_label("Body").fill("x")
    page.get_by_label("Delay in seconds").fill("99999999")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert").filter(has_text="delay")).to_be_visible()
    assert site.messages("orders") == []


def test_markup_in_bodies_and_attributes_is_text(site: Site, page: Page) -> None:
    site.queue("orders")
    attributes = {"kind": {"type": "String", "value": MARKUP}}
    site.send("orders", {"body": MARKUP, "group": "<b>", "attributes": attributes})
    site.open_queue(page, "orders", "messages")
    page.get_by_role("button", name="Details").click()
    expect(page.get_by_label("Body", exact=True)).to_have_text(MARKUP)
    expect(page.get_by_role("definition").filter(has_text="onerror")).to_have_text(MARKUP)
    assert page.locator("main img, main script, main b").count() == 0


def test_hidden_message_shows_when_it_returns_and_is_released(site: Site, page: Page) -> None:
    site.queue("orders")
    site.send("orders", "a")
    _receive(site, "orders")
    site.open_queue(page, "orders", "messages")
    expect(page.get_by_text("visible in ")).to_be_visible()
    page.get_by_role("button", name="Release message").click()
    expect(page.get_by_text("The message is visible again.")).to_be_visible()
    assert [each["visibility"] for each in site.messages("orders")] == ["visible"]


def test_single_message_is_deleted_and_search_finds_the_others(site: Site, page: Page) -> None:
    site.queue("orders")
    site.send("orders", *(f"{'red' if number % 2 else 'blue'} {number}" for number in range(6)))
    site.open_queue(page, "orders", "messages")
    page.get_by_role("button", name="Delete message").nth(1).click()
    expect(page.get_by_text("The message is deleted.")).to_be_visible()
    assert "red 1" not in site.bodies("orders")
    page.get_by_label("Search").fill("red")
    page.get_by_role("button", name="Look").click()
    expect(page.get_by_text("2 messages among 5")).to_be_visible()
    expect(page.locator("tbody td.body")).to_have_text(["red 3", "red 5"])


def test_selected_messages_are_moved_at_a_rate_until_it_is_cancelled(
    site: Site, page: Page
) -> None:
    _, dead = site.dead_letters(40)
    site.queue("repair")
    site.open_queue(page, dead, "messages")
    page.get_by_label("Select all messages").check()
    _begin_move(page, "Move selected", "repair", "1")
    page.get_by_role("button", name="Cancel the move").click()
    expect(page.get_by_text("moved: the move was cancelled")).to_be_visible()
    moved = len(site.bodies("repair"))
    assert 0 < moved < 40
    expect(page.locator("tbody td.body")).to_have_count(40 - moved)
    boxes = page.get_by_label("Select message ")
    boxes.nth(0).check()
    boxes.nth(1).check()
    _begin_move(page, "Move selected", "repair", "500")
    expect(page.get_by_text("2 moved: all that were selected")).to_be_visible()
    expect(page.locator("tbody td.body")).to_have_count(38 - moved)
    assert site.bodies("repair") == [f"letter {number}" for number in range(moved + 2)]


def test_message_that_a_consumer_holds_ends_the_move_of_selected_ones(
    site: Site, page: Page
) -> None:
    _, dead = site.dead_letters(1)
    site.queue("repair")
    _receive(site, dead)
    site.open_queue(page, dead, "messages")
    page.get_by_label("Select all messages").check()
    _begin_move(page, "Move selected", "repair", "500")
    expect(page.get_by_text("A consumer holds the message")).to_be_visible()
    expect(page.get_by_text("0 moved: Message ")).to_be_visible()
    assert site.bodies("repair") == []


def test_selected_messages_are_deleted(site: Site, page: Page) -> None:
    site.queue("orders")
    site.send("orders", "a", "b")
    site.open_queue(page, "orders", "messages")
    page.get_by_label("Select all messages").check()
    page.get_by_role("button", name="Delete selected").click()
    page.get_by_role("button", name="Delete", exact=True).last.click()
    expect(page.get_by_text("0 messages, at")).to_be_visible()
    assert site.bodies("orders") == []


def test_messages_that_match_a_search_are_moved_at_a_rate_until_it_is_cancelled(
    site: Site, page: Page
) -> None:
    _, dead = site.dead_letters(0)
    site.send(dead, *(f"{'red' if number % 2 else 'blue'} {number}" for number in range(120)))
    site.queue("repair")
    site.open_queue(page, dead, "messages")
    begin = page.get_by_role("button", name="Move all that match")
    expect(begin).to_be_disabled()
    page.get_by_label("Search").fill("red")
    page.get_by_role("button", name="Look").click()
    _begin_move(page, "Move all that match", "repair", "1")
    page.get_by_role("button", name="Cancel the move").click()
    expect(page.get_by_text("moved: the move was cancelled")).to_be_visible()
    assert 0 < len(site.bodies("repair")) < 60
    _begin_move(page, "Move all that match", "repair", "500")
    expect(page.get_by_text("moved: all that match")).to_be_visible()
    assert all(body.startswith("blue") for body in site.bodies(dead))
    assert len(site.bodies("repair")) == 60


def test_purge_needs_the_name_of_the_queue(site: Site, page: Page) -> None:
    site.queue("orders")
    site.send("orders", "a", "b")
    site.open_queue(page, "orders")
    page.get_by_role("button", name="Purge").click()
    page.get_by_label("Type orders to confirm").fill("order")
    page.get_by_role("button", name="Delete all messages").click()
    expect(page.get_by_role("alert").filter(has_text="This is not orders.")).to_be_visible()
    assert len(site.bodies("orders")) == 2
    page.get_by_label("Type orders to confirm").fill("orders")
    page.get_by_role("button", name="Delete all messages").click()
    expect(page.get_by_text("The queue is purged.")).to_be_visible()
    assert site.bodies("orders") == []


def test_redrive_moves_at_a_rate_and_is_cancelled(site: Site, page: Page) -> None:
    orders, dead = site.dead_letters(60)
    site.open_queue(page, dead, "moves")
    page.get_by_label("To the queue").fill(orders)
    page.get_by_label("Messages per second").fill("1")
    page.get_by_role("button", name="Move all messages").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("cell", name="CANCELLED")).to_be_visible()
    left = len(site.bodies(dead))
    assert 0 < left <= 60
    page.get_by_label("Messages per second").fill("500")
    page.get_by_role("button", name="Move all messages").click()
    expect(page.get_by_role("cell", name="COMPLETED")).to_be_visible()
    assert (len(site.bodies(dead)), len(site.bodies(orders))) == (0, 60)


def test_attributes_are_changed_and_an_invalid_one_is_explained(site: Site, page: Page) -> None:
    site.queue("orders", VisibilityTimeout="30")
    site.open_queue(page, "orders", "attributes")
    page.get_by_label("VisibilityTimeout").fill("77")
    page.get_by_label("OrderHint").fill("nothing")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert").filter(has_text="OrderHint")).to_be_visible()
    assert site.admin("GET", site.path("orders"))["attributes"]["VisibilityTimeout"] == "30"
    page.get_by_label("OrderHint").fill("5")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The attributes are changed.")).to_be_visible()
    changed = site.admin("GET", site.path("orders"))["attributes"]
    assert (changed["VisibilityTimeout"], changed["OrderHint"]) == ("77", "5")


def test_delivery_is_paused_and_resumed(site: Site, page: Page) -> None:
    site.queue("orders", DeliveryPaused="false")
    site.open_queue(page, "orders")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    assert site.admin("GET", site.path("orders"))["settings"]["delivery_paused"] is True
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    assert site.admin("GET", site.path("orders"))["settings"]["delivery_paused"] is False


def test_clients_and_partitions_are_shown(site: Site, page: Page) -> None:
    site.queue("wide", Partitions="3")
    client = _receive(site, "wide")
    site.open_queue(page, "wide", "clients")
    expect(page.get_by_role("cell", name="consumer")).to_be_visible()
    client.close()
    expect(page.get_by_text("Nobody has sent or received here")).to_be_visible()
    site.open_queue(page, "wide", "partitions")
    expect(page.get_by_role("row").filter(has_text="active")).to_have_count(3)
    site.open_queue(page, "wide", "consistency")
    expect(page.get_by_text("Nobody has published figures")).to_be_visible()


def test_map_shows_loads_and_shares_of_partitions_that_size_themselves(
    site: Site, page: Page
) -> None:
    site.queue("elastic", Partitions="auto", PartitionsMin="2")
    client = _receive(site, "elastic")
    site.open_queue(page, "elastic", "partitions")
    tiles = page.get_by_role("region", name="Map").get_by_role("listitem")
    expect(tiles).to_have_count(2)
    expect(tiles.filter(has_text="y 1.00")).to_have_count(1)
    expect(tiles.filter(has_text="draining")).to_have_count(1)
    expect(page.get_by_text("No message was exchanged between partitions.")).to_be_visible()
    decision = page.get_by_role("row").filter(has_text="add partition")
    expect(decision.filter(has_text="partitions_min 2")).to_be_visible()
    client.close()


def test_messages_leave_and_come_as_json_lines(site: Site, page: Page, tmp_path: Path) -> None:
    site.queue("orders")
    site.queue("copy")
    attributes = {"raw": {"type": "Binary", "base64": "AAE="}}
    site.send("orders", {"body": "é \n\u2028", "group": "g", "attributes": attributes}, "b")
    site.open_queue(page, "orders", "transfer")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    file = tmp_path / "orders.jsonl"
    download.value.save_as(file)
    assert [json.loads(line)["body"] for line in file.read_text().split("\n")[:2]] == [
        "é \n\u2028",
        "b",
    ]
    site.open_queue(page, "copy", "transfer")
    page.get_by_label("File").set_input_files(file)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("2 messages are sent")).to_be_visible()
    first, second = site.messages("copy")
    assert (first["body"], first["attributes"]) == ("é \n\u2028", attributes)
    assert (first["group"], second["body"]) == ("g", "b")
    file.write_text('{"body": "c"}\nnot json\n')
    page.get_by_label("File").set_input_files(file)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("Line 2 is not JSON.")).to_be_visible()
    assert len(site.bodies("copy")) == 2


def test_queue_is_deleted(site: Site, page: Page) -> None:
    site.queue("short-lived")
    site.open_queue(page, "short-lived")
    page.get_by_role("button", name="Delete").click()
    page.get_by_label("Type short-lived").fill("short-lived")
    page.get_by_role("button", name="Delete the queue").click()
    expect(page.get_by_role("heading", name="Queues")).to_be_visible()
    expect(page.get_by_role("link", name="short-lived")).to_have_count(0)


def _begin_move(page: Page, button: str, target: str, rate: str) -> None:
    page.get_by_role("button", name=button).click()
    page.get_by_label("To the queue").fill(target)
    page.get_by_label("Messages per second").fill(rate)
    page.get_by_role("button", name="Begin").click()


def _receive(site: Site, queue: str) -> Any:
    """Receives a message for ten minutes. The answer is the client, whose connection is open."""
    sqs = boto3.client("sqs", **site.server.boto3_kwargs)
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    sqs.receive_message(QueueUrl=url, VisibilityTimeout=600)
    return sqs
