"""The loop around Algorithm 1: a run folder with its settings, metrics, samples and a checkpoint to go on from.

::

    RUN/config.json              settings, seed, data; the same command goes on with it, another is refused
    RUN/metrics.jsonl            a line for each evaluation
    RUN/samples/*.safetensors    both populations, every ``thin`` iterations after the burn-in
    RUN/checkpoint.safetensors   everything that the next iteration depends on
"""

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bayesgan import __version__
from bayesgan.dynamics import State
from bayesgan.errors import BayesganError
from bayesgan.files import open_tensors, read_text, write_tensors, write_text
from bayesgan.gan import BayesianGAN
from bayesgan.samples import SampleSet

STATE_TENSORS = ("theta", "momentum", "second_moment", "adam_steps", "preconditioner")

Metrics = dict[str, Any]
Evaluate = Callable[[BayesianGAN], Metrics]
Progress = Callable[[int, Metrics], None]


class Run:
    """A training run in ``folder``, started or gone on with.

    Args:
        gan: freshly made; its state is replaced by the checkpoint's if there is one.
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
        self.seconds = 0.0  # of training, evaluation left out, over all sessions
        self._checkpoint = folder / "checkpoint.safetensors"
        self._metrics = folder / "metrics.jsonl"
        self._checkpoint_seconds = checkpoint_seconds
        data = hashlib.sha256(gan.data.cpu().numpy().tobytes()).hexdigest()
        config = {"version": __version__, **identity, "data_sha256": data, "settings": gan.settings.model_dump()}
        self._claim(json.dumps(config, indent=2) + "\n")
        if self._checkpoint.exists():
            self._restore()
        lines = read_text(self._metrics).splitlines() if self._metrics.exists() else []
        self.metrics: list[Metrics] = self._kept(lines)

    def _claim(self, config: str) -> None:
        path = self.folder / "config.json"
        if path.exists() and read_text(path) != config:
            raise BayesganError(
                f"{self.folder} holds a run with other settings (see its config.json): "
                "choose another folder, or delete this one."
            )
        if not path.exists():
            write_text(path, config)

    def _kept(self, lines: list[str]) -> list[Metrics]:
        """The evaluations up to the checkpoint; later ones will be made again, to the same bits."""
        kept = []
        for line in lines:
            try:
                record = json.loads(line)
                if record["iteration"] <= self.gan.iteration:
                    kept.append(record)
            except (ValueError, TypeError, KeyError):
                break  # a line torn by a kill is the last one
        return kept

    def train(self, evaluate: Evaluate, every: int, progress: Progress | None = None) -> list[Metrics]:
        """Run to the last iteration, with an evaluation every ``every`` iterations and at the end."""
        gan, settings = self.gan, self.gan.settings
        write_text(self._metrics, "".join(json.dumps(record) + "\n" for record in self.metrics))
        last_checkpoint = time.monotonic()
        with self._metrics.open("a", encoding="utf-8") as log:
            while gan.iteration < settings.iterations:
                started = time.monotonic()
                log_posteriors = gan.iterate()
                self.seconds += time.monotonic() - started
                last = gan.iteration == settings.iterations
                collected = gan.sampling and (gan.iteration - settings.burn_in) % settings.thin == 0
                if collected:
                    self.samples.append(gan.iteration, gan.generators.theta, gan.discriminators.theta)
                if collected or last or gan.iteration % every == 0:
                    record: Metrics = {"iteration": gan.iteration, "seconds": round(self.seconds, 3)}
                    record["log_posterior"] = {
                        name: log_p.mean().item() for name, log_p in vars(log_posteriors).items()
                    }
                    if collected:
                        record["gradient_noise_over_friction"] = gan.gradient_noise()
                    record |= evaluate(gan)
                    self.metrics.append(record)
                    log.write(json.dumps(record) + "\n")
                    log.flush()
                if last or time.monotonic() - last_checkpoint >= self._checkpoint_seconds:
                    self._save()
                    last_checkpoint = time.monotonic()
                if progress is not None:
                    progress(gan.iteration, self.metrics[-1] if self.metrics else {})
        return self.metrics

    def _save(self) -> None:
        gan = self.gan
        tensors = {"seen": gan.seen} | {f"rng.{name}": rng.get_state() for name, rng in gan.rng.items()}
        for population, state in (("generators", gan.generators), ("discriminators", gan.discriminators)):
            for name in STATE_TENSORS:
                if (tensor := getattr(state, name)) is not None:
                    tensors[f"{population}.{name}"] = tensor
        metadata = {"iteration": str(gan.iteration), "seconds": repr(self.seconds)}
        write_tensors(self._checkpoint, tensors, metadata)

    def _restore(self) -> None:
        gan = self.gan
        device = gan.data.device
        with open_tensors(self._checkpoint, str(device)) as tensors:
            try:
                metadata, names = tensors.metadata(), set(tensors.keys())
                gan.iteration, self.seconds = int(metadata["iteration"]), float(metadata["seconds"])
                gan.seen = tensors.get_tensor("seen")
                for name, rng in gan.rng.items():
                    rng.set_state(tensors.get_tensor(f"rng.{name}").cpu())
                for population in ("generators", "discriminators"):
                    values = {
                        name: tensors.get_tensor(f"{population}.{name}")
                        for name in STATE_TENSORS
                        if f"{population}.{name}" in names
                    }
                    state, fresh = State(**values), getattr(gan, population)
                    if state.theta.shape != fresh.theta.shape:
                        raise ValueError(f"{population} of shape {tuple(state.theta.shape)}")
                    setattr(gan, population, state)
            except (KeyError, TypeError, ValueError, RuntimeError) as error:
                raise BayesganError(
                    f"{self._checkpoint} is not a checkpoint of this run ({error}): delete it to start again."
                ) from None
