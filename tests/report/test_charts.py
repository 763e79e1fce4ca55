"""Charts as SVG: what is drawn, and that they hold nothing of the page's own."""

import re
import xml.etree.ElementTree as ElementTree
from functools import cache

import numpy as np
import pytest

from bayesgan.posterior.scores import Bin, Scores
from bayesgan.report.charts import (
    COLOURS,
    DASHES,
    error_curves,
    likelihood_curves,
    plane_of_weights,
    reliability_diagram,
)
from bayesgan.runs.saved import Evaluation


def evaluations(chains: dict[int, float], averages: dict[int, float] | None = None) -> list[Evaluation]:
    return [
        Evaluation(
            iteration=iteration,
            seconds=1.0,
            chains_error=error,
            average_error=(averages or {}).get(iteration),
            log_likelihood={"discriminators": -error, "generators": None},
        )
        for iteration, error in chains.items()
    ]


def lines(svg: str, number: int) -> list[int]:
    """The points of each path in the colour of run ``number``."""
    paths = re.findall(rf'<path d="([^"]*)"[^>]*stroke: var\(--line-{number}\)', svg)
    return [len(re.findall("[ML]", each)) for each in paths]


def marks(svg: str, number: int) -> list[float]:
    """The diameter of each mark in the colour ``number``, in order."""
    paths = re.findall(rf'<path d="([^"]*)"[^>]*fill: var\(--line-{number}\)', svg)
    across = [[float(x) for x in re.findall(r"([\d.]+) [\d.]+(?= \n)", each)] for each in paths]
    return [max(each) - min(each) for each in across]


SCORES = Scores(3, 0.3, 1.0, 0.5, 0.1, (Bin(2, 0.4, 0.5), Bin(8, 0.95, 0.75)))
NAMES = ("errors", "likelihoods", "reliability", "plane")


@cache
def chart(name: str) -> str:
    if name == "errors":
        return error_curves([evaluations({10: 0.5, 20: 0.25, 30: 0.2}, {20: 0.2, 30: 0.1})], [15])
    if name == "likelihoods":
        return likelihood_curves([evaluations({10: 0.5, 20: 0.25})], "discriminators")
    if name == "reliability":
        return reliability_diagram(SCORES)
    return plane_of_weights(np.random.default_rng(0).normal(size=(3, 2, 20)), paths=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_chart_is_one_element_without_colours_ids_and_addresses_of_its_own(name: str) -> None:
    svg = str(chart(name))
    assert ElementTree.fromstring(svg.replace("xlink:", "")).tag == "svg"
    assert not re.search("(stroke|fill): #", svg)
    assert "currentColor" in svg
    assert "var(--line-0)" in svg
    assert " id=" not in re.sub("<defs>.*?</defs>", "", svg, flags=re.DOTALL)
    assert "http" not in svg
    assert "metadata" not in svg


def test_the_same_chart_is_the_same_text() -> None:
    assert reliability_diagram(SCORES) == chart("reliability")


def test_errors_are_a_line_of_chains_and_one_of_the_average_where_it_has_several_points() -> None:
    assert lines(chart("errors"), 0) == [3, 2]
    assert "sampling →" in chart("errors")
    last_only = error_curves([evaluations({10: 0.5, 20: 0.25}, {20: 0.2}), evaluations({10: 0.3, 20: 0.2})], [])
    assert (lines(last_only, 0), lines(last_only, 1)) == ([2], [2])
    assert "sampling" not in last_only
    assert "stroke-dasharray" in last_only  # the second run, which is told apart in grey too


def test_evaluations_that_cannot_be_told_apart_are_one_point() -> None:
    assert lines(error_curves([evaluations({500: 0.5, 996: 0.4, 1000: 0.3})], []), 0) == [2]


def test_a_side_without_likelihoods_has_no_line() -> None:
    assert lines(chart("likelihoods"), 0) == [2]
    assert lines(likelihood_curves([evaluations({10: 0.5, 20: 0.25})], "generators"), 0) == []


def test_a_reliability_diagram_has_a_dot_for_each_bin() -> None:
    few, many = marks(chart("reliability"), 0)
    assert few < many
    assert lines(chart("reliability"), 0) == [2]
    assert "confidence" in chart("reliability")


def test_a_plane_has_a_mark_for_each_network_and_paths_where_samples_follow_each_other() -> None:
    svg = chart("plane")
    assert [lines(svg, chain) for chain in (0, 1)] == [[3], [3]]
    for chain in (0, 1):
        first, second, third = marks(svg, chain)
        assert first < second < third  # they grow with the iterations
    assert re.findall(">([1-9])</text>", svg) == ["1", "2"]
    without = plane_of_weights(np.random.default_rng(0).normal(size=(3, 2, 20)), paths=False)
    assert [lines(without, chain) for chain in (0, 1)] == [[], []]
    assert len(COLOURS) == len(DASHES) == len(set(DASHES))
