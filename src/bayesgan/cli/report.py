"""``bayesgan report``: a page on finished runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from bayesgan.base import environment
from bayesgan.cli.data import DataDir
from bayesgan.cli.options import Device, progress_bar
from bayesgan.data.images import default_folder

if TYPE_CHECKING:
    from bayesgan.runs.images import Training


def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of finished runs of 'bayesgan train'.")],
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("report.html"),
    data_dir: DataDir = None,
    device: Device = "cpu",
) -> None:
    """Write a page on finished runs: errors, pictures, posterior, calibration, and how to make them again.

    The page is one file that needs nothing but a browser. Runs with other images or labels get parts of their own.
    """
    from bayesgan.report.report import write_report  # takes a second, which --help need not
    from bayesgan.report.runs import finished

    chosen = environment.use(device, None)
    with progress_bar() as progress:
        bar = progress.add_task("reading", total=len(runs), note="")

        def opened() -> Iterator["Training"]:
            for done, training in enumerate(finished(runs, data_dir or default_folder(), chosen)):
                progress.update(bar, completed=done, description=escape(training.folder.name))
                yield training
            progress.update(bar, completed=len(runs), description="writing")

        write_report(opened(), out)
    print(f"The report is {out}.")
