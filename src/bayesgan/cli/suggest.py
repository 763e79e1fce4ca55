"""``bayesgan suggest``: which unlabelled pictures are most worth a label."""

from pathlib import Path
from typing import Annotated

import typer

from bayesgan.base.errors import BayesganError
from bayesgan.cli.data import DataDir
from bayesgan.cli.options import Device, say
from bayesgan.cli.rows import Format, RunFolder, print_rows, rows_of
from bayesgan.data.names import default_folder


def suggest(
    run: RunFolder,
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
    print_rows(rows_of(names, posterior.classes, posterior.uncertainty(x[chosen])), format)
    path = sheet or run / "suggestions.png"
    draw_sheet(data.images.train[indices], [str(number + 1) for number in range(len(indices))], path)
    say(f"The pictures, numbered in this order, are in {path}.")
