"""Rows about pictures, printed by ``bayesgan predict`` and ``bayesgan suggest``, and the options that go with them."""

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from bayesgan.posterior.average import Uncertainty

Row = dict[str, Any]  # by the names of COLUMNS
Form = Literal["table", "csv", "json"]
RunFolder = Annotated[Path, typer.Argument(help="Folder of a trained run.")]
Format = Annotated[Form, typer.Option(help="How to print it.")]

COLUMNS = ("file", "class", "probability", "entropy", "mutual_information", "fake")
WORDS = ("file", "class")  # columns of text
WIDE = 200  # characters of a line where no terminal limits it


def rows_of(names: Sequence[str], classes: Sequence[str], found: "Uncertainty") -> list[Row]:
    """Make a row for each picture: its class, and how sure that is."""
    best = found.probabilities.argmax(-1)
    return [
        {
            "file": name,
            "class": classes[best[row]],
            "probability": float(found.probabilities[row, best[row]]),
            "entropy": float(found.total_entropy[row]),
            "mutual_information": float(found.mutual_information[row]),
            "fake": None if found.fake[row] != found.fake[row] else float(found.fake[row]),
        }
        for row, name in enumerate(names)
    ]


def print_rows(rows: list[Row], form: Form) -> None:
    """Print rows on stdout as a table, as CSV or as JSON."""
    if form == "json":
        print(json.dumps(rows, indent=1))
    elif form == "csv":
        writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    else:
        table = Table(box=None, pad_edge=False)
        for column in COLUMNS:
            table.add_column(column.replace("_", " "), justify="left" if column in WORDS else "right")
        for row in rows:
            figures = [row[column] for column in COLUMNS if column not in WORDS]
            table.add_row(
                *[Text(row[column]) for column in WORDS],
                *["–" if figure is None else f"{figure:.3f}" for figure in figures],
            )
        print_table(table)


def print_table(table: Table) -> None:
    """Print a table on stdout, as wide as it is where no terminal limits it."""
    output = Console(highlight=False)
    if not output.is_terminal:
        output.width = WIDE
    output.print(table)
