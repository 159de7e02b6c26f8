"""Generates image files and submits jobs of the three types in turn; then prints the results.

Needs the variables that `dovemq env` prints, and workers (see tasks.py).
"""

import argparse
import asyncio
import tempfile
from os import environ
from pathlib import Path

from images import write_image  # type: ignore[import-not-found]

from dovemq.client import WorkflowClient
from dovemq.client.environment import key_of

TYPES = ("1", "2", "3")
SECONDS_MAX = 600.0


async def submitted(jobs: int, admin_url: str, folder: Path) -> None:
    async with WorkflowClient(admin_url, key_of(environ)) as client:
        ids = []
        for number in range(jobs):
            path = folder / f"image-{number}.h5"
            particles = await asyncio.to_thread(write_image, path, number)
            body = {"file": str(path), "particles": particles}
            ids.append((await client.submit(TYPES[number % len(TYPES)], body))["job_id"])
        right = 0
        for job_id in ids:
            job = await client.finished(job_id, SECONDS_MAX)
            found = [each for each in job["results"].values() if "kind" in each][-1]
            right += found["particles"] == job["input"]["particles"]
        print(f"{jobs} jobs; the particles of {right} were counted right")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=30)
    parser.add_argument("--admin-url", default="http://127.0.0.1:9325")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(submitted(args.jobs, args.admin_url, Path(folder)))


if __name__ == "__main__":
    main()
