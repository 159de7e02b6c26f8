"""Senders and receivers drive a running server, and every message is accounted for.

Needs `make setup EXTRAS=models` (700 MB) and the variables that `dovemq env` prints.

Prints:

    sent 200, received 200, lost 0, duplicates 0
"""

import asyncio
import os

from dovemq.core.access import AccessKey
from dovemq.load.judgement import Violation
from dovemq.load.plan import Endpoint, LoadPlan
from dovemq.load.run import run


def main() -> None:
    env = os.environ
    key = AccessKey(env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"], account="")
    plan = LoadPlan(
        endpoint=Endpoint(env["AWS_ENDPOINT_URL_SQS"], key, env["AWS_REGION"]),
        name="example",
        senders=4,
        receivers=4,
        messages=50,
    )
    (repetition,) = asyncio.run(run(plan)).repetitions
    report = repetition.report
    duplicates = sum(report.duplicates.values())
    print(
        f"sent {report.sends.acknowledged}, received {report.received}, "
        f"lost {report.faults[Violation.LOST]}, duplicates {duplicates}"
    )


if __name__ == "__main__":
    main()
