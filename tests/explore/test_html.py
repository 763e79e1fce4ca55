"""HTML of the page."""

import numpy as np

from bayesgan.explore import html as page_html
from bayesgan.posterior.average import Uncertainty


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


def test_a_sentence_and_the_name_of_a_row_are_text() -> None:
    assert page_html.sentence("a < b & c") == '<p class="sentence">a &lt; b &amp; c</p>'
    assert page_html.named_row("<b>", "<img>") == '<p class="row-name">&lt;b&gt;</p><img>'
