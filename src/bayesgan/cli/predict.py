"""Commands that use a trained run: ``predict``, ``suggest``, ``generate`` and ``evaluate``."""

import csv
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bayesgan.base.errors import BayesganError
from bayesgan.cli.data import DataDir
from bayesgan.cli.options import Device, console, say
from bayesgan.data.names import default_folder

if TYPE_CHECKING:
    from bayesgan.posterior.average import Uncertainty

Run = Annotated[Path, typer.Argument(help="Folder of a trained run.")]
Format = Annotated[Literal["table", "csv", "json"], typer.Option(help="How to print it.")]

COLUMNS = ("file", "class", "probability", "entropy", "mutual_information", "fake")
WORDS = ("file", "class")  # columns of text
SHEET = 8  # pictures in a row of a sheet
WIDE = 200  # characters of a line where no terminal limits it


def predict(
    run: Run,
    files: Annotated[list[Path], typer.Argument(help="Pictures, or folders of them.")],
    format: Format = "table",
    device: Device = "cpu",
) -> None:
    """Tell the class of pictures, how sure that is, and whether they are like the training pictures at all.

    Entropy and mutual information are in nats: the first is all that the average is unsure of, the second the part of
    it that the sampled networks contradict each other about. 'fake' is the probability of not being like the training
    pictures. Broken files are named on stderr and left out.
    """
    from bayesgan.data.decode import decoded
    from bayesgan.data.listing import listed, printable
    from bayesgan.runs.saved import load

    posterior = load(run, device)
    paths: list[Path] = []
    for given in files:
        if not given.is_dir():
            paths.append(given)
            continue
        try:
            found, skipped = listed(given, None)
        except BayesganError as error:  # no pictures: the others may have some
            say(str(error))
            continue
        paths += [file.path for file in found]
        for words in skipped:
            say(f"{printable(str(given))}/{words}; left out.")
    pictures, reasons = decoded(paths, posterior.shape)
    names = [printable(str(path)) for path in paths]
    for name, reason in zip(names, reasons, strict=True):
        if reason is not None:
            say(f"{name} is left out: {reason}.")
    if len(pictures) == 0:
        raise BayesganError("None of the files can be read as a picture.")
    readable = [name for name, reason in zip(names, reasons, strict=True) if reason is None]
    judged = posterior.uncertainty(pictures.transpose(0, 2, 3, 1))
    _print_rows(_rows(readable, posterior.classes, judged), format)


def suggest(
    run: Run,
    budget: Annotated[int, typer.Option(help="How many pictures you are going to label.", min=1)] = 20,
    format: Format = "table",
    sheet: Annotated[
        Path | None, typer.Option(help="Contact sheet (PNG) of them.", show_default="RUN/suggestions.png")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the clustering.", min=0)] = 0,
    data_dir: DataDir = None,
    device: Device = "cpu",
) -> None:
    """List the unlabelled training pictures that are most worth a label, and show them on a sheet.

    They are those that the sampled networks contradict each other about most, spread over what they look like. Of a
    run with one network they are those that it is least sure of.
    """
    from bayesgan.data.contact_sheet import draw_sheet
    from bayesgan.posterior.suggest import suggested
    from bayesgan.runs.images import data_of, data_of_run, task_of
    from bayesgan.runs.record import read_record
    from bayesgan.runs.saved import load

    posterior = load(run, device)
    data = data_of(
        task_of(read_record(run)), data_dir or default_folder(), posterior.shape
    )  # new pictures may be of any shape
    try:
        data_of_run(run, data_dir or default_folder(), data)
    except BayesganError:
        say(f"The pictures or their labels have changed since {run} was trained: these are of what has no label now.")
    unlabelled = data.unlabelled
    if len(unlabelled) == 0:
        raise BayesganError("Every training picture has a label already.")
    if posterior.doubt == "total_entropy":
        say(f"{run} has only one network: these are the pictures that it is least sure of, by their entropy.")
    x = data.images.train[unlabelled].transpose(0, 2, 3, 1)
    chosen = suggested(posterior, x, budget, seed)
    indices = unlabelled[chosen]
    names = [data.files[index] if data.files else f"training image {index}" for index in indices]
    _print_rows(_rows(names, posterior.classes, posterior.uncertainty(x[chosen])), format)
    path = sheet or run / "suggestions.png"
    draw_sheet(data.images.train[indices], [str(number + 1) for number in range(len(indices))], path)
    say(f"The pictures, numbered in this order, are in {path}.")


def generate(
    run: Run,
    n: Annotated[int, typer.Option("-n", help="How many pictures.", min=1, max=10_000)] = 64,
    generators: Annotated[
        int | None,
        typer.Option(help="How many sampled generators draw them, the newest first, a row each.", min=1),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the noise.", min=0)] = 0,
    out: Annotated[Path, typer.Option(help="PNG file to write.")] = Path("sheet.png"),
    device: Device = "cpu",
) -> None:
    """Draw new pictures by the sampled generators, on one sheet."""
    import numpy as np
    import torch

    from bayesgan.data.contact_sheet import draw_panels
    from bayesgan.runs.saved import load

    posterior = load(run, device)
    newest = posterior.generators[::-1]
    if generators is not None and generators > len(newest):
        raise BayesganError(f"{run} has {len(newest)} sampled generators: ask for no more.")
    chosen = newest[:generators]
    pictures = posterior.generate(n, chosen, seed).reshape(n, *posterior.shape[1:], posterior.shape[0])
    rows = generators or -(-n // SHEET)
    cells = np.full((rows, -(-n // rows), *posterior.shape), 255, np.uint8)
    for number, pixels in enumerate(pictures.transpose(0, 3, 1, 2)):
        place = divmod(number, cells.shape[1]) if generators is None else divmod(number, rows)[::-1]
        cells[place] = pixels
    draw_panels(torch.from_numpy(cells), out)
    print(f"{n} pictures by {min(n, len(chosen))} generators are in {out}.")


def evaluate(
    run: Run,
    against: Annotated[
        list[str] | None,
        typer.Option(help="Images to tell the test images from: noise, inverted, an image set, or a folder."),
    ] = None,
    split: Annotated[
        Literal["test", "validation"] | None,
        typer.Option(help="Images of a known set to score it on; 'validation' to choose by.", show_default="the run's"),
    ] = None,
    format: Annotated[Literal["table", "json"], typer.Option(help="How to print it.")] = "table",
    data_dir: DataDir = None,
    device: Device = "cpu",
) -> None:
    """Score the averaged predictions on the test images: error, likelihood, Brier score, calibration, strange images.

    Writes evaluation.json and reliability.png into the run's folder.
    """
    from bayesgan.data.listing import printable
    from bayesgan.runs import evaluation
    from bayesgan.runs.images import data_of, data_of_run, task_of
    from bayesgan.runs.record import read_record
    from bayesgan.runs.saved import load

    folder = data_dir or default_folder()
    task = task_of(read_record(run))
    if split in (None, task.split):
        data = data_of_run(run, folder)
    elif task.own is not None:
        raise BayesganError(
            "--split is for the known image sets: your own pictures are tested as they were in training."
        )
    else:
        if split == "validation":
            say(f"{run} was trained with --split test: the validation images are among its training images.")
        task = replace(task, split=split)
        data = data_of(task, folder)
    posterior = load(run, device)
    with console.status("The sampled networks look at the test images …"):
        result = evaluation.evaluate(posterior, data.images, task.split, against or ["noise", "inverted"], folder, run)
    if format == "json":
        print(json.dumps(result, indent=1))
        return
    print(
        f"{result['errors']} errors on {result['test_size']} {task.split} images ({result['error']:.2%})\n"
        f"negative log-likelihood {result['log_loss']:.4f} nats, Brier score {result['brier']:.4f}, "
        f"calibration error {result['calibration_error']:.4f} ({run / 'reliability.png'})"
    )
    table = Table(box=None, pad_edge=False, title=f"AUROC, {task.split} images against", title_justify="left")
    table.add_column("")
    for name in evaluation.CANDIDATES:
        table.add_column(name.replace("_", " ") + (" *" if name == result["score"] else ""), justify="right")
    for other, figures in result["auroc"].items():
        table.add_row(
            Text(printable(other)), *["–" if figure is None else f"{figure:.4f}" for figure in figures.values()]
        )
    _print(table)
    print("* the score to use (docs/uncertainty.md)")


def _rows(names: Sequence[str], classes: Sequence[str], found: "Uncertainty") -> list[dict[str, Any]]:
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


def _print_rows(rows: list[dict[str, Any]], form: str) -> None:
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
        _print(table)


def _print(table: Table) -> None:
    """On stdout, as wide as it is where no terminal limits it."""
    output = Console(highlight=False)
    if not output.is_terminal:
        output.width = WIDE
    output.print(table)
