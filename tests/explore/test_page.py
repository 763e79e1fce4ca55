"""The page: by itself, and in a real browser."""

import gc
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from bayesgan.base.errors import BayesganError
from bayesgan.explore import html as page_html
from bayesgan.explore.answers import Explorer
from tests.helpers.processes import free_port

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = shutil.which("chromium")
PATIENCE = 60_000  # milliseconds: other things may run beside the tests

gradio = pytest.importorskip("gradio", reason="Gradio is not installed")
pytestmark = pytest.mark.usefixtures("one_thread")


def test_questions_that_come_at_once_get_the_answers_of_questions_one_by_one(explorer: Explorer) -> None:
    from bayesgan.explore.page import answered

    ask = answered(explorer.generated)
    questions = [([number % 4], 6, number) for number in range(24)]
    alone = [explorer.generated(*question) for question in questions]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda question: ask(*question), questions)) == alone


def test_a_question_that_cannot_be_answered_gets_its_sentence() -> None:
    from bayesgan.explore.page import answered

    def ask(what: str) -> str:
        raise BayesganError(f"Nobody knows <{what}>.")

    assert answered(ask)("why") == page_html.sentence("Nobody knows <why>.")


def test_a_tab_that_cannot_be_filled_has_the_sentence(explorer: Explorer) -> None:
    from bayesgan.explore.page import page

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # Gradio leaves event loops to the garbage collector
        blocks = page(Explorer(explorer.posterior, BayesganError("mnist is missing.")), "a run")
        texts = [block.value for block in blocks.blocks.values() if isinstance(block, gradio.HTML)]
        del blocks
        gc.collect()
    assert texts.count(page_html.sentence("mnist is missing.")) == 2


def test_a_port_that_is_taken_is_a_sentence(explorer: Explorer) -> None:
    from bayesgan.explore.page import launch

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(BayesganError, match="give another --port"):
            launch(explorer, "a run", "127.0.0.1", taken.getsockname()[1], print)


# In a real browser, as a person uses it


class Server:
    """``bayesgan explore`` of a run, as a process of its own."""

    def __init__(self, run: Path) -> None:
        self.address = f"http://127.0.0.1:{(port := free_port())}/"
        self.log = run.parent / f"{run.name}.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "bayesgan", "explore", str(run), "--port", str(port)],
                stdout=log,
                stderr=log,
                env=os.environ | {"OMP_NUM_THREADS": "1", "TMPDIR": str(run.parent)},
            )
        deadline = time.monotonic() + 180  # seconds, most of them imports
        while self.address not in self.log.read_text():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.2)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


@pytest.fixture(scope="module")
def server(run: Path, explorer: Explorer) -> Iterator[Server]:
    started = Server(run)
    yield started
    started.stop()
    assert not list(started.log.parent.glob("bayesgan-explore-*"))  # nothing uploaded is left


def test_the_command_serves_the_page_until_it_is_stopped(server: Server) -> None:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(server.address) as answer:
        assert answer.status == HTTPStatus.OK
        assert "run – bayesgan" in answer.read().decode()
    assert server.process.poll() is None


@pytest.fixture(scope="module")
def page(request: pytest.FixtureRequest) -> Iterator["Page"]:
    pytest.importorskip("playwright", reason="Playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    from playwright.sync_api import sync_playwright

    server: Server = request.getfixturevalue("server")

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.set_default_timeout(PATIENCE)
        asked: list[str] = []
        opened.on("request", lambda request: asked.append(request.url))
        opened.goto(server.address)
        yield opened
        outside = [url for url in asked if not url.startswith((server.address, "data:", "blob:"))]
        browser.close()
    assert outside == []  # the page needs no internet
    assert "Traceback" not in server.log.read_text()


def show(page: "Page", tab: str) -> None:
    page.get_by_role("tab", name=tab, exact=True).click()


def test_generating(page: "Page") -> None:
    from playwright.sync_api import expect

    pictures = page.locator("#generated img")
    expect(pictures).to_have_count(20, timeout=PATIENCE)  # ten by each of two generators
    before = pictures.first.get_attribute("src")
    page.get_by_label("Noise seed", exact=True).fill("7")
    expect(pictures.first).not_to_have_attribute("src", str(before), timeout=PATIENCE)
    box = pictures.first.bounding_box()
    assert box is not None
    assert box["width"] == box["height"] == 80


def test_walking(page: "Page") -> None:
    from playwright.sync_api import expect

    show(page, "Walk")
    pictures = page.locator("#walked img")
    expect(pictures).to_have_count(17, timeout=PATIENCE)
    for slider in ("#noise-share", "#weights-share"):
        before = pictures.first.get_attribute("src")
        page.locator(f"{slider} input[type=number]").fill("0.9")
        page.keyboard.press("Tab")
        expect(pictures.first).not_to_have_attribute("src", str(before), timeout=PATIENCE)


def test_drawing_and_clearing(page: "Page") -> None:
    from playwright.sync_api import expect

    show(page, "Draw")
    sheet = page.locator("#pad canvas")
    box = sheet.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + box["height"] * 0.6, steps=10)
    page.mouse.up()
    verdict = page.locator("#verdict")
    expect(verdict).to_contain_text("sampled networks say", timeout=PATIENCE)
    for figure in ("entropy", "mutual information", "fake"):
        expect(verdict).to_contain_text(figure)
    expect(verdict.locator("img.plot")).to_be_visible()
    page.locator("#pad").get_by_role("button", name="Clear").click()
    expect(verdict).to_contain_text("Draw something, or upload a picture.", timeout=PATIENCE)


def test_uploading_a_picture_then_a_broken_one(page: "Page", tmp_path: Path) -> None:
    from playwright.sync_api import expect

    show(page, "Draw")
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 255, (40, 60, 3), np.uint8)).save(tmp_path / "photo.png")
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n and then nothing of the kind")
    verdict, chosen = page.locator("#verdict"), page.locator("#upload input[type=file]")
    chosen.set_input_files(tmp_path / "photo.png")
    expect(verdict).to_contain_text("sampled networks say", timeout=PATIENCE)
    page.locator("#upload").get_by_role("button", name="Clear").click()
    expect(verdict).to_contain_text("Draw something", timeout=PATIENCE)
    chosen.set_input_files(tmp_path / "broken.png")
    expect(verdict).to_contain_text("broken.png cannot be read as a picture", timeout=PATIENCE)


def test_unsure_images_and_suggestions(page: "Page") -> None:
    from playwright.sync_api import expect

    show(page, "Unsure")
    expect(page.locator("#least-sure img")).to_have_count(24, timeout=PATIENCE)
    show(page, "Label")
    page.get_by_role("button", name="Suggest", exact=True).click()
    expect(page.locator("#to-label img")).to_have_count(20, timeout=PATIENCE)
