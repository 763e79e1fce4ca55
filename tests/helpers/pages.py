"""HTML pages, read back."""

import base64
import io
import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
from PIL import Image


class Elements(HTMLParser):
    """Every element with its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attributes)))


class Rows(HTMLParser):
    """The text of every cell, by row; the tags that were opened."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.text = ""
        self.in_cell = False
        self.feed(page)

    def handle_starttag(self, tag: str, _: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self.in_cell = self.in_cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.in_cell:
            self.rows[-1][-1] = " ".join(f"{self.rows[-1][-1]} {data}".split())


def words(page: str) -> str:
    """What a reader sees, the space between words made one blank."""
    return " ".join(unescape(re.sub("<style.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL)).split())


def headings(page: str) -> list[str]:
    return [words(each) for each in re.findall("<h[12].*?</h[12]>", page)]


def part(page: str, heading: str) -> str:
    """From one heading to the next."""
    return page.split(f"<h2>{heading}</h2>")[1].split("<h2>")[0]


def pictures(page: str) -> list[np.ndarray]:
    addresses = [attributes["src"] or "" for tag, attributes in Elements(page).found if tag == "img"]
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(each.partition(",")[2])))) for each in addresses]
