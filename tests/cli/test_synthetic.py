"""``bayesgan synthetic``: its options; the runs are tested in tests/paper."""

from pathlib import Path

import pytest

from bayesgan.cli.synthetic import _phases
from tests.helpers.commands import refused


@pytest.mark.parametrize(
    ("given", "phases"),
    [
        ((None, None, None), (1000, 300, 50)),
        ((100, None, None), (100, 30, 7)),
        ((10_000, None, None), (10_000, 300, 50)),
        ((2, None, None), (2, 1, 1)),
        ((100, 50, None), (100, 50, 5)),
        ((100, None, 3), (100, 30, 3)),
    ],
)
def test_a_run_of_few_iterations_samples_too(
    given: tuple[int | None, int | None, int | None], phases: tuple[int, int, int]
) -> None:
    assert tuple(_phases(*given).values()) == phases


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--data=moons"], "moons"),
        (["--dims=100,1"], "--dims: '1' is not a whole number of at least 2"),
        (["--methods=dcgan"], "--methods: 'dcgan' is not one of ml-gan, wgan, bayesgan"),
        (["--seeds=0,-1"], "--seeds: '-1' is not a whole number"),
        (["--iterations=0"], "Setting iterations cannot be 0"),
        (["--threads=0"], "at least 1, not 0"),
    ],
)
def test_options_that_cannot_be_get_one_sentence_before_anything_runs(
    arguments: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert sentence in refused(capsys, "synthetic", *arguments, "--out", out)
    assert not out.exists()
