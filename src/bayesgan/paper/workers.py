"""Do the runs of a grid, in processes of this machine or on a Ray cluster; both yield events as they come."""

import logging
import multiprocessing
import re
import signal
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

from bayesgan.base.errors import BayesganError
from bayesgan.paper.grid import Job, attempt, record_failure


class Event(NamedTuple):
    """A run has started ("running") or ended ("done" or "failed: REASON")."""

    job: Job
    status: str


def local(jobs: Sequence[Job], workers: int) -> Generator[Event, None, None]:
    """At most ``workers`` processes at a time, one for each run: what kills one does not touch the others."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([attempt.__module__])  # torch is imported once, not by each process
    _start_server()
    waiting, running = deque(jobs), dict[int, tuple[Job, BaseProcess, Connection]]()
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                job = waiting.popleft()
                ours, theirs = context.Pipe(duplex=False)
                process: BaseProcess = context.Process(target=_work, args=(job, theirs), name=job.name)
                process.start()
                theirs.close()
                running[process.sentinel] = (job, process, ours)
                yield Event(job, "running")
            for sentinel in wait(list(running)):
                assert isinstance(sentinel, int)
                job, process, ours = running.pop(sentinel)
                process.join()
                yield Event(job, _outcome(job, process, ours))
    finally:  # also where the caller stops asking: Ctrl-C
        for _, process, _ in running.values():
            process.kill()
            process.join()


def _start_server() -> None:
    """Start what starts the processes, deaf to Ctrl-C from the beginning: that is for the grid."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(job: Job, answer: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the grid, which ends its processes
    grid = multiprocessing.parent_process()  # not the server that starts processes: it lives as long as one of them
    assert grid is not None
    outcome = attempt(job, still_wanted=grid.is_alive)
    with suppress(BrokenPipeError):  # the grid was killed meanwhile, and finds the run when it starts again
        answer.send(outcome)


def _outcome(job: Job, process: BaseProcess, answer: Connection) -> str:
    try:
        reason = answer.recv()
    except EOFError:
        code = process.exitcode or 0
        how = f"ended by signal {-code}" if code < 0 else f"ended with code {code}"
        reason = record_failure(job, f"The process {how}; was there enough memory?")
    return "done" if reason is None else f"failed: {reason}"


def on_ray(jobs: Sequence[Job], gpus_per_run: float = 0.0) -> Generator[Event, None, None]:
    """As many runs at a time as the Ray cluster has room for, on whichever machines.

    The cluster is the one that RAY_ADDRESS names or that runs on this machine already; otherwise one is started here.
    All of its machines have to see the folders of the runs and of the data under the same paths.
    """
    try:
        import ray
    except ImportError:
        raise BayesganError("Engine 'ray' needs Ray: pip install 'bayesgan[ray]', or choose --engine local.") from None
    ray.init(log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False, ignore_reinit_error=True)
    try:
        cards = ray.cluster_resources().get("GPU", 0.0)
        if gpus_per_run > cards:
            logging.getLogger(__name__).warning(
                "The Ray cluster has %g graphics cards and a run asks for %g: runs wait until it has.",
                cards,
                gpus_per_run,
            )
        remote = ray.remote(num_cpus=1, num_gpus=gpus_per_run, max_retries=0)(attempt)
        waiting, running = deque(jobs), dict[Any, Job]()
        while waiting or running:
            while waiting and len(running) < _room(ray.cluster_resources(), gpus_per_run):
                job = waiting.popleft()
                running[remote.remote(job)] = job
                yield Event(job, "running")
            ended, _ = ray.wait(list(running), num_returns=1)
            for future in ended:
                job = running.pop(future)
                yield Event(job, _ray_outcome(ray, job, future))
    finally:
        ray.shutdown()


def _room(resources: dict[str, float], gpus_per_run: float) -> int:
    """How many runs fit; at least one, which then waits for a machine."""
    room = resources.get("CPU", 0.0)
    if gpus_per_run > 0:
        room = min(room, resources.get("GPU", 0.0) / gpus_per_run)
    return max(1, int(room))


def _ray_outcome(ray: Any, job: Job, future: Any) -> str:
    try:
        reason = ray.get(future)
    except ray.exceptions.RayError as error:
        # The last line says what went wrong, in colours; those before it where.
        reason = record_failure(job, re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip().splitlines()[-1])
    return "done" if reason is None else f"failed: {reason}"
