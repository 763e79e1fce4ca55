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
from bayesgan.base.files import open_tensors, read_text, write_tensors, write_text
from bayesgan.posterior.samples import Sample, SampleSet
from bayesgan.sampler.gan import BayesianGAN, LogPosteriors
from bayesgan.sampler.sghmc import State
from bayesgan.settings.names import SIDES

ENVIRONMENTS, METRICS = "environments.json", "metrics.jsonl"
STATE_TENSORS = ("theta", "momentum", "second_moment", "adam_steps", "preconditioner")

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
        data = hashlib.sha256(gan.data.cpu().numpy().tobytes()).hexdigest()
        if gan.ranks.first:
            self._claim(
                {
                    "version": __version__,
                    **identity,
                    "device": gan.data.device.type,
                    "data_sha256": data,
                    "settings": gan.settings.model_dump(mode="json"),
                }
            )
        if gan.ranks.agreed(self._checkpoint.exists(), gan.data.device):
            self._restore()
        self.metrics: list[Metrics] = []
        self.environments: list[dict[str, Any]] = []
        if gan.ranks.first:
            self._all_samples_there()
            self.metrics = self._kept()
            self.environments = self._environments()

    def _claim(self, config: dict[str, Any]) -> None:
        path = self.folder / "config.json"
        if not path.exists():
            write_text(path, json.dumps(config, indent=2) + "\n")
            return
        there = _read_json(path)
        different = sorted(key for key in config if not isinstance(there, dict) or there.get(key) != config[key])
        if different:
            raise BayesganError(
                f"{self.folder} holds a run with other settings ({', '.join(different)}; see its config.json): "
                "choose another folder, or delete this one."
            )

    def _all_samples_there(self) -> None:
        settings, there = self.gan.settings, set(self.samples.iterations)
        for iteration in range(settings.burn_in + settings.thin, self.gan.iteration + 1, settings.thin):
            if iteration not in there:
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
                if record["iteration"] <= self.gan.iteration:
                    kept.append(record)
            except (ValueError, TypeError, KeyError):
                if number < len(lines):
                    raise BayesganError(f"{self._metrics} is damaged: delete {self.folder} to train again.") from None
                # What a kill tore is the last line, and later than the checkpoint.
        finished = self.gan.iteration == self.gan.settings.iterations
        if finished and (not kept or kept[-1]["iteration"] != self.gan.iteration):
            raise BayesganError(f"{self._metrics} is damaged: delete {self.folder} to train again.")
        return kept

    def _environments(self) -> list[dict[str, Any]]:
        """What computed this run: more than one entry where it was gone on with under other conditions."""
        path = self.folder / ENVIRONMENTS
        there = _read_json(path) if path.exists() else []
        if not isinstance(there, list) or not all(
            isinstance(each, dict) and {"device", "threads"} <= each.keys() for each in there
        ):
            there = []  # no result depends on it
        present = environment.record(self.gan.data.device)
        finished = self.gan.iteration == self.gan.settings.iterations
        if not there or (not finished and there[-1] != present):
            there = [*there, present]
            write_text(path, json.dumps(there, indent=1) + "\n")
        return there

    def train(self, evaluate: Evaluate, every: int, progress: Progress | None = None) -> list[Metrics]:
        """Run to the last iteration, with an evaluation every ``every`` iterations and at the end."""
        gan, settings = self.gan, self.gan.settings
        first = gan.ranks.first
        last_checkpoint = clock = time.monotonic()
        with self._log() as log:
            while gan.iteration < settings.iterations:
                started = time.monotonic()
                log_posteriors = gan.iterate()
                self.seconds += time.monotonic() - started
                last = gan.iteration == settings.iterations
                collected = gan.sampling and (gan.iteration - settings.burn_in) % settings.thin == 0
                if collected or last or gan.iteration % every == 0:
                    sample = gan.sample()
                    record = self._record(log_posteriors, collected)
                    if first:
                        if collected:
                            self.samples.append(gan.iteration, sample)
                        record |= evaluate(gan, sample)
                        self.metrics.append(record)
                        _append(log, json.dumps(record) + "\n")
                before, clock = clock, time.monotonic()
                self.total_seconds += clock - before
                due = last or clock - last_checkpoint >= self._checkpoint_seconds
                if gan.ranks.agreed(due, gan.data.device):
                    if first:
                        _append(log, "", to_disk=True)  # before the checkpoint, which relies on it
                    self._save()
                    last_checkpoint = time.monotonic()
                if progress is not None:
                    progress(gan.iteration, self.metrics[-1] if self.metrics else {})
        return self.metrics

    def _log(self) -> TextIO:
        """metrics.jsonl, to append to."""
        if not self.gan.ranks.first:
            return Path(os.devnull).open("a", encoding="utf-8")
        write_text(self._metrics, "".join(json.dumps(record) + "\n" for record in self.metrics))
        return self._metrics.open("a", encoding="utf-8")

    def _record(self, log_posteriors: LogPosteriors, collected: bool) -> Metrics:
        """What the sampler itself has to say."""
        gan = self.gan

        def mean(of_each_chain: Tensor) -> float:
            total = gan.ranks.total(torch.stack([of_each_chain.sum(), of_each_chain.new_tensor(len(of_each_chain))]))
            return (total[0] / total[1]).item()

        record: Metrics = {"iteration": gan.iteration, "seconds": round(self.seconds, 3)}
        record["log_posterior"] = {name: mean(log_p) for name, log_p in vars(log_posteriors).items() if len(log_p) > 0}
        record["log_likelihood"] = {name: mean(values) for name, values in gan.log_likelihood.items()}
        if collected and gan.settings.temperature > 0:
            record["gradient_noise_over_friction"] = gan.gradient_noise()
        return record

    def _save(self) -> None:
        gan = self.gan
        tensors = {"seen": gan.seen} | {f"rng.{name}": rng.get_state() for name, rng in gan.rng.items()}
        for side in SIDES:
            for name in STATE_TENSORS:
                if (tensor := getattr(getattr(gan, side), name)) is not None:
                    tensors[f"{side}.{name}"] = gan.everyones(tensor, side)
        if not gan.ranks.first:
            return
        metadata = {
            "iteration": f"{gan.iteration:010d}",
            "seconds": f"{self.seconds:.17e}",  # of one length, like everything else in the file
            "total_seconds": f"{self.total_seconds:.17e}",
        }
        write_tensors(self._checkpoint, tensors, metadata)

    def _restore(self) -> None:
        gan = self.gan
        device = gan.data.device
        with open_tensors(self._checkpoint, str(device)) as tensors:
            try:
                metadata, names = tensors.metadata(), set(tensors.keys())
                gan.iteration = int(metadata["iteration"])
                if gan.sampling:
                    gan.branch()
                self.seconds, self.total_seconds = float(metadata["seconds"]), float(metadata["total_seconds"])
                gan.seen = tensors.get_tensor("seen")
                if gan.seen.shape != (gan.data_size,):
                    raise ValueError(f"{len(gan.seen)} data points")
                for name, rng in gan.rng.items():
                    rng.set_state(tensors.get_tensor(f"rng.{name}").cpu())
                for side in SIDES:
                    values = {
                        name: tensors.get_tensor(f"{side}.{name}")
                        for name in STATE_TENSORS
                        if f"{side}.{name}" in names
                    }
                    chains, weights = gan.number(side), getattr(gan, side).theta.shape[1]
                    for name, tensor in values.items():
                        if tensor.shape != ((chains,) if name == "adam_steps" else (chains, weights)):
                            raise ValueError(f"{name} of the {side} has the shape {tuple(tensor.shape)}")
                    massive = gan.sampling and gan.settings.dynamics in ("frozen", "running")
                    if massive != ("preconditioner" in values):
                        raise ValueError(f"the mass of the {side} does not fit iteration {gan.iteration}")
                    setattr(gan, side, State(**{name: gan.own(tensor, side) for name, tensor in values.items()}))
            except (KeyError, TypeError, ValueError, RuntimeError) as error:
                raise BayesganError(
                    f"{self._checkpoint} is not a checkpoint of this run ({error}): delete it to start again."
                ) from None


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
    except ValueError:
        raise BayesganError(f"{path} is damaged: delete {path.parent} to train again.") from None
