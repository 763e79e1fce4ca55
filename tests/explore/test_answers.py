"""Answers to the questions that the page asks."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from bayesgan.base.errors import BayesganError
from bayesgan.data.labels import LabelledImages, LabelledSet
from bayesgan.explore import html as page_html
from bayesgan.explore import pad
from bayesgan.explore.answers import MOST, Explorer, between_noise
from bayesgan.posterior.posterior import Posterior
from tests.helpers.drawn import drawn
from tests.helpers.explored import explored

pytestmark = pytest.mark.usefixtures("one_thread")


def test_every_chosen_generator_has_a_row_of_pictures(explorer: Explorer) -> None:
    html = explorer.generated([0, 3], 5, 1)
    assert html.count("<img") == 10
    assert explorer.names[3] in html
    assert html == explorer.generated([0, 3], 5, 1)
    assert html != explorer.generated([0, 3], 5, 2)
    assert [explorer.names[number] for number in explorer.newest] == ["iteration 10, chain 1", "iteration 10, chain 2"]
    with pytest.raises(BayesganError, match="Choose at least one generator"):
        explorer.generated([], 5, 1)


def test_the_ends_of_a_walk_are_the_generators_and_the_noise_vectors(explorer: Explorer) -> None:
    def point(html: str) -> str:
        return html[html.index("src=") : html.index("width=")]

    first = page_html.pictures(explorer.posterior.draw(explorer.posterior.noise(1, 5), [explorer._generators[0]]))
    last = page_html.pictures(explorer.posterior.draw(explorer.posterior.noise(1, 6), [explorer._generators[3]]))
    assert point(explorer.walked(0, 3, 0.0, 5, 6, 0.0)) == point(first)
    assert point(explorer.walked(0, 3, 1.0, 5, 6, 1.0)) == point(last)


def test_noise_keeps_its_length_on_the_way() -> None:
    one, other = torch.tensor([[3.0, 0.0]]), torch.tensor([[0.0, 3.0]])
    for share in (0.0, 0.3, 0.5, 1.0):
        assert between_noise(one, other, share).norm().item() == pytest.approx(3.0, rel=1e-5)
    assert torch.equal(between_noise(one, one, 0.4), one)


def test_a_drawing_and_a_file_are_judged_by_every_network(explorer: Explorer, tmp_path: Path) -> None:
    ink = np.zeros((pad.SIDE, pad.SIDE), np.uint8)
    ink[40:240, 130:160] = 255
    html = explorer.judged_drawing(drawn(ink))
    networks = len(explorer.posterior.predict_proba_each(np.zeros((1, 8, 8), np.uint8)))
    assert f"the {networks} sampled networks" in html
    for word in ("entropy", "mutual information", "fake", "class probabilities of every network"):
        assert word in html
    Image.new("RGB", (50, 40), "white").save(tmp_path / "photo.jpg")
    assert "sampled networks" in explorer.judged_file(str(tmp_path / "photo.jpg"))


def test_a_broken_upload_and_an_empty_sheet_get_a_sentence(explorer: Explorer, tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes(b"no picture at all")
    with pytest.raises(BayesganError, match=r"broken\.png cannot be read as a picture: not a picture\."):
        explorer.judged_file(str(tmp_path / "broken.png"))
    for nothing in (None, drawn(np.zeros((280, 280), np.uint8))):
        with pytest.raises(BayesganError, match="Draw something"):
            explorer.judged_drawing(nothing)


def test_the_least_sure_test_images_come_first(explorer: Explorer) -> None:
    html = explorer.least_sure(12, "entropy")
    assert html.count("<img") == 12
    assert "Among all 500 test images" in html
    assert isinstance(explorer.data, LabelledImages)
    images = explorer.data.images
    entropy = explorer.posterior.uncertainty(images.test[:, 0]).total_entropy
    first = page_html.pictures(images.test[[entropy.argmax()], 0])
    assert first[first.index("src=") : first.index("width=")] in html[: html.index("figcaption")]


def test_images_to_label_are_unlabelled_ones_of_which_some_are_looked_at(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    html = explorer.to_label(4, 0)
    assert html.count("<img") == 4
    assert html.count("<br>information ") == 4
    with monkeypatch.context() as patch:
        patch.setattr(Posterior, "doubt", "total_entropy")  # as of one network
        assert explorer.to_label(4, 0).count("<br>entropy ") == 4
    assert "Among all 1,247 unlabelled training images" in html
    data = explorer.data
    assert isinstance(data, LabelledImages)
    more = np.concatenate([data.images.train, data.images.train])
    many = Explorer(explorer.posterior, replace(data, images=replace(data.images, train=more)))
    assert f"Among {MOST:,} of 2,544 unlabelled" in many.to_label(2, 0)
    everything = LabelledSet(np.arange(len(data.images.train)), "")
    with pytest.raises(BayesganError, match="has a label already"):
        Explorer(explorer.posterior, replace(data, labelled=everything)).to_label(4, 0)


# Runs that cannot do everything


def test_a_run_without_generators_says_so(tmp_path: Path) -> None:
    found = explored(tmp_path / "run", method="supervised", generators=0)
    assert found.no_pictures is not None
    assert "no generators" in found.no_pictures
    assert found.no_classes is None
    assert found.orders == ["entropy", "mutual information"]


def test_a_run_without_labels_says_so(tmp_path: Path) -> None:
    found = explored(tmp_path / "run", labels=0)
    assert found.no_pictures is None
    assert found.no_classes is not None
    assert "without labels" in found.no_classes


def test_without_the_images_of_the_run_the_rest_can_be_asked(explorer: Explorer) -> None:
    found = Explorer(explorer.posterior, BayesganError("mnist is missing."))
    assert found.no_images == "mnist is missing."
    assert found.no_classes is None
    assert found.no_pictures is None
