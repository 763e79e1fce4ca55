"""The report as a page: all of its parts, every figure in its place, nothing that a name could smuggle in."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.stats import entropy
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss

from bayesgan.base.errors import BayesganError
from bayesgan.data.folder import OwnImages
from bayesgan.data.labels import LabelledImages
from bayesgan.report.report import write_report
from bayesgan.report.runs import command, finished
from bayesgan.runs.images import Task, Training
from bayesgan.runs.saved import SavedRun, load, read_run
from tests.helpers.pages import Elements, headings, part, pictures, words

CPU = torch.device("cpu")
SMALL = {"iterations": 6, "generator_width": 4, "discriminator_width": 4}
HOSTILE = '"><script>alert(1)<|script>'  # a folder's name has no slash

Finished = tuple[list[Training], list[dict[str, Any]]]

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def unsupervised(tmp_path_factory: pytest.TempPathFactory) -> Training:
    training = Training(Task("digits", 0, overrides=SMALL), tmp_path_factory.mktemp("runs") / "free", Path(), CPU)
    training.train()
    return training


def saved(trainings: list[Training]) -> list[tuple[SavedRun, LabelledImages]]:
    return [(read_run(each.folder), each.data) for each in trainings]


def written(runs: list[tuple[SavedRun, LabelledImages]], folder: Path, made_by: str | None = None) -> str:
    write_report(runs, folder / "report.html", made_by)
    assert [path.name for path in folder.iterdir()] == ["report.html"]
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(three: Finished, tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(saved(three[0]), tmp_path_factory.mktemp("report"))


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


def test_the_page_has_every_part(page: str) -> None:
    assert headings(page) == [
        "Bayesian GAN: Digits, 50 labels, subset 3",
        "Errors",
        "During training",
        "What the generators draw",
        "The posterior in two dimensions",
        "Is it a posterior?",
        "Calibration",
        "Sure and unsure",
        "Real or generated?",
        "The labelled images",
        "How this was made",
    ]


def test_the_page_tells_what_was_done(three: Finished, page: str) -> None:
    text = words(page)
    assert (
        "1,297 training images of the data set digits (8×8 pixels, grey), 50 of them with a label; 10 classes" in text
    )
    assert "and 500 test images" in text
    assert f"Subset 3: sha256 {three[0][0].labelled.sha256}" in text
    assert f"torch {torch.__version__}" in text
    assert "discriminator_width 4 4 4" in text
    assert "game jensen-shannon jensen-shannon jensen-shannon" in text
    assert re.search(r"\bgenerators 4 1 0\b", text)


def test_the_tables_hold_the_summaries_and_the_scores(three: Finished, page: str) -> None:
    trainings, summaries = three
    text = words(part(page, "Errors"))
    best = min(each["test_errors"] for each in summaries)
    for training, each, name in zip(trainings, summaries, ("BayesGAN", "DCGAN", "Supervised"), strict=True):
        probabilities, labels = training.average.probabilities.numpy(), training.images.test_labels
        brier = ((probabilities - np.eye(10)[labels]) ** 2).sum(1).mean()
        note = " fewest errors" if each["test_errors"] == best else ""
        figures = f"{log_loss(labels, probabilities, labels=range(10)):.3f} {brier:.3f}"
        assert f"{name}{note} {each['test_errors']} {each['test_error']:.2%} {figures} " in text
        assert f"% {each['networks']} {each['seconds']:.0f}" in text
    assert "paper" not in text.lower()  # which knows nothing of these digits
    text = words(part(page, "Real or generated?"))
    for each, name in zip(summaries[:2], ("BayesGAN", "DCGAN"), strict=True):
        assert f"{name} {each['generated_called_real']:.1%} {each['test_called_fake']:.1%}" in text
    assert "Supervised – –" in text


def test_the_charts_take_their_colours_from_the_page(page: str) -> None:
    charts = re.findall("<svg.*?</svg>", page, flags=re.DOTALL)
    drawn = [each for each in charts if "viewBox" in each and "<line" not in each]
    assert len(drawn) == 3 + 2 + 3  # curves, planes of the Bayesian GAN, reliability of all
    for svg in charts:
        assert not re.search("(stroke|fill): #", svg)
        assert " id=" not in re.sub("<defs>.*?</defs>", "", svg, flags=re.DOTALL)  # an id may stand once in a page
    for number in range(7):
        assert len(re.findall(f"--line-{number}: #", page)) == 2  # light and dark
    curves = part(page, "During training")
    assert words(curves).startswith("BayesGAN DCGAN Supervised Test error")
    for number in range(3):
        assert f'stroke="var(--line-{number})"' in curves  # the legend
        assert f"stroke: var(--line-{number})" in curves


def test_the_error_curves_have_a_point_for_each_evaluation(three: Finished, page: str) -> None:
    svg = part(page, "During training").split("<h3>Test error</h3>")[1].split("</svg>")[0]
    lines = re.findall(r'<path d="([^"]*)"[^>]*stroke: var\(--line-0\)', svg)
    metrics = three[0][0].run.metrics
    averages = [each for each in metrics if each["average_error"] is not None]
    assert [len(re.findall("[ML]", each)) for each in lines] == [len(metrics), len(averages)]


def test_every_generator_of_the_last_sample_is_shown_beside_real_images(three: Finished, page: str) -> None:
    drawn = part(page, "What the generators draw")
    chains = [f"chain {chain}, iteration 6" for chain in (1, 2, 3, 4)]
    captions = re.findall("<figcaption>(.*?)</figcaption>", drawn)
    assert captions == [*chains, "chain 1, iteration 5", "chain 2, iteration 5", "chain 1, iteration 6"]
    shown = pictures(drawn)
    np.testing.assert_array_equal(np.stack(shown[:60]), three[0][0].images.train[:60, 0])
    for training, first in zip(three[0][:2], (60, 120), strict=True):
        drawn_by = training.posterior.latest(6, 10, training.task.seed)
        wanted = torch.cat([each.pictures for each in drawn_by])[:, 0].numpy()
        np.testing.assert_array_equal(np.stack(shown[first : first + len(wanted)]), wanted)


def test_the_posterior_is_laid_out_where_it_has_networks_enough(page: str) -> None:
    text = words(re.sub("<svg.*?</svg>", "", part(page, "The posterior in two dimensions"), flags=re.DOTALL))
    assert "DCGAN, Supervised: too few networks" in text
    for side in ("generators", "discriminators"):
        assert f"BayesGAN: {side} 4 chains × 2 samples, iterations 5 to 6" in text
    assert re.findall(">([1-9])</text>", part(page, "The posterior in two dimensions")) == ["1", "2", "3", "4"] * 2


def test_whether_it_is_a_posterior_is_said_of_what_was_sampled(three: Finished, page: str) -> None:
    found = load(three[0][0].folder).diagnose(three[0][0].images.test[:, 0])
    text = words(part(page, "Is it a posterior?"))
    assert f"BayesGAN: {found.verdict}" in text
    assert "DCGAN" not in text
    for side, of in found.sides.items():
        assert of.radius is not None
        norms = f"{of.norm_first:.3g} to {of.norm_last:.3g} {of.radius:.3g}"
        temperatures = f"{of.kinetic:.3g} {of.configurational:.3g} {of.predicted:.3g}"
        assert f"BayesGAN: {side} {of.moved:.1%} {norms} {temperatures} – – –" in text  # too few draws to mix


def test_sure_and_unsure_images_are_shown_with_what_is_thought_of_them(three: Finished, page: str) -> None:
    training = three[0][0]
    probabilities, labels = training.average.probabilities.float().double().numpy(), training.images.test_labels
    entropies = entropy(probabilities, axis=1)
    order = np.argsort(-entropies, kind="stable")
    wrong = probabilities.argmax(1) != labels
    least, surest = int(wrong[order[:50]].sum()), int(wrong[order[250:]].sum())
    sure = part(page, "Sure and unsure")
    assert f"BayesGAN {least} wrong ({least / 50:.1%}) {surest} wrong ({surest / 250:.1%})" in words(sure)
    main, *others = re.findall("<details.*?</details>", sure, flags=re.DOTALL)
    assert [words(each)[:6] for each in others] == ["DCGAN ", "Superv"]
    assert main.startswith("<details open>")
    assert not any(each.startswith("<details open") for each in others)
    cards = re.findall(r'<li( class="wrong")?>(.*?)</li>', main, flags=re.DOTALL)
    shown = [*order[:24], *order[:-13:-1]]
    disagreement = _mutual_information(training)
    for (marked, card), picture, index in zip(cards, pictures(main), shown, strict=True):
        np.testing.assert_array_equal(picture, training.images.test[index, 0])
        assert bool(marked) == ("✗" in card) == wrong[index]
        first, second = np.argsort(-probabilities[index], kind="stable")[:2]
        cross = "✗ " if wrong[index] else ""
        expected = f"true: {labels[index]} {cross}{first} {probabilities[index, first]:.1%}"
        expected += f" {second} {probabilities[index, second]:.1%} entropy {entropies[index]:.2f}"
        assert words(card) == f"{expected} disagree {disagreement[index]:.2f}"
    assert all("disagree" not in each for each in others)  # one network cannot


def _mutual_information(training: Training) -> np.ndarray:
    samples = training.run.samples
    each = torch.cat(
        [
            training.average.predict(samples.load(n, "discriminators"), samples.load(n, "discriminator_statistics"))[0]
            for n in samples.iterations
        ]
    ).numpy()
    return np.asarray(entropy(each.mean(0), axis=-1) - entropy(each, axis=-1).mean(0))


def test_the_labelled_images_are_shown_by_class(three: Finished, page: str) -> None:
    training = three[0][0]
    indices, labels = training.labelled.indices, training.images.train_labels
    order = [index for label in range(10) for index in indices[labels[indices] == label]]
    labelled = part(page, "The labelled images")
    np.testing.assert_array_equal(np.stack(pictures(labelled)), training.images.train[order, 0])
    titles = [attributes["title"] for tag, attributes in Elements(labelled).found if tag == "img"]
    assert titles == [f"training image {index}" for index in order]


def test_the_command_is_the_one_that_makes_the_page(three: Finished, page: str, tmp_path: Path) -> None:
    made = words(part(page, "How this was made"))
    for training in three[0]:
        assert command(training.task, training.folder, training.run.environments[-1]) in made
    assert "bayesgan demo --seed 7" in words(
        part(written(saved(three[0]), tmp_path, "bayesgan demo --seed 7"), "How this was made")
    )


def test_runs_without_labels_and_other_data_have_parts_of_their_own(
    three: Finished, unsupervised: Training, tmp_path: Path
) -> None:
    page = written(saved([unsupervised, three[0][2]]), tmp_path)
    every = headings(page)
    free = ["During training", "What the generators draw", "The posterior in two dimensions", "Is it a posterior?"]
    free += ["Real or generated?"]
    labelled = ["Errors", "During training", "Calibration", "Sure and unsure", "The labelled images"]
    assert every == [
        "Bayesian GAN: 2 runs",
        *("Digits, no labels", *free, "How this was made"),
        *("Digits, 50 labels, subset 3", *labelled, "How this was made"),
    ]
    assert "errors can be compared within such a part, not between parts" in words(page)
    names = [attributes["href"] for tag, attributes in Elements(page).found if tag == "a"]
    assert [f"#{attributes['id']}" for tag, attributes in Elements(page).found if tag == "h1" and attributes] == names


def test_runs_of_one_method_are_told_apart_by_their_folders(three: Finished, tmp_path: Path) -> None:
    twin = tmp_path / "twin" / "dcgan"
    shutil.copytree(three[0][1].folder, twin)
    other = tmp_path / "other"
    shutil.copytree(three[0][1].folder, other)
    folders = [other, twin, three[0][1].folder, twin]  # the same one twice is one
    (tmp_path / "page").mkdir()
    page = written(list(finished(folders, Path())), tmp_path / "page")
    names = [words(each) for each in re.findall('<th scope="row">(.*?)<', part(page, "Errors"), flags=re.DOTALL)]
    assert names == ["DCGAN (other)", f"DCGAN ({twin})", f"DCGAN ({three[0][1].folder})"]
    assert "fewest errors" not in page


def test_text_cannot_become_markup(tmp_path: Path) -> None:
    digits = load_digits()
    for number, (pixels, label) in enumerate(zip(digits.images[:60], digits.target[:60], strict=True)):
        folder = tmp_path / HOSTILE / ("unlabelled" if label > 1 else f"{HOSTILE}{label}")
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray((15 * pixels).astype(np.uint8)).save(folder / f"{HOSTILE}{number}.png")
    task = Task("own", "all", overrides=SMALL, own=OwnImages(str(tmp_path / HOSTILE)), like="digits")
    training = Training(task, tmp_path / f"run{HOSTILE}", Path(), CPU)
    training.train()
    machine = training.run.environments[0]
    machines = [machine, machine | {"processor": HOSTILE}]
    (training.folder / "environments.json").write_text(json.dumps(machines))
    (tmp_path / "page").mkdir()
    page = written(saved([training]), tmp_path / "page")
    assert "<script" not in page
    text = words(page)
    assert f"from the folder {HOSTILE} (8×8 pixels, grey)" in text
    assert f"true: {HOSTILE}0" in text
    assert f"processor {HOSTILE}" in text
    assert "need not give the same bits" in text  # there are two machines now
    titles = [attributes.get("title") or "" for tag, attributes in Elements(page).found if tag == "img"]
    assert any(title.startswith(f"{HOSTILE}0/{HOSTILE}") for title in titles)
    next((tmp_path / HOSTILE).rglob("*.png")).unlink()
    with pytest.raises(BayesganError, match="are not those that"):
        next(finished([training.folder], Path()))


def test_a_report_that_cannot_be_written_leaves_nothing_behind(three: Finished, tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(BayesganError, match="Cannot write"):
        write_report(saved(three[0][2:]), tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
