"""``bayesgan report``: a page on finished runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from bayesgan.cli.data import DataDir
from bayesgan.cli.options import Device, progress_bar
from bayesgan.data.names import default_folder

if TYPE_CHECKING:
    from bayesgan.data.labels import LabelledImages
    from bayesgan.runs.saved import SavedRun


def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of finished runs of 'bayesgan train'.")],
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("report.html"),
    data_dir: DataDir = None,
    device: Device = "cpu",
) -> None:
    """Write a page on finished runs: errors, pictures, posterior, calibration, and how to make them again.

    The page is one file that needs nothing but a browser. Runs with other images or labels get parts of their own.
    """
    from bayesgan.base import environment
    from bayesgan.report.report import write_report
    from bayesgan.report.runs import finished

    chosen = environment.use(device, None)
    with progress_bar() as progress:
        bar = progress.add_task("reading", total=len(runs), note="")

        def opened() -> Iterator[tuple["SavedRun", "LabelledImages"]]:
            for done, (run, data) in enumerate(finished(runs, data_dir or default_folder())):
                progress.update(bar, completed=done, description=escape(run.folder.name))
                yield run, data
            progress.update(bar, completed=len(runs), description="writing")

        write_report(opened(), out, device=str(chosen))
    print(f"The report is {out}.")
