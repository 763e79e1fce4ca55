"""The pictures and the two runs that all tests of the command line share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from bayesgan.base import environment
from bayesgan.data.folder import OwnImages
from bayesgan.data.images import load
from bayesgan.data.labels import LabelledImages, labelled_set
from bayesgan.data.write import write_folders
from bayesgan.runs.images import Task, Training

SMALL = {"iterations": 12, "generator_width": 4, "discriminator_width": 4}


@pytest.fixture(autouse=True)
def _one_core(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For networks as small as these a second thread takes longer; commands choose as many as there are cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(environment, "cores", lambda: 1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Digits as PNG files, 60 of them labelled."""
    folder = tmp_path_factory.mktemp("digits")
    images = load("digits", Path())
    write_folders(LabelledImages(images, labelled_set("digits", images.train_labels, 60, 0)), folder)
    return folder


@pytest.fixture(scope="session")
def run(pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of a few iterations on these pictures."""
    own = OwnImages(str(pictures / "train"), test_images=str(pictures / "test"))
    task = Task("own", "all", overrides=SMALL, own=own, like="digits")
    return trained(task, tmp_path_factory.mktemp("run") / "run")


@pytest.fixture(scope="session")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of 'bayesgan train' with the options tests.helpers.quick.DIGITS."""
    return trained(Task("digits", 20, every=100, overrides=SMALL), tmp_path_factory.mktemp("known") / "run")


def trained(task: Task, folder: Path) -> Path:
    threads = torch.get_num_threads()
    Training(task, folder, Path(), environment.use("cpu", 1)).train()
    torch.set_num_threads(threads)
    return folder
