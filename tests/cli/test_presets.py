"""``bayesgan presets``."""

import json

import pytest

from bayesgan.settings.compose import described
from tests.helpers.commands import bayesgan, refused


def test_presets_are_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    printed = json.loads(bayesgan(capsys, "presets").output)
    assert set(printed) == {"paper", "fast"}
    assert printed["paper"]["bayesgan on mnist"]["populations"]["generators"] == 10
    assert "layer_noise" in printed["paper"]["dcgan"]
    sizes = printed["fast"].pop("networks of bayesgan")
    assert printed["fast"] == json.loads(json.dumps(described("fast")))
    assert list(sizes["mnist"]["discriminator"]) == ["width", "depth", "weights", "flops_of_a_point"]
    assert printed["paper"]["networks of bayesgan"]["mnist"]["generator"]["width"] == 64
    large, small = (list(sizes[name].values())[-1] for name in ("celeba", "digits"))
    assert large > small > 10**6
    assert printed["fast"]["own pictures"] == {"flip": False, "balance": 0.0}
    assert list(json.loads(bayesgan(capsys, "presets", "fast").output)) == ["fast"]
    assert "'slow' is not a preset" in refused(capsys, "presets", "slow")
