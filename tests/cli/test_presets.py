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
    assert printed["fast"] == json.loads(json.dumps(described("fast")))
    assert list(json.loads(bayesgan(capsys, "presets", "fast").output)) == ["fast"]
    assert "'slow' is not a preset" in refused(capsys, "presets", "slow")
