"""``bayesgan table1``: the grid of the paper's Table 1, or any part of it."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Group
from rich.live import Live
from rich.table import Table

from bayesgan import environment
from bayesgan.cli.data import DataDir
from bayesgan.cli.shared import Device, assignment, console, listed, numbers
from bayesgan.data.images import NAMES, default_folder
from bayesgan.errors import BayesganError
from bayesgan.presets import PresetName

if TYPE_CHECKING:
    from bayesgan.experiments.table1 import Board

MARKS = {"running": "▸", "failed": "✗"}


def table1(
    datasets: Annotated[str, typer.Option(help="Image sets, separated by commas.")] = ",".join(NAMES),
    labels: Annotated[str | None, typer.Option(help="Label counts.", show_default="the paper's")] = None,
    methods: Annotated[
        str | None, typer.Option(help="Systems; 'ensemble' is the ablation.", show_default="all, and the ablation")
    ] = None,
    subsets: Annotated[int, typer.Option(help="Random labelled subsets, 0 to one less than this.", min=1)] = 10,
    preset: Annotated[PresetName, typer.Option(help="Settings; see 'bayesgan presets'.")] = "fast",
    change: Annotated[
        list[str] | None, typer.Option("--set", help="Replace a value of the preset: --set iterations=500")
    ] = None,
    engine: Annotated[Literal["local", "ray"], typer.Option(help="Who does the runs.")] = "local",
    workers: Annotated[
        int | None, typer.Option(help="Processes of engine local, of one thread each; one a core by default.", min=1)
    ] = None,
    gpus_per_run: Annotated[
        float | None,
        typer.Option(
            help="Graphics cards of a run on Ray; may be a part.", min=0.0, show_default="1 with --device cuda"
        ),
    ] = None,
    budget: Annotated[str, typer.Option(help="A remark on the budget, for the caption.")] = "",
    out: Annotated[Path, typer.Option(help="Folder for the tables and the runs.")] = Path("table1"),
    data_dir: DataDir = None,
    device: Device = "cpu",
) -> None:
    """Train every system on every data set with few labels, and lay the errors beside the paper's (Table 1).

    Stopped in any way and started again, it goes on: what has ended is not repeated, the rest resumes.
    """
    from bayesgan.experiments import engines  # takes a second, which --help need not
    from bayesgan.experiments.grid import SYSTEMS, Grid
    from bayesgan.experiments.table1 import Board, fill
    from bayesgan.experiments.table1_output import Caption

    grid = Grid(
        listed("--datasets", datasets, _one_of(NAMES), f"one of {', '.join(NAMES)}"),
        listed("--methods", methods or ",".join(SYSTEMS), _one_of(SYSTEMS), f"one of {', '.join(SYSTEMS)}"),
        subsets,
        None if labels is None else numbers("--labels", labels, at_least=1),
        preset,
        dict(assignment(each) for each in change or []),
    )
    jobs = grid.jobs(out, data_dir or default_folder(), device)
    for job in jobs:
        job.task.settings  # noqa: B018  bad settings are refused before anything runs
    board = Board(jobs)
    caption = Caption(subsets, {}, _hardware(device), [_command(grid, out)], budget)
    workers = workers or environment.cores()
    todo, gpus = board.waiting, float(device.startswith("cuda")) if gpus_per_run is None else gpus_per_run
    events = engines.local(todo, workers) if engine == "local" else engines.on_ray(todo, gpus)
    with Live(_view(board, workers), console=console, auto_refresh=False) as live:
        for _ in fill(board, events, caption, out):
            live.update(_view(board, workers), refresh=True)
    failed = [each for each in board.rows if each.status.startswith("failed")]
    print(f"The table is {out / 'table1.md'}, with .html, .tex and .csv beside it.")
    if failed:
        raise BayesganError(
            f"{len(failed)} of {len(jobs)} runs failed; the table says why. The same command tries again."
        )


def _one_of(known: tuple[Any, ...]) -> Any:
    return lambda word: word if word in known else None


def _hardware(device: str) -> str:
    record = environment.record(environment.use(device, 1))
    return f"{environment.cores()} cores, {record['processor']}, Python {record['python']}, torch {record['torch']}"


def _command(grid: Any, out: Path) -> str:
    """The command that makes the table again, wherever its data and folders are."""
    words = ["bayesgan", "table1", "--datasets", ",".join(grid.datasets), "--methods", ",".join(grid.systems)]
    words += [] if grid.labels is None else ["--labels", ",".join(map(str, grid.labels))]
    words += ["--subsets", str(grid.subsets), "--preset", grid.preset]
    for name, value in grid.overrides.items():
        words += ["--set", f"{name}={json.dumps(value)}"]
    return shlex.join([*words, "--out", out.name])


def _view(board: "Board", workers: int) -> Group:
    """Done, running and failed runs of each cell, and how long it will take yet."""
    counts = board.counts()
    systems = list(dict.fromkeys(place[2] for place in counts))
    table = Table()
    for column in ("data", "labels", *systems):
        table.add_column(column, justify="left" if column == "data" else "right")
    for dataset, labels in dict.fromkeys(place[:2] for place in counts):
        cells = [counts.get((dataset, labels, system)) for system in systems]
        texts = ["" if cell is None else _cell(cell) for cell in cells]
        table.add_row(dataset, str(labels), *texts)
    left = board.seconds_left(workers)
    totals = {kind: sum(cell[kind] for cell in counts.values()) for kind in ("done", "running", "waiting", "failed")}
    state = ", ".join(f"{number} {kind}" for kind, number in totals.items() if number)
    return Group(table, state + ("" if left is None or not board.waiting else f"; about {_duration(left)} left"))


def _cell(cell: Any) -> str:
    done = f"{cell['done']}/{sum(cell.values())}"
    return " ".join([done, *(f"{mark}{cell[kind]}" for kind, mark in MARKS.items() if cell[kind])])


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{max(1, minutes)} min"
