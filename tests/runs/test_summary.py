import json
from pathlib import Path
from typing import Any

import pytest

from bayesgan.base.errors import BayesganError
from bayesgan.runs.images import Training
from bayesgan.runs.summary import read_summary
from tests.helpers.trained import spoilt, trained

Once = tuple[Training, dict[str, Any]]


def test_a_summary_comes_back_as_it_was_written(once: Once) -> None:
    training, summary = once
    found = read_summary(training.folder, "train again")
    assert found.model_dump(mode="json") == {name: summary[name] for name in type(found).model_fields}


def test_a_run_without_labels_has_no_errors(tmp_path: Path) -> None:
    trained(tmp_path, labels=0)
    found = read_summary(tmp_path, "train again")
    assert (found.labels, found.test_errors, found.test_error) == (0, None, None)
    assert found.generated_called_real is not None


@pytest.mark.parametrize(
    "values",
    [
        {"dataset": "moons"},
        {"labels": -1},
        {"split": "train"},
        {"iterations": 0},
        {"train_shape": [1297, 8, 8]},
        {"test_errors": 501},
        {"test_error": float("nan")},
        {"seconds": -1.0},
        {"seconds": "x"},
        {"threads": 0},
    ],
    ids=str,
)
def test_wrong_values_get_a_sentence_with_the_remedy(folder: Path, values: dict[str, Any]) -> None:
    spoilt(folder, "summary.json", **values)
    with pytest.raises(BayesganError, match=r"summary\.json is damaged \(.*\): train again\."):
        read_summary(folder, "train again")


def test_a_missing_value_is_named(folder: Path) -> None:
    content = json.loads((folder / "summary.json").read_text())
    del content["seconds_per_epoch"]
    (folder / "summary.json").write_text(json.dumps(content))
    with pytest.raises(BayesganError, match=r"is damaged \(seconds_per_epoch: Field required\)"):
        read_summary(folder, "train again")


def test_without_a_summary_there_is_a_sentence(folder: Path) -> None:
    (folder / "summary.json").unlink()
    with pytest.raises(BayesganError, match=r"Cannot read .*summary\.json"):
        read_summary(folder, "train again")
