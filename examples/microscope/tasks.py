"""The four tasks of elastic's case study, on HDF5 files of a digital microscope.

Each does its work, and then waits until it has taken as long as the paper says: a gamma time with
the rate and variability of its topic. A minute of the paper takes `MICROSCOPE_MINUTE_S` seconds,
1 unless the variable says more. Run, in this directory:

    dovemq workflow put workflow.toml
    dovemq workflow worker tasks:tasks
    python submit.py --jobs 30
"""

import asyncio
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
from images import count_particles, mean_frame  # type: ignore[import-not-found]

from dovemq.workflows import TaskCall, TopicTask, task

SERVICES = {"A": (4.2, 0.33), "B": (3.7, 0.5), "C": (6.7, 0.4), "D": (5.1, 0.5)}
"""Rate a minute and squared coefficient of variation of each topic (elastic, fig. 3)."""
PARTICLES_MIN = 3
BRIGHT_MAX = 0.9

Work = Callable[[Path, TaskCall], dict[str, Any]]


def unpack(path: Path, call: TaskCall) -> dict[str, Any]:
    """Reads every frame, as a program that converts files would."""
    with h5py.File(path) as file:
        frames = file["frames"][...]
        return {"frames": len(frames), "bytes": int(frames.nbytes), "mean": float(frames.mean())}


def metadata(path: Path, call: TaskCall) -> dict[str, Any]:
    with h5py.File(path) as file:
        pixel_nm = float(file["frames"].attrs["pixel_nm"])
        return {
            "instrument": str(file.attrs["instrument"]),
            "exposure_ms": float(file.attrs["exposure_ms"]),
            "width_nm": pixel_nm * file["frames"].shape[-1],
        }


def image(path: Path, call: TaskCall) -> dict[str, Any]:
    particles, bright = count_particles(mean_frame(path))
    return {"particles": particles, "bright": bright}


def classify(path: Path, call: TaskCall) -> dict[str, Any]:
    """Says whether the experiment worked, from the task before or from the image itself."""
    earlier = [each for each in call.results.values() if "particles" in each]
    found = earlier[0] if earlier else image(path, call)
    good = found["particles"] >= PARTICLES_MIN and found["bright"] <= BRIGHT_MAX
    return {**found, "kind": "particles" if good else "failed exposure"}


def _padded(topic: str, work: Work) -> TopicTask:
    rate, scv = SERVICES[topic]

    @task(topic)
    async def run(call: TaskCall) -> dict[str, Any]:
        begun = time.perf_counter()
        minute_s = float(os.environ.get("MICROSCOPE_MINUTE_S", "1"))
        rng = random.Random(f"{call.job_id}/{call.task}")
        service_s = minute_s * rng.gammavariate(1.0 / scv, scv / rate)
        result = await asyncio.to_thread(work, Path(call.input["file"]), call)
        await asyncio.sleep(max(begun + service_s - time.perf_counter(), 0.0))
        return result

    return run


WORK: dict[str, Work] = {"A": unpack, "B": metadata, "C": image, "D": classify}
tasks = [_padded(topic, work) for topic, work in WORK.items()]
