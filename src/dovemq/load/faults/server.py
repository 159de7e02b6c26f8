"""A server that is killed and paused, with a failing disk and a wrong clock.

Each course of faults has its own task. Faults that end or stop the process take turns; a full disk
and a wrong clock may overlap with others. The server is always started again, and every fault is
logged with its effect. A server that ends by itself is an error.
"""

import asyncio
import os
import random
import signal
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from dovemq.core.errors import DoveError
from dovemq.load.decay import apply_decay, draw_decay
from dovemq.load.faults.decisions import Courses, Decision, Mishap
from dovemq.load.faults.fault_log import FaultLog
from dovemq.load.faults.powercut import Effects, PowerCutDisk
from dovemq.load.faults.process import ServerProcess, StartFailed
from dovemq.load.faults.shim import SkewedClock, build_shim
from dovemq.load.faults.spec import FaultSpec
from dovemq.system.ports import free_ports

DATA: Final = "data"
SYNC_US: Final = 1_000
"""Syncs are slow, so that a power cut finds unsynced sectors."""
START_ATTEMPTS_MAX: Final = 60
"""Attempts to start the server while its disk is full."""
START_AGAIN_SECONDS: Final = 0.5
PORTS: Final = range(20_000, 30_000)
"""Ports below the range of client ports, so that no client takes one while the server is down."""


class ServerEnded(DoveError):
    """The server ended without being killed; the text ends with its log."""

    def __init__(self, log_tail: str) -> None:
        super().__init__(f"the server ended by itself:\n{log_tail}")


class Effect(NamedTuple):
    text: str = ""
    fired: bool = True


_Act = Callable[[Decision], Awaitable[Effect]]


class TroubledServer:
    """A server and its faults; `place` has the data directory and everything for the faults."""

    def __init__(self, place: Path, spec: FaultSpec, courses: Courses, log: FaultLog) -> None:
        self._courses = courses
        self._log = log
        self._disk: PowerCutDisk | None = None
        self._clock: SkewedClock | None = None
        self._skews = enumerate(courses.course(Mishap.SKEW))
        self._full = False
        self._turn = asyncio.Lock()
        self._over = asyncio.Event()
        self._starting: asyncio.Future[ServerProcess] | None = None
        place.mkdir(parents=True, exist_ok=True)
        environment: dict[str, str] = {}
        if spec.needs_disk or spec.needs_clock:
            shim = build_shim(place)
            if spec.needs_disk:
                self._disk = PowerCutDisk(place, shim)
                environment |= self._disk.environment(lie=spec.disk.sync_lies, sync_us=SYNC_US)
            if spec.needs_clock:
                self._clock = SkewedClock(place, shim)
                environment |= self._clock.environment()
        self.process = ServerProcess(
            place / DATA, env=environment, log=place / "server.log", ports=_ports()
        )
        self.starts = 0

    async def start(self) -> None:
        if self._clock is not None and not self._over.is_set():
            number, decision = next(self._skews)
            if decision is not None:
                self._clock.set(decision.offset_ms)
                self._log.note(Mishap.SKEW, number, decision)
        for attempt in range(START_ATTEMPTS_MAX):
            full = self._full
            starting = asyncio.ensure_future(asyncio.to_thread(self.process.start))
            self._starting = starting
            try:
                # A thread cannot be cancelled: `close` must wait for it, or the server would stay.
                await asyncio.shield(starting)
                break
            except StartFailed:
                if not full or attempt + 1 == START_ATTEMPTS_MAX:
                    raise
            await asyncio.sleep(START_AGAIN_SECONDS)
        self.starts += 1

    async def trouble(self) -> None:
        """Injects faults until `end_trouble`, or until every course has ended."""
        await asyncio.gather(*(self._follow(name, act) for name, act in self._acts()))

    def end_trouble(self) -> None:
        """Makes `trouble` return once the server has recovered from the current fault."""
        self._over.set()

    async def calm(self) -> None:
        """Restores disk and clock after the faults; restarts the server if necessary."""
        self._check_running()
        if self._clock is not None or self._disk is not None:
            await self._kill()
            if self._clock is not None:
                self._clock.set(0)
            await self.start()

    async def close(self) -> None:
        if self._starting is not None:
            await asyncio.gather(self._starting, return_exceptions=True)
        await self._kill()

    def _acts(self) -> Iterator[tuple[str, _Act]]:
        yield Mishap.KILL, self._in_turn(self._killed)
        yield Mishap.PAUSE, self._in_turn(self._paused)
        yield Mishap.FLIP, self._in_turn(self._flipped)
        if self._disk is not None:
            yield Mishap.FAIL_SYNC, self._in_turn(self._unsynced)
            yield Mishap.FULL, self._filled
        if self._clock is not None:
            yield Mishap.JUMP, self._jumped

    def _in_turn(self, act: _Act) -> _Act:
        async def taken(decision: Decision) -> Effect:
            async with self._turn:
                return await act(decision)

        return taken

    async def _follow(self, name: str, act: _Act) -> None:
        for number, decision in enumerate(self._courses.course(name)):
            if decision is None:
                return
            if await self._is_over(decision.after_ms):
                return
            effect = await act(decision)
            self._log.note(name, number, decision, effect.text, fired=effect.fired)

    async def _is_over(self, within_ms: int) -> bool:
        try:
            async with asyncio.timeout(within_ms / 1_000):
                return await self._over.wait()
        except TimeoutError:
            return False

    async def _killed(self, decision: Decision) -> Effect:
        self._check_running()
        if decision.mishap is Mishap.POWER_CUT:
            effect = Effect(await self._cut_power(decision))
        else:
            await self._kill()
            effect = Effect()
        await asyncio.sleep(decision.for_ms / 1_000)
        await self.start()
        return effect

    async def _paused(self, decision: Decision) -> Effect:
        self.process.signal(signal.SIGSTOP)
        await asyncio.sleep(decision.for_ms / 1_000)
        self.process.signal(signal.SIGCONT)
        return Effect()

    async def _unsynced(self, decision: Decision) -> Effect:
        """Makes syncs fail for a while, then cuts the power."""
        failed = await self._switched("fail-sync", decision)
        self._check_running()
        undone = await self._cut_power(decision)
        await self.start()
        return Effect(f"{failed.syncs_failed} syncs failed, {undone}", failed.syncs_failed > 0)

    async def _flipped(self, decision: Decision) -> Effect:
        self._check_running()
        await self._kill()
        decay = draw_decay(self.process.data, random.Random(decision.seed), ("flip",))
        if decay is not None:
            apply_decay(self.process.data, decay)
        await self.start()
        if decay is None:
            return Effect("no file to damage", fired=False)
        return Effect(f"bit {decay.bit} of byte {decay.offset} of {decay.file}")

    async def _filled(self, decision: Decision) -> Effect:
        self._full = True
        refused = (await self._switched("full", decision)).writes_refused
        self._full = False
        return Effect(f"{refused} writes refused", refused > 0)

    async def _jumped(self, decision: Decision) -> Effect:
        assert self._clock is not None
        self._clock.set(decision.offset_ms)
        return Effect()

    async def _switched(self, name: str, decision: Decision) -> Effects:
        """Turns a switch on for the time of the decision, and returns its effects."""
        assert self._disk is not None
        before = self._disk.effects()
        self._disk.switch(name, on=True)
        await asyncio.sleep(decision.for_ms / 1_000)
        self._disk.switch(name, on=False)
        after = self._disk.effects()
        return Effects(
            after.syncs_failed - before.syncs_failed, after.writes_refused - before.writes_refused
        )

    async def _kill(self) -> None:
        """Kills the process; unsynced data stays, because the system still has it in memory."""
        await asyncio.to_thread(self.process.kill)
        if self._disk is not None:
            self._disk.forget()

    async def _cut_power(self, decision: Decision) -> str:
        assert self._disk is not None
        await asyncio.to_thread(self.process.kill)
        damage = await asyncio.to_thread(self._disk.strike, random.Random(decision.seed))
        return f"{damage.sectors_undone} of {damage.sectors_unsynced} unsynced sectors undone"

    def _check_running(self) -> None:
        if not self.process.running:
            raise ServerEnded(self.process.log_tail())


def _ports() -> tuple[int, int]:
    """Returns two free ports, chosen by process id so that concurrent runs differ."""
    first, second = free_ports(2, PORTS, random.Random(os.getpid()))
    return first, second
