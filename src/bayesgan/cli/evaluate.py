"""``bayesgan evaluate``: how good the predictions of a run are."""

import json
from dataclasses import replace
from typing import Annotated, Literal

import typer
from rich.table import Table
from rich.text import Text

from bayesgan.base.errors import BayesganError
from bayesgan.cli.data import DataDir
from bayesgan.cli.options import Device, console, say
from bayesgan.cli.rows import RunFolder, print_table
from bayesgan.data.names import default_folder


def evaluate(
    run: RunFolder,
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
    print_table(table)
    print("* the score to use (docs/uncertainty.md)")
