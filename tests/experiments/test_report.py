import base64
import io
import re
from copy import deepcopy
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.stats import entropy

from bayesgan.errors import BayesganError
from bayesgan.experiments.images import Task, Training
from bayesgan.experiments.report import write_report
from bayesgan.methods import ImageMethod

SMALL = {"iterations": 6, "generator_width": 4, "discriminator_width": 4}
METHODS: tuple[ImageMethod, ...] = ("bayesgan", "dcgan", "supervised")

Finished = tuple[list[Training], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    folder = tmp_path_factory.mktemp("runs")
    trainings = [
        Training(
            Task("digits", 50, 3, method, "fast", 7, overrides=SMALL), folder / method, Path(), torch.device("cpu")
        )
        for method in METHODS
    ]
    return trainings, [each.train() for each in trainings]


@pytest.fixture(scope="module")
def page(finished: Finished, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    write_report(*finished, folder / "report.html")
    assert [path.name for path in folder.iterdir()] == ["report.html"]
    return (folder / "report.html").read_text(encoding="utf-8")


class Elements(HTMLParser):
    """Every element with its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attributes)))


def words(page: str) -> str:
    """What a reader sees, the space between words made one blank."""
    return " ".join(unescape(re.sub("<style.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL)).split())


def pictures(page: str) -> list[np.ndarray]:
    addresses = [attributes["src"] or "" for tag, attributes in Elements(page).found if tag == "img"]
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(each.partition(",")[2])))) for each in addresses]


def test_the_page_needs_no_other_file(page: str) -> None:
    assert page.startswith("<!doctype html>")
    assert "http:" not in page
    assert "https:" not in page
    assert "@import" not in page
    assert all(address.startswith("#") for address in re.findall(r"url\(([^)]*)\)", page))
    for tag, attributes in Elements(page).found:
        assert tag not in ("script", "link", "iframe", "object", "embed")
        for name in ("src", "href", "xlink:href", "srcset", "data"):
            assert (attributes.get(name) or "#").startswith(("#", "data:image/png;base64,"))


def test_the_page_tells_what_was_done(finished: Finished, page: str) -> None:
    text = words(page)
    sha256 = finished[0][0].labelled.sha256
    assert "1297 training images of the data set digits (8×8 pixels), of which only 50 showed their label" in text
    assert f"subset 3, seed 7, sha256 of the labelled set {sha256} ." in text
    assert "bayesgan demo --seed 7 --subset 3 --threads" in text
    assert f"torch {torch.__version__}" in text
    assert "discriminator_width 4 4 4" in text
    assert "game jensen-shannon jensen-shannon classification" in text
    assert not any("open" in attributes for tag, attributes in Elements(page).found if tag == "details")


def test_the_tables_hold_the_summaries_and_mark_the_best(finished: Finished, page: str) -> None:
    text, summaries = words(page), finished[1]
    best = min(each["test_errors"] for each in summaries)
    assert "errors of 500" in text
    for each in summaries:
        name = each["method"] + (" (best)" if each["test_errors"] == best else "")
        assert f"{name} {each['test_errors']} {each['test_error']:.1%} {each['networks']} {each['seconds']:.0f}" in text
    for each in summaries[:2]:
        assert f"{each['method']} {each['generated_called_real']:.1%} {each['test_called_fake']:.1%}" in text
    assert "supervised – –" in text


def test_the_curves_are_named_and_take_their_colours_from_the_page(page: str) -> None:
    svg = page[page.index("<svg") : page.index("</svg>")]
    assert [label for label in re.findall(">([^<>]+)</text>", svg) if label.strip(" →0123456789.%")][-4:] == [
        "bayesgan: present chains",
        "bayesgan: model average",
        "dcgan",
        "supervised",
    ]
    for name in ("--line-0", "--line-1", "--line-2"):
        assert f"stroke: var({name})" in svg
        assert len(re.findall(f"{name}: #", page)) == 2  # light and dark
    assert not re.search("(stroke|fill): #", svg)


def test_six_generators_are_shown_beside_real_images(finished: Finished, page: str) -> None:
    panels = page.split('<figure class="panel">')[1:]
    captions = [re.findall("<figcaption>(.*?)</figcaption>", each)[0] for each in panels]
    chains = [f"chain {chain}, iteration 6" for chain in (1, 2, 3, 4)]
    assert captions == [*chains, "chain 1, iteration 5", "chain 2, iteration 5"]
    shown = pictures(page)
    assert {each.shape for each in shown} == {(8, 8)}
    assert len(np.unique(np.stack(shown[:60]), axis=0)) == 60
    np.testing.assert_array_equal(np.stack(shown[60:120]), finished[0][0].images.train[:60, 0])


def test_the_least_sure_test_images_are_shown_with_what_is_thought_of_them(finished: Finished, page: str) -> None:
    training = finished[0][0]
    probabilities = training.average.probabilities.numpy()
    order = np.argsort(-entropy(probabilities, axis=1))
    labels, shown = training.images.test_labels, pictures(page)[120:]
    wrong = probabilities.argmax(1) != labels
    least, surest = int(wrong[order[:50]].sum()), int(wrong[order[250:]].sum())
    text = words(page)
    assert f"by the entropy of its prediction, {least} are wrong ({least / 50:.1%})" in text
    assert f"that it is surest of, {surest} ({surest / 250:.1%})" in text
    cards = re.findall(r'<li( class="wrong")?>(.*?)</li>', page, flags=re.DOTALL)
    assert len(cards) == len(shown) == 24
    for (marked, card), picture, index in zip(cards, shown, order, strict=False):
        np.testing.assert_array_equal(picture, training.images.test[index, 0])
        assert bool(marked) == ("✗" in card) == wrong[index]
        first, second = np.argsort(-probabilities[index])[:2]
        cross = "✗ " if wrong[index] else ""
        expected = f"true: {labels[index]} {cross}{first} {probabilities[index, first]:.1%}"
        assert words(card) == f"{expected} {second} {probabilities[index, second]:.1%}"


def test_text_cannot_become_markup(finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainings, summaries = finished
    hostile = '"><script>alert(1)</script>'
    monkeypatch.setattr(trainings[0].run, "environments", [trainings[0].run.environments[0] | {"processor": hostile}])
    summaries = deepcopy(summaries)
    summaries[1]["method"] = hostile
    write_report(trainings, summaries, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 4  # two tables, the settings, the machine
    assert "need not give the same bits" in words(page)  # there are two machines now


def test_a_report_that_cannot_be_written_leaves_nothing_behind(finished: Finished, tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(BayesganError, match="Cannot write"):
        write_report(*finished, tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
