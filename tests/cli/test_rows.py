"""Rows about pictures, printed in three forms."""

import csv
import io
import json

import numpy as np
import pytest

from bayesgan.cli.rows import COLUMNS, Form, print_rows, rows_of
from bayesgan.posterior.average import Uncertainty

FOUND = Uncertainty(
    probabilities=np.array([[0.25, 0.75], [0.9, 0.1]]),
    total_entropy=np.array([0.5, 0.3]),
    expected_entropy=np.array([0.4, 0.3]),
    mutual_information=np.array([0.1, 0.0]),
    fake=np.array([0.125, np.nan]),
)
ROWS = rows_of(["a [b].png", "long " * 20], ["cat", "dog"], FOUND)


def printed(form: Form, capsys: pytest.CaptureFixture[str]) -> str:
    print_rows(ROWS, form)
    return capsys.readouterr().out


def test_a_row_has_the_likeliest_class_and_its_figures() -> None:
    assert [list(row) for row in ROWS] == [list(COLUMNS)] * 2
    assert list(ROWS[0].values()) == ["a [b].png", "dog", 0.75, 0.5, 0.1, 0.125]
    assert (ROWS[1]["class"], ROWS[1]["probability"], ROWS[1]["fake"]) == ("cat", 0.9, None)


def test_json_and_csv_have_every_digit(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(printed("json", capsys)) == ROWS
    rows = list(csv.DictReader(io.StringIO(printed("csv", capsys))))
    assert [row["file"] for row in rows] == [row["file"] for row in ROWS]
    assert [row["fake"] for row in rows] == ["0.125", ""]
    assert float(rows[0]["probability"]) == 0.75


def test_a_table_has_a_line_for_each_row_and_names_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    head, first, second = printed("table", capsys).splitlines()
    assert head.split() == ["file", "class", "probability", "entropy", "mutual", "information", "fake"]
    assert first.startswith("a [b].png")
    assert first.split()[-5:] == ["dog", "0.750", "0.500", "0.100", "0.125"]
    assert second.split()[-5:] == ["cat", "0.900", "0.300", "0.000", "–"]
