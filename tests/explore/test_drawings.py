"""Drawings brought to the form of the training images."""

import numpy as np

from bayesgan.data.labels import LabelledImages
from bayesgan.explore.answers import Explorer
from bayesgan.explore.drawings import Paper, as_trained, paper_of
from tests.helpers.drawn import drawn


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
