"""The prediction of a queue: measured beside predicted, sliders by mouse and by keyboard."""

import os
import re
from typing import Any

import boto3
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.console.accessibility import PHONE, SCHEMES, WINDOW, check_accessible
from tests.console.site import IMAGES, Site
from tests.console.traffic import traffic

MESSAGES = 12
LEARNING_SECONDS = 60


def test_measured_and_predicted_figures_are_shown_side_by_side(site: Site, page: Page) -> None:
    consumer = _handle(site, "assembly-first")
    site.open_queue(page, "assembly-first", "prediction")
    expect(page.get_by_text("The queue saturates at")).to_be_visible()
    expect(page.get_by_text(f"{MESSAGES} sent, {MESSAGES} deleted by 1 consumer;")).to_be_visible()
    for label in ("Response, mean", "Response, 95 % within", "Throughput"):
        cells = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=label))
        for number in range(3):
            expect(cells.get_by_role("cell").nth(number)).to_have_text(re.compile(r"^\d"))
    picture = page.get_by_role("img", name=re.compile("Response time by arrival rate"))
    expect(picture).to_have_attribute("aria-label", re.compile("The queue saturates at [0-9]"))
    expect(picture.get_by_text("saturates at")).to_be_visible()
    consumer.close()


def test_sliders_answer_what_if_and_keep_their_state_while_figures_change(
    site: Site, page: Page
) -> None:
    consumer = _handle(site, "assembly-second")
    site.open_queue(page, "assembly-second", "prediction")
    consumers, percentile = _slider(page, "Consumers"), _slider(page, "Percentile")
    expect(consumers).to_have_value("1")
    before = _figure(page, "Saturates at").inner_text()
    consumers.fill("4")
    expect(_figure(page, "Saturates at", 2)).not_to_have_text(before)
    percentile.fill("80")
    expect(page.get_by_role("rowheader", name="Response, 80 % within")).to_be_visible()
    rate = _slider(page, "Arrival rate")
    rate.fill("200")
    expect(_figure(page, "Arrivals", 2)).not_to_have_text(_figure(page, "Arrivals").inner_text())
    consumers.fill("1")
    expect(page.get_by_text("The queue only grows")).to_be_visible()
    expect(_figure(page, "Response, mean", 2)).to_have_text("without end")
    consumers.fill("3")
    _slider(page, "Partitions that divide the consumers").fill("3")
    with page.expect_response(re.compile("prediction.*consumers=3.*partitions=3")):
        pass
    with page.expect_response(re.compile("prediction.*consumers=3.*partitions=3")):
        "The page has asked again by itself."
    expect(consumers).to_have_value("3")
    expect(percentile).to_have_value("80")
    page.get_by_label("Response time to keep").fill("600000")
    expect(page.get_by_text(re.compile("within 600000 ms it needs"))).to_be_visible()
    page.get_by_role("button", name="As measured").click()
    expect(consumers).to_have_value("1")
    expect(percentile).to_have_value("95")
    consumer.close()


def test_sliders_are_moved_by_keyboard_and_say_what_they_mean(site: Site, page: Page) -> None:
    consumer = _handle(site, "assembly-third")
    site.open_queue(page, "assembly-third", "prediction")
    consumers = _slider(page, "Consumers")
    expect(consumers).to_be_enabled()
    expect(consumers).to_have_attribute("aria-valuetext", "1, as measured")
    _slider(page, "Arrival rate").focus()
    page.keyboard.press("Tab")
    expect(consumers).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(consumers).to_have_attribute("aria-valuetext", "2")
    with page.expect_response(re.compile("consumers=2")):
        "It follows the key."
    expect(consumers).to_be_focused()
    consumer.close()


def test_queue_without_traffic_says_what_is_missing(site: Site, page: Page) -> None:
    site.queue("silent")
    site.open_queue(page, "silent", "prediction")
    expect(page.get_by_text("Too few messages for a prediction")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("Response time"))).to_have_count(0)
    expect(_slider(page, "Arrival rate")).to_be_disabled()


def test_viewer_may_ask_what_if(site: Site, stranger: Page) -> None:
    consumer = _handle(site, "assembly-fourth")
    site.log_in(stranger, site.member("vera", "viewer"))
    site.open_queue(stranger, "assembly-fourth", "prediction")
    _slider(stranger, "Consumers").fill("2")
    expect(_figure(stranger, "Throughput", 2)).to_have_text(re.compile(r"^\d"))
    consumer.close()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_page_with_figures_is_accessible_and_fits_a_phone(
    site: Site, browser: Browser, scheme: Any
) -> None:
    consumer = _handle(site, "assembly-fifth")
    context = browser.new_context(viewport=PHONE, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    site.log_in(page)
    site.open_queue(page, "assembly-fifth", "prediction")
    expect(page.get_by_role("img", name=re.compile("Response time"))).to_be_visible()
    page.get_by_text("What is taken for granted").click()
    expect(page.get_by_text("A service lasts from the receive")).to_be_visible()
    check_accessible(page)
    context.close()
    consumer.close()


@pytest.mark.skipif("DOVETEST_IMAGES" not in os.environ, reason="it rewrites docs/images")
def test_pictures_of_predictions_are_taken(site: Site, browser: Browser) -> None:
    site.queue("parcels")
    with traffic(site, "parcels", per_second=8, consumers=2, service_seconds=0.15):
        _wait(browser, LEARNING_SECONDS)
        for scheme in SCHEMES:
            for name, viewport in (("prediction", WINDOW), ("prediction-phone", PHONE)):
                context = browser.new_context(viewport=viewport, color_scheme=scheme)
                page = context.new_page()
                site.log_in(page)
                site.open_queue(page, "parcels", "prediction")
                expect(page.get_by_role("img", name=re.compile("Response time"))).to_be_visible()
                _slider(page, "Consumers").fill("3")
                expect(_slider(page, "Consumers")).to_have_attribute("aria-valuetext", "3")
                page.wait_for_timeout(3_000)
                page.screenshot(path=IMAGES / f"{name}-{scheme}.png", full_page=True)
                context.close()


def _handle(site: Site, name: str) -> Any:
    """Sends and handles messages. The answer is the consumer, whose connection stays open."""
    site.queue(name)
    sqs = boto3.client("sqs", **site.server.boto3_kwargs)
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    for number in range(MESSAGES):
        sqs.send_message(QueueUrl=url, MessageBody=str(number))
        [message] = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"]
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return sqs


def _wait(browser: Browser, seconds: int) -> None:
    page = browser.new_page()
    page.wait_for_timeout(seconds * 1_000)
    page.close()


def _slider(page: Page, label: str) -> Locator:
    return page.get_by_role("slider", name=label, exact=True)


def _figure(page: Page, label: str, column: int = 1) -> Locator:
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=label))
    return row.get_by_role("cell").nth(column)
