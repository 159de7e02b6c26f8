"""The callers that watch one partition, kept while the partition's owner changes."""

from collections.abc import Callable

Wake = Callable[[], None]


class Watchers:
    def __init__(self) -> None:
        self.changed: Callable[[], None] = lambda: None
        """Called when the first watcher has come or the last one has gone."""
        self._wakes: dict[object, Wake] = {}

    def __bool__(self) -> bool:
        return bool(self._wakes)

    def add(self, wake: Wake) -> Wake:
        """Returns the function that ends the watch, which may be called twice."""
        key = object()
        self._wakes[key] = wake
        if len(self._wakes) == 1:
            self.changed()

        def undo() -> None:
            if self._wakes.pop(key, None) is not None and not self._wakes:
                self.changed()

        return undo

    def wake(self) -> None:
        for wake in list(self._wakes.values()):
            wake()
