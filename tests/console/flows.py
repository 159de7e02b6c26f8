"""Workflows on a real server, whose tasks a test does itself through the admin API."""

from typing import Any
from urllib.parse import quote

from tests.console.site import Site
from tests.server.test_admin_consistency import COUNTS
from tests.server.test_admin_sizing import report

REPORT = {
    "flow": {"start": ["fetch"], "fetch": ["text", "image"], "text": ["join"], "image": ["join"]},
    "joins": ["join"],
    "attempts_max": 1,
}


class Flows:
    def __init__(self, site: Site) -> None:
        self.site = site

    def put(self, type_: str, **specification: Any) -> str:
        self.site.admin("PUT", f"/v1/workflows/{type_}", specification or REPORT)
        return type_

    def submit(self, type_: str, content: Any = None) -> str:
        """Returns the id of a new job."""
        job = self.site.admin("POST", f"/v1/workflows/{type_}/jobs", {"input": content})
        return str(job["job_id"])

    def end(self, job: str, *tasks: str, result: Any = None) -> None:
        for task in tasks:
            path = f"/v1/jobs/{job}/tasks/{quote(task)}"
            self.site.admin("POST", f"{path}/start", {"attempt": 1, "worker": "w1"})
            body = {"attempt": 1, "worker": "w1", "service_ms": 12.5, "result": result}
            self.site.admin("POST", f"{path}/end", body)

    def fail(self, job: str, task: str, error: str, worker: str = "w1") -> None:
        path = f"/v1/jobs/{job}/tasks/{quote(task)}"
        self.site.admin("POST", f"{path}/start", {"attempt": 1, "worker": worker})
        body = {"attempt": 1, "worker": worker, "error": error, "final": True}
        self.site.admin("POST", f"{path}/failure", body)

    def state(self, job: str) -> str:
        return str(self.site.admin("GET", f"/v1/jobs/{job}")["state"])

    def decide(self, cause: str = "slow", **changes: Any) -> None:
        """Publishes a decision on the topics of REPORT, in which `image` is the bottleneck."""
        topics = {"fetch": (1, 1), "text": (1, 1), "image": (1, 3), "join": (1, 1)}
        made = report(cause, **topics)
        loads = {"fetch": 0.41, "text": 0.32, "image": 0.88, "join": 0.2}
        for name, load in loads.items():
            made["topics"][name]["utilisation_after"] = load
            made["topics"][name]["utilisation_before"] = load * topics[name][1]
        self.site.admin("POST", "/v1/sizing/decisions", {**made, **changes})

    def example(self) -> str:
        """Some jobs of REPORT and two decisions; returns the id of a job that has failed once."""
        self.put("report")
        for number in range(14):
            self.submit("report", {"pages": number})
        done = self.submit("report", {"pages": 3})
        self.end(done, "fetch", "text", "image", "join", result={"words": 812})
        job = self.submit("report", {"name": "a.h5", "pages": 12})
        self.end(job, "fetch", result={"bytes": 9_120})
        self.end(job, "text", result={"words": 812})
        self.fail(job, "image", "no space left on device")
        self.decide(predicted_before_ms=3_000.0)
        self.decide()
        return job

    def measure(self, queue: str) -> None:
        """Publishes the consistency of a queue while its OrderHint changes."""
        counts = dict(COUNTS)
        for hint, disorder in ((1, 4), (5, 30), (20, 75), (50, 140), (10, 48), (1, 3), (2, 9)):
            self.site.admin(
                "PATCH", self.site.path(queue), {"attributes": {"OrderHint": f"{hint}"}}
            )
            for name, more in (
                ("messages", 1_000),
                ("received", 1_000),
                ("ordered", 1_000),
                ("duplicates", 12 - hint // 5),
                ("out_of_order", disorder),
                ("displacement", 3 * disorder),
            ):
                counts[name] += more
            self.site.admin("PUT", self.site.path(queue, "/consistency"), counts)

    def open(self, page: Any, *parts: str) -> None:
        self.site.open(page, "workflows", self.site.account, *parts)
