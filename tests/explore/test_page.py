"""The page in a real browser, as a person uses it."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from PIL import Image

from bayesgan.runs.images import Task, Training

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = shutil.which("chromium")
PATIENCE = 60_000  # milliseconds: other things may run beside the tests

pytest.importorskip("gradio", reason="Gradio is not installed")
pytest.importorskip("playwright", reason="Playwright is not installed")
pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]


def trained(folder: Path) -> Path:
    overrides = {"iterations": 40, "burn_in": 20, "thin": 10, "generators": 2, "discriminators": 2}
    overrides |= {"generator_width": 8, "discriminator_width": 8}
    Training(Task("digits", 50, overrides=overrides), folder, folder, torch.device("cpu")).train()
    return folder


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server(trained(tmp_path_factory.mktemp("page") / "run"))
    yield started
    started.stop()
    assert not list(started.log.parent.glob("bayesgan-explore-*"))  # nothing uploaded is left


@pytest.fixture(scope="module")
def page(server: Server) -> Iterator["Page"]:
    from playwright.sync_api import sync_playwright

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
