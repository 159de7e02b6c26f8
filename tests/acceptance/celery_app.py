"""A Celery application as a user would write it; its workers note what they did in a file."""

import os
import time
from pathlib import Path
from typing import Any

from celery import Celery

app = Celery("acceptance", broker=os.environ["CELERY_BROKER"])
app.conf.update(
    broker_connection_retry_on_startup=True,
    broker_transport_options={
        "region": os.environ["AWS_REGION"],
        "is_secure": False,
        "visibility_timeout": int(os.environ["CELERY_VISIBILITY_SECONDS"]),
        "wait_time_seconds": 2,
        "polling_interval": 0,
    },
    task_acks_late=True,
    task_default_queue="celery-acceptance",
    task_ignore_result=True,
    worker_enable_remote_control=False,
    worker_prefetch_multiplier=10,
)


@app.task(bind=True, max_retries=3)  # type: ignore[untyped-decorator]
def note(self: Any, number: int, retries: int, not_before: float) -> None:
    """Append the number, once it has failed as often as asked."""
    if self.request.retries < retries:
        raise self.retry(countdown=1)
    line = f"{number} {'early' if time.time() < not_before else 'done'}\n"
    with Path(os.environ["CELERY_NOTES"]).open("a") as notes:
        notes.write(line)
