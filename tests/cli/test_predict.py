"""``bayesgan predict``."""

import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import bayesgan as package
from tests.helpers.commands import bayesgan, refused


def test_predict(run: Path, pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted((pictures / "test" / "3").iterdir())[:3]
    broken = tmp_path / "broken [bold].png"
    broken.write_text("no")
    done = bayesgan(capsys, "predict", run, *files, broken, "--format=csv")
    assert done.code == 0
    assert "broken [bold].png is left out: not a picture." in done.errors
    rows = list(csv.DictReader(io.StringIO(done.output)))
    assert [row["file"] for row in rows] == [str(file) for file in files]
    assert list(rows[0]) == ["file", "class", "probability", "entropy", "mutual_information", "fake"]
    posterior = package.load(run)
    x = np.stack([np.asarray(Image.open(file)) for file in files])
    found = posterior.uncertainty(x)
    for number, row in enumerate(rows):
        assert row["class"] == posterior.classes[found.probabilities[number].argmax()]
        assert float(row["probability"]) == pytest.approx(found.probabilities[number].max())
        assert float(row["entropy"]) == pytest.approx(found.total_entropy[number])
        assert float(row["mutual_information"]) == pytest.approx(found.mutual_information[number])
        assert float(row["fake"]) == pytest.approx(found.fake[number])
    as_json = json.loads(bayesgan(capsys, "predict", run, *files, "--format=json").output)
    assert [each["class"] for each in as_json] == [row["class"] for row in rows]
    table = bayesgan(capsys, "predict", run, *files).output
    assert f"{found.probabilities[0].max():.3f}" in table
    whole = json.loads(bayesgan(capsys, "predict", run, pictures / "test" / "3", "--format=json").output)
    assert len(whole) == len(list((pictures / "test" / "3").iterdir()))
    assert "None of the files" in refused(capsys, "predict", run, broken, tmp_path / "nowhere.png")
    (tmp_path / "empty").mkdir()
    mixed = tmp_path / "mixed"
    shutil.copytree(pictures / "test" / "3", mixed)
    (mixed / "photo.heic").touch()
    some = bayesgan(capsys, "predict", run, tmp_path / "empty", mixed, "--format=json")
    assert len(json.loads(some.output)) == len(whole)
    assert "empty has no pictures" in some.errors
    assert "photo.heic: not named like a picture; left out." in some.errors
    assert "holds no run" in refused(capsys, "predict", tmp_path, *files)
