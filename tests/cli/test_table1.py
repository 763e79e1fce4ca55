"""``bayesgan table1``: its options; the grid is tested in tests/paper."""

from pathlib import Path

import pytest

from tests.helpers.commands import refused


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--datasets=imagenet"], "--datasets: 'imagenet' is not one of digits, mnist"),
        (["--methods=bayesgan,svm"], "--methods: 'svm' is not one of bayesgan, dcgan"),
        (["--labels=10,0"], "--labels: '0' is not a whole number of at least 1"),
        (["--set=temperature"], "not of the form NAME=VALUE"),
        (["--set=nonsense=1"], "There is no setting 'nonsense'"),
        (["--subsets=0"], "greater than or equal to 1"),
        (["--engine=ray", "--workers=2"], "--workers is for --engine local"),
        (["--gpus-per-run=1"], "--gpus-per-run is for --engine ray"),
        (["--engine=ray", "--gpus-per-run=1"], "does not go with --device cpu"),
        (["--engine=ray", "--device=cuda", "--gpus-per-run=2"], "more than a run can use"),
        (["--engine=ray", "--device=cuda:1"], "give --device cuda, not cuda:1"),
        (["--device=abacus"], "cannot be used on this machine"),
    ],
)
def test_options_that_cannot_be_get_one_sentence_before_anything_runs(
    arguments: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert sentence in refused(capsys, "table1", "--datasets=digits", "--labels=20", *arguments, "--out", out)
    assert not out.exists()
