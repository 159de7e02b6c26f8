"""Writes the Grafana dashboard from a table of panels: `python -m tools.dashboard`."""

import json
from pathlib import Path
from typing import Any, Final, NamedTuple

FILE: Final = Path(__file__).resolve().parents[1] / "deploy" / "grafana" / "dovemq.json"
_SOURCE: Final = {"type": "prometheus", "uid": "${source}"}
_QUEUES: Final = 'instance=~"$instance",queue=~"$queue"'
_HERE: Final = 'instance=~"$instance"'
_WIDTH: Final = 12
_HEIGHT: Final = 8


class Panel(NamedTuple):
    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    """Expressions and their legends."""


def _rate(metric: str, labels: str = _QUEUES, by: str = "queue") -> str:
    return f"sum by ({by}) (rate({metric}{{{labels}}}[$__rate_interval]))"


def _quantile(share: float, metric: str) -> str:
    inner = f"sum by (le) (rate({metric}_bucket{{{_HERE}}}[$__rate_interval]))"
    return f"histogram_quantile({share}, {inner})"


def _percentiles(metric: str) -> tuple[tuple[str, str], ...]:
    return tuple((_quantile(share, metric), f"{share:.0%}") for share in (0.5, 0.95, 0.99))


PANELS: Final = (
    Panel(
        "Messages by state",
        "short",
        ((f"sum by (state) (dovemq_queue_messages{{{_QUEUES}}})", "{{state}}"),),
    ),
    Panel(
        "Age of the oldest visible message",
        "s",
        ((f"topk(10, dovemq_queue_oldest_claimable_age_seconds{{{_QUEUES}}})", "{{queue}}"),),
    ),
    Panel(
        "Messages per second",
        "cps",
        (
            (f"sum(rate(dovemq_messages_sent_total{{{_QUEUES}}}[$__rate_interval]))", "sent"),
            (
                f"sum(rate(dovemq_messages_received_total{{{_QUEUES}}}[$__rate_interval]))",
                "received",
            ),
            (
                f"sum(rate(dovemq_messages_settled_total{{{_QUEUES}}}[$__rate_interval]))",
                "deleted",
            ),
        ),
    ),
    Panel(
        "Visible messages of the largest queues",
        "short",
        (
            (
                f'topk(10, sum by (queue) (dovemq_queue_messages{{{_QUEUES},state="visible"}}))',
                "{{queue}}",
            ),
        ),
    ),
    Panel(
        "Dead letters and moves", "cps", ((_rate("dovemq_messages_redriven_total"), "{{queue}}"),)
    ),
    Panel("Empty receives", "cps", ((_rate("dovemq_receives_empty_total"), "{{queue}}"),)),
    Panel(
        "Requests per second",
        "reqps",
        (
            (
                _rate("dovemq_requests_total", _HERE, "operation, outcome"),
                "{{operation}} {{outcome}}",
            ),
        ),
    ),
    Panel("Time to answer, long polls included", "s", _percentiles("dovemq_request_seconds")),
    Panel("Time of a commit", "s", _percentiles("dovemq_commit_seconds")),
    Panel(
        "Connections and waiting receives",
        "short",
        (
            (f"sum(dovemq_connections{{{_HERE}}})", "connections"),
            (f"sum(dovemq_long_polls_parked{{{_HERE}}})", "waiting receives"),
        ),
    ),
    Panel(
        "Lost, repeated and reordered messages",
        "percentunit",
        (
            (
                f'dovemq_queue_consistency{{{_QUEUES},figure=~".*_rate"}}',
                "{{queue}} {{figure}}",
            ),
        ),
    ),
    Panel(
        "Partitions and decisions",
        "short",
        (
            (f"sum by (instance) (dovemq_partitions_owned{{{_HERE}}})", "owned by {{instance}}"),
            (
                f"sum by (action) (increase(dovemq_partition_actions_total{{{_HERE}}}[10m]))",
                "{{action}} in 10 minutes",
            ),
        ),
    ),
)


_JOBS: Final = "dovemq_workflow_jobs_total"
_TASKS: Final = "dovemq_workflow_tasks_total"
WORKFLOW_PANELS: Final = (
    Panel(
        "Jobs per second", "cps", ((_rate(_JOBS, _HERE, "type, outcome"), "{{type}} {{outcome}}"),)
    ),
    Panel("Response time of jobs", "s", _percentiles("dovemq_workflow_job_seconds")),
    Panel(
        "Tasks per second",
        "cps",
        ((_rate(_TASKS, _HERE, "topic, outcome"), "{{topic}} {{outcome}}"),),
    ),
    Panel(
        "Mean service time of tasks, and mean number of busy workers",
        "none",
        (
            (
                f"{_rate('dovemq_workflow_task_seconds_sum', _HERE, 'topic')}"
                f" / {_rate('dovemq_workflow_task_seconds_count', _HERE, 'topic')}",
                "{{topic}} seconds",
            ),
            (_rate("dovemq_workflow_task_seconds_sum", _HERE, "topic"), "{{topic}} busy"),
        ),
    ),
)


def dashboard() -> dict[str, Any]:
    return {
        "uid": "dovemq",
        "title": "DoveMQ",
        "tags": ["dovemq"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {
            "list": [
                {"name": "source", "label": "Data source", "type": "datasource",
                 "query": "prometheus"},
                _variable("instance", "label_values(dovemq_queues, instance)"),
                _variable(
                    "queue", 'label_values(dovemq_queue_messages{instance=~"$instance"}, queue)'
                ),
            ]
        },
        "panels": _panels(),
    }  # fmt: skip


def _panels() -> list[dict[str, Any]]:
    """The panels of queues, and below them a row of those of workflows."""
    queues = [_panel(number, panel) for number, panel in enumerate(PANELS)]
    top = -(-len(PANELS) // 2) * _HEIGHT
    row = {
        "id": len(PANELS) + 1,
        "title": "Workflows",
        "type": "row",
        "collapsed": False,
        "gridPos": {"x": 0, "y": top, "w": 2 * _WIDTH, "h": 1},
        "panels": [],
    }
    below = [
        _panel(number, panel, top + 1, len(PANELS) + 1)
        for number, panel in enumerate(WORKFLOW_PANELS)
    ]
    return [*queues, row, *below]


def _variable(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": name.capitalize(),
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _panel(number: int, panel: Panel, top: int = 0, after: int = 0) -> dict[str, Any]:
    row, column = divmod(number, 2)
    return {
        "id": after + number + 1,
        "title": panel.title,
        "type": "timeseries",
        "datasource": _SOURCE,
        "gridPos": {"x": column * _WIDTH, "y": top + row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}},
        "targets": [
            {"refId": chr(ord("A") + index), "expr": text, "legendFormat": legend}
            for index, (text, legend) in enumerate(panel.queries)
        ],
    }


def dashboard_text() -> str:
    return json.dumps(dashboard(), indent=1) + "\n"


if __name__ == "__main__":
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(dashboard_text())
    print(FILE)
