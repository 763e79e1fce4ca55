"""``bayesgan data``: get the image sets, and check what is there."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from bayesgan.base.errors import BayesganError
from bayesgan.data.names import IMAGE_SETS, ImageSetName, default_folder

if TYPE_CHECKING:
    from bayesgan.data.download import RemoteFile

app = typer.Typer(help="Get the image sets, and check what is there.", no_args_is_help=True)

# For every command that reads images: `data_dir: DataDir = None`, then `data_dir or default_folder()`
DataDir = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the image sets, one folder for each; BAYESGAN_DATA names another default.",
        show_default="~/.cache/bayesgan",
    ),
]
ALL = ", ".join(IMAGE_SETS)


@app.command()
def get(
    names: Annotated[list[str], typer.Argument(help=f"Which image sets: {ALL}.", show_default=False)],
    data_dir: DataDir = None,
) -> None:
    """Download image sets. A download that was stopped goes on where it was."""
    folder = data_dir or default_folder()
    for name in _known(names):
        if name == "digits":
            print("digits: comes with scikit-learn, nothing to get")
        else:
            _get(name, folder)
            print(f"{name}: in {folder / name}")


@app.command()
def check(
    names: Annotated[list[str] | None, typer.Argument(help=f"Which image sets; all by default: {ALL}.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Say which image sets are there, and whether their files are the official ones."""
    from bayesgan.data.check import check as check_set

    folder = data_dir or default_folder()
    damaged = []
    for name in _known(names or IMAGE_SETS):
        findings = check_set(name, folder)
        damaged += [finding.note for finding in findings if finding.state == "damaged"]
        if name == "digits":
            print("digits: comes with scikit-learn")
        elif all(finding.state == "missing" for finding in findings):
            print(f"{name}: missing in {folder / name}; run `bayesgan data get {name}`")
        else:
            print(f"{name}: in {folder / name}")
            for finding in findings:
                # What is wrong with a damaged file is said at the end.
                note = f" ({finding.note})" if finding.note and finding.state != "damaged" else ""
                print(f"  {finding.path.relative_to(folder / name)}: {finding.state}{note}")
    if damaged:
        raise BayesganError(" ".join(damaged))


@app.command()
def export(
    name: Annotated[ImageSetName, typer.Argument(help="Which image set.")],
    out: Annotated[Path, typer.Argument(help="Folder for the pictures, new or empty.")],
    labels: Annotated[int, typer.Option(help="How many training images show their label.", min=0)] = 100,
    subset: Annotated[int, typer.Option(help="Which choice of labelled images.", min=0)] = 0,
    data_dir: DataDir = None,
) -> None:
    """Write an image set as PNG files in folders, to try out what your own pictures would do."""
    from bayesgan.data.images import load
    from bayesgan.data.labels import LabelledImages, labelled_set
    from bayesgan.data.write import write_folders

    images = load(name, data_dir or default_folder())
    data = LabelledImages(images, labelled_set(name, images.train_labels, labels, subset))
    train, test = write_folders(data, out)
    print(
        f"{len(images.train)} training pictures, {labels} of them in class folders, are in {train}, "
        f"{len(images.test)} test pictures in {test}."
    )


def _known(names: Sequence[str]) -> tuple[str, ...]:
    """Each name once, in order."""
    for name in names:
        if name not in IMAGE_SETS:
            raise BayesganError(f"'{name}' is not an image set: give one of {ALL}.")
    return tuple(dict.fromkeys(names))


def _get(name: str, folder: Path) -> None:
    from bayesgan.data import sources

    tasks: dict[RemoteFile, TaskID] = {}
    with _progress() as progress:

        def report(file: "RemoteFile", done: int) -> None:
            if file not in tasks:
                tasks[file] = progress.add_task(file.name, total=file.size)
            progress.update(tasks[file], completed=done)

        sources.get(name, folder, report)


def _progress() -> Progress:
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
