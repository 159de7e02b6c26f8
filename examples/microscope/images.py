"""Images of a digital microscope: HDF5 files with noise, round particles and what the lens says."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np

SIZE = 256
FRAMES = 4
PARTICLES_MAX = 40
FAILED_SHARE = 0.2


def write_image(path: Path, seed: int) -> int:
    """Writes a file and returns the number of particles in it; a failed exposure has none."""
    rng = np.random.default_rng(seed)
    failed = rng.random() < FAILED_SHARE
    count = 0 if failed else int(rng.integers(5, PARTICLES_MAX))
    clean = np.zeros((SIZE, SIZE))
    rows, columns = np.mgrid[:SIZE, :SIZE]
    # Places on a grid, so that no two particles touch and counting them has one right answer.
    cells = rng.permutation(64)[:count]
    for cell in cells:
        row, column = 32 * (cell // 8) + 16, 32 * (cell % 8) + 16
        radius = rng.uniform(4, 9)
        clean[(rows - row) ** 2 + (columns - column) ** 2 <= radius**2] = 200.0
    frames = clean + rng.normal(20.0, 8.0, (FRAMES, SIZE, SIZE))
    with h5py.File(path, "w") as file:
        data = file.create_dataset(
            "frames", data=np.clip(frames, 0, 255).astype(np.uint8), compression="gzip"
        )
        data.attrs["pixel_nm"] = float(rng.choice([0.5, 1.0, 2.0]))
        file.attrs["instrument"] = str(rng.choice(["TEM-1", "SEM-2"]))
        file.attrs["exposure_ms"] = float(rng.uniform(10, 200))
    return count


def mean_frame(path: Path) -> Any:
    """The mean of the frames, which has less noise than each of them."""
    with h5py.File(path) as file:
        return file["frames"][...].mean(axis=0)


def count_particles(image: Any, level: float = 100.0) -> tuple[int, float]:
    """The number of bright regions, and the share of the area that is bright."""
    bright = image > level
    labels = np.where(bright, np.arange(1, bright.size + 1).reshape(bright.shape), 0)
    while True:
        # The largest label spreads to bright neighbours until nothing changes.
        spread = labels.copy()
        for axis, step in ((0, 1), (0, -1), (1, 1), (1, -1)):
            moved = np.roll(labels, step, axis)
            edge = 0 if step == 1 else -1
            np.moveaxis(moved, axis, 0)[edge] = 0
            spread = np.maximum(spread, moved)
        spread = np.where(bright, spread, 0)
        if (spread == labels).all():
            return len(np.unique(labels)) - 1 if bright.any() else 0, float(bright.mean())
        labels = spread
