"""The example with a reader's own networks: it samples, averages, and goes on after a stop."""

from pathlib import Path

import pytest
import torch

from bayesgan.posterior.samples import SampleSet
from examples import own_networks

pytestmark = pytest.mark.usefixtures("one_thread")

EXAMPLE = Path(own_networks.__file__)


def test_stopped_in_either_phase_it_ends_in_the_same_bits_and_beats_chance(tmp_path: Path) -> None:
    """Half of the points are of either class; 500 of them have a binomial error of 2.2 percentage points."""
    through = own_networks.main(tmp_path / "through")
    assert through > 0.75
    for stop in (150, 255):
        with pytest.raises(own_networks.StoppedError):
            own_networks.main(tmp_path / "stopped", stop)
    assert own_networks.main(tmp_path / "stopped") == through
    ours, expected = (SampleSet(tmp_path / name / "samples") for name in ("stopped", "through"))
    assert ours.iterations == expected.iterations == list(own_networks.SETTINGS.length.collected)
    for population in ("generators", "discriminators"):
        assert all(map(torch.equal, ours.each(population), expected.each(population)))


def test_it_is_short() -> None:
    assert len(EXAMPLE.read_text().splitlines()) < 80
