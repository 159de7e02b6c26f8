"""Workflows on a real server, whose tasks a test does itself through the admin API."""

from typing import Any
from urllib.parse import quote

from tests.console.site import Site
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

    def open(self, page: Any, *parts: str) -> None:
        self.site.open(page, "workflows", self.site.account, *parts)
