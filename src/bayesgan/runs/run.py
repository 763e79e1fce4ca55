"""The loop around Algorithm 1: a run folder with its settings, metrics, samples and a checkpoint to go on from.

::

    RUN/config.json              settings, seed, data, device; the same command goes on with it, another is refused
    RUN/environments.json        the machine, versions and threads of every session that computed
    RUN/metrics.jsonl            a line for each evaluation
    RUN/samples/*.safetensors    both populations, every ``thin`` iterations after the burn-in
    RUN/checkpoint.safetensors   everything that the next iteration depends on
"""

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import torch
from torch import Tensor

from bayesgan import __version__
from bayesgan.base import environment
from bayesgan.base.errors import BayesganError
from bayesgan.base.files import read_text, write_text
from bayesgan.posterior.samples import SampleSet
from bayesgan.runs import checkpoint
from bayesgan.runs.checkpoint import Seconds
from bayesgan.runs.record import CONFIG, FORMAT, other_version
from bayesgan.sampler.gan import BayesianGAN, Sample
from bayesgan.sampler.gradients import LogDensities
from bayesgan.settings.names import Side

ENVIRONMENTS, METRICS = "environments.json", "metrics.jsonl"

Metrics = dict[str, Any]
Evaluate = Callable[[BayesianGAN, Sample], Metrics]
Progress = Callable[[int, Metrics], None]


class Run:
    """A training run in ``folder``, started or gone on with.

    Args:
        gan: freshly made; its state is replaced by the checkpoint's if there is one. Where ranks share its chains, all
            of them make a Run; the first evaluates and writes, for all.
        folder: made if it is not there.
        identity: what else the run depends on (seed, data), stored beside the settings.
        checkpoint_seconds: at least so long between two checkpoints.
    """

    def __init__(
        self, gan: BayesianGAN, folder: Path, identity: dict[str, Any], checkpoint_seconds: float = 30.0
    ) -> None:
        self.gan = gan
        self.folder = folder
        self.samples = SampleSet(folder / "samples")
        self.seconds = 0.0  # of all iterations, evaluations left out, over all sessions
        self.total_seconds = 0.0  # the same with evaluations and files
        self._checkpoint = folder / "checkpoint.safetensors"
        self._metrics = folder / METRICS
        self._checkpoint_seconds = checkpoint_seconds
        self._device = gan.batches.data.device
        self._ranks = gan.members.ranks
        data = hashlib.sha256(gan.batches.data.cpu().numpy().tobytes()).hexdigest()
        if self._ranks.first:
            self._claim(
                {
                    "format": FORMAT,
                    "version": __version__,
                    **identity,
                    "device": self._device.type,
                    "data_sha256": data,
                    "settings": gan.settings.model_dump(mode="json"),
                }
            )
        if self._ranks.as_first(self._checkpoint.exists(), self._device):
            self.seconds, self.total_seconds = checkpoint.restore(self._checkpoint, gan)
        self.metrics: list[Metrics] = []
        self.environments: list[dict[str, Any]] = []
        if self._ranks.first:
            self._all_samples_there()
            self.metrics = self._kept()
            self.environments = self._environments()

    def _claim(self, config: dict[str, Any]) -> None:
        path = self.folder / CONFIG
        if not path.exists():
            write_text(path, json.dumps(config, indent=2) + "\n")
            return
        there = _read_json(path)
        if isinstance(there, dict) and isinstance(there.get("version"), str) and there["version"] != __version__:
            raise other_version(self.folder, there["version"])
        different = sorted(key for key in config if not isinstance(there, dict) or there.get(key) != config[key])
        if different:
            raise BayesganError(
                f"{self.folder} holds a run with other settings ({', '.join(different)}; see its config.json): "
                "choose another folder, or delete this one."
            )

    def _all_samples_there(self) -> None:
        there = set(self.samples.iterations)
        for iteration in self.gan.settings.length.collected:
            if iteration <= self.gan.state.iteration and iteration not in there:
                raise BayesganError(
                    f"{self.samples.folder} lacks the sample of iteration {iteration}: put it back, or delete "
                    f"{self.folder} to train again."
                )

    def _kept(self) -> list[Metrics]:
        """The evaluations up to the checkpoint; later ones will be made again, to the same bits."""
        lines = read_text(self._metrics).splitlines() if self._metrics.exists() else []
        kept: list[Metrics] = []
        for number, line in enumerate(lines, start=1):
            try:
                record = json.loads(line)
                if record["iteration"] <= self.gan.state.iteration:
                    kept.append(record)
            except (ValueError, TypeError, KeyError, RecursionError):
                if number < len(lines):
                    raise BayesganError(f"{self._metrics} is damaged: delete {self.folder} to train again.") from None
                # What a kill tore is the last line, and later than the checkpoint.
        if self._finished and (not kept or kept[-1]["iteration"] != self.gan.state.iteration):
            raise BayesganError(f"{self._metrics} is damaged: delete {self.folder} to train again.")
        return kept

    def _environments(self) -> list[dict[str, Any]]:
        """The machines of this run: more than one where it was gone on with under other conditions."""
        path = self.folder / ENVIRONMENTS
        there = _read_json(path) if path.exists() else []
        if not isinstance(there, list) or not all(
            isinstance(each, dict) and {"device", "threads"} <= each.keys() for each in there
        ):
            there = []  # no result depends on it
        present = environment.record(self._device)
        if not there or (not self._finished and there[-1] != present):
            there = [*there, present]
            write_text(path, json.dumps(there, indent=1) + "\n")
        return there

    @property
    def _finished(self) -> bool:
        return self.gan.state.iteration >= self.gan.settings.length.iterations

    def train(self, evaluate: Evaluate, every: int, progress: Progress | None = None) -> list[Metrics]:
        """Run to the last iteration, with an evaluation every ``every`` iterations and at the end."""
        gan, first = self.gan, self._ranks.first
        last_checkpoint = clock = time.monotonic()
        with self._log() as log:
            while not self._finished:
                started = time.monotonic()
                log_densities = gan.iterate()
                self.seconds += time.monotonic() - started
                iteration, last = gan.state.iteration, self._finished
                if gan.collects or last or iteration % every == 0:
                    sample = gan.sample()
                    record = self._record(log_densities)
                    if first:
                        if gan.collects:
                            self.samples.append(iteration, sample)
                        record |= evaluate(gan, sample)
                        self.metrics.append(record)
                        _append(log, json.dumps(record) + "\n")
                before, clock = clock, time.monotonic()
                self.total_seconds += clock - before
                due = last or clock - last_checkpoint >= self._checkpoint_seconds
                if self._ranks.as_first(due, self._device):
                    if first:
                        _append(log, "", to_disk=True)  # before the checkpoint, which relies on it
                    checkpoint.write(self._checkpoint, gan, Seconds(self.seconds, self.total_seconds))
                    last_checkpoint = time.monotonic()
                if progress is not None:
                    progress(iteration, self.metrics[-1] if self.metrics else {})
        return self.metrics

    def _log(self) -> TextIO:
        """metrics.jsonl, to append to."""
        if not self._ranks.first:
            return Path(os.devnull).open("a", encoding="utf-8")
        write_text(self._metrics, "".join(json.dumps(record) + "\n" for record in self.metrics))
        return self._metrics.open("a", encoding="utf-8")

    def _record(self, log_densities: dict[Side, LogDensities]) -> Metrics:
        """The sampler's own figures: log densities and gradient noise."""
        gan = self.gan

        def mean(of_each_chain: Tensor) -> float:
            total = self._ranks.total(torch.stack([of_each_chain.sum(), of_each_chain.new_tensor(len(of_each_chain))]))
            return (total[0] / total[1]).item()

        record: Metrics = {"iteration": gan.state.iteration, "seconds": round(self.seconds, 3)}
        record["log_posterior"] = {side: mean(found.posterior) for side, found in log_densities.items()}
        record["log_likelihood"] = {side: mean(found.likelihood) for side, found in log_densities.items()}
        if gan.collects and gan.settings.sampler.temperature > 0:
            record["gradient_noise_over_friction"] = gan.gradient_noise()
        if gan.collects and (motion := gan.motion()):
            record["motion"] = {
                side: {name: [None if each != each else each for each in row.tolist()] for name, row in figures.items()}
                for side, figures in motion.items()
            }
        return record


def _append(log: TextIO, text: str, to_disk: bool = False) -> None:
    try:
        log.write(text)
        log.flush()  # others look how far the run is
        if to_disk:
            os.fsync(log.fileno())
    except OSError as error:
        raise BayesganError(f"Cannot write {log.name}: {error.strerror or error}.") from None


def _read_json(path: Path) -> Any:
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError):  # torn, or nested without end
        raise BayesganError(f"{path} is damaged: delete {path.parent} to train again.") from None
