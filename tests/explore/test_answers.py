import base64
import gc
import io
import socket
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch
from PIL import Image

from bayesgan.base.errors import BayesganError
from bayesgan.data.labels import LabelledImages, LabelledSet
from bayesgan.explore import html as page_html
from bayesgan.explore import pad
from bayesgan.explore.answers import MOST, Explorer, between_noise
from bayesgan.explore.drawings import Paper, as_trained, paper_of
from bayesgan.posterior.average import Uncertainty
from bayesgan.posterior.posterior import Posterior, load
from bayesgan.runs.images import Task, Training
from bayesgan.settings.names import Method

pytestmark = pytest.mark.usefixtures("one_thread")
SMALL = {"iterations": 10, "burn_in": 4, "thin": 3, "generators": 2, "discriminators": 2, "generator_width": 4}
SMALL |= {"discriminator_width": 4}


def trained(folder: Path, method: Method = "bayesgan", labels: int = 50, **changes: object) -> Explorer:
    training = Training(
        Task("digits", labels, method=method, overrides=SMALL | changes), folder, folder, torch.device("cpu")
    )
    training.train()
    return Explorer(load(folder), training.data)


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Explorer:
    return trained(tmp_path_factory.mktemp("explore") / "run")


# Drawings


def drawn(ink: np.ndarray) -> np.ndarray:
    """Black strokes on nothing, (height, width, 4)."""
    sheet = np.zeros((*ink.shape, 4), np.uint8)
    sheet[..., 3] = ink
    return sheet


def test_a_drawing_becomes_white_on_black_in_the_middle_with_the_margin_of_the_training_images() -> None:
    ink = np.zeros((280, 280), np.uint8)
    ink[10:110, 200:250] = 255  # in a corner, twice as tall as wide
    picture = as_trained(drawn(ink), (1, 28, 28), Paper(dark=True, fill=20 / 28))
    assert picture is not None
    rows, columns = np.nonzero(picture[0])
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (4, 23, 9, 18)
    assert set(np.unique(picture)) == {0, 255}
    light = as_trained(drawn(ink), (1, 28, 28), Paper(dark=False, fill=20 / 28))
    assert light is not None
    assert (light == 255 - picture).all()


def test_a_drawing_for_networks_of_colour_images_keeps_its_colours_and_its_place() -> None:
    sheet = drawn(np.zeros((280, 280), np.uint8))
    sheet[:140, :140] = (255, 0, 0, 255)
    picture = as_trained(sheet, (3, 32, 32), Paper())
    assert picture is not None
    assert picture[:, 5, 5].tolist() == [255, 0, 0]
    assert picture[:, 25, 25].tolist() == [255, 255, 255]


def test_an_empty_sheet_is_no_drawing() -> None:
    assert as_trained(drawn(np.zeros((280, 280), np.uint8)), (1, 8, 8), Paper()) is None


def test_the_paper_is_that_of_the_training_images() -> None:
    images = np.zeros((5, 1, 20, 20), np.uint8)
    images[:, :, 5:15, 8:12] = 200
    assert paper_of(images) == Paper(dark=True, fill=0.5)
    assert paper_of(255 - images) == Paper(dark=False, fill=0.5)


def test_a_digit_of_the_data_set_drawn_large_comes_back_as_it_was(explorer: Explorer) -> None:
    assert isinstance(explorer.data, LabelledImages)
    digit = next(image for image in explorer.data.images.test[:, 0] if image[[0, -1]].max(1).min() > 200)
    columns = np.flatnonzero(digit.max(0) > 64)
    picture = as_trained(drawn(digit.repeat(35, 0).repeat(35, 1)), (1, 8, 8), Paper(fill=1.0))
    assert picture is not None
    width = columns[-1] - columns[0] + 1
    left = (8 - width) // 2
    found = picture[0, :, left : left + width].astype(int)
    assert np.abs(found - digit[:, columns[0] : columns[-1] + 1]).max() <= 1


def test_what_the_browser_sends_is_read_or_refused_in_a_sentence() -> None:
    def sent(side: int) -> str:
        buffer = io.BytesIO()
        Image.new("RGBA", (side, side), (0, 0, 0, 255)).save(buffer, "PNG")
        return pad.START + base64.b64encode(buffer.getvalue()).decode()

    found = pad.received(sent(pad.SIDE))
    assert found is not None
    assert found.shape == (pad.SIDE, pad.SIDE, 4)
    assert pad.received(None) is None
    good = sent(pad.SIDE)
    for bad in (sent(5000), good[:200], "data:image/png;base64,####", "nonsense", 7, pad.START + "A" * pad.LONGEST):
        with pytest.raises(BayesganError, match="draw it again"):
            pad.received(bad)


# What is shown


def test_pictures_are_enlarged_by_whole_factors_and_captions_are_below_them() -> None:
    html = page_html.pictures(np.zeros((2, 28, 28), np.uint8), ["one", "two"])
    assert html.count('width="84" height="84"') == 2
    assert "<figcaption>two</figcaption>" in html
    assert 'width="128"' in page_html.pictures(np.zeros((1, 64, 64, 3), np.uint8))


def test_names_of_classes_are_text_and_nothing_else() -> None:
    classes = ["<script>alert(1)</script>", "$\\frac{", "c"]
    average = np.array([[0.6, 0.3, 0.1]])
    nothing = np.array([np.nan])
    found = Uncertainty(average, np.array([0.9]), np.array([0.8]), np.array([0.1]), nothing)
    html = page_html.verdict(np.zeros((8, 8), np.uint8), average.repeat(3, 0), found, classes)
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "these networks do not say" in html


def test_of_many_classes_the_likeliest_are_plotted() -> None:
    average = np.full(200, 1 / 200)
    png = page_html.dots(average[None].repeat(2, 0), average, [f"class {number}" for number in range(200)])
    assert png.startswith(b"\x89PNG")


# Questions


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


def test_questions_that_come_at_once_get_the_answers_of_questions_one_by_one(explorer: Explorer) -> None:
    pytest.importorskip("gradio", reason="Gradio is not installed")
    from bayesgan.explore.page import answered

    ask = answered(explorer.generated)
    questions = [([number % 4], 6, number) for number in range(24)]
    alone = [explorer.generated(*question) for question in questions]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda question: ask(*question), questions)) == alone


# Runs that cannot do everything


def test_a_run_without_generators_says_so(tmp_path: Path) -> None:
    assert "supervised" in get_args(Method)
    found = trained(tmp_path / "run", method="supervised", generators=0)
    assert found.no_pictures is not None
    assert "no generators" in found.no_pictures
    assert found.no_classes is None
    assert found.orders == ["entropy", "mutual information"]


def test_a_run_without_labels_says_so(tmp_path: Path) -> None:
    found = trained(tmp_path / "run", labels=0)
    assert found.no_pictures is None
    assert found.no_classes is not None
    assert "without labels" in found.no_classes


def test_a_tab_that_cannot_be_filled_has_the_sentence(explorer: Explorer) -> None:
    gradio = pytest.importorskip("gradio", reason="Gradio is not installed")
    from bayesgan.explore.page import page

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # Gradio leaves event loops to the garbage collector
        blocks = page(Explorer(explorer.posterior, BayesganError("mnist is missing.")), "a run")
        texts = [block.value for block in blocks.blocks.values() if isinstance(block, gradio.HTML)]
        del blocks
        gc.collect()
    assert texts.count(page_html.sentence("mnist is missing.")) == 2


def test_a_port_that_is_taken_is_a_sentence(explorer: Explorer) -> None:
    pytest.importorskip("gradio", reason="Gradio is not installed")
    from bayesgan.explore.page import launch

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(BayesganError, match="give another --port"):
            launch(explorer, "a run", "127.0.0.1", taken.getsockname()[1], print)


def test_without_gradio_the_command_says_what_to_install(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['gradio'] = None; from bayesgan.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", hidden, "explore", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.strip() == "Error: Gradio is missing: pip install 'bayesgan[explore]'."


def test_without_the_images_of_the_run_the_rest_can_be_asked(explorer: Explorer) -> None:
    found = Explorer(explorer.posterior, BayesganError("mnist is missing."))
    assert found.no_images == "mnist is missing."
    assert found.no_classes is None
    assert found.no_pictures is None
