"""``bayesgan table1``: the grid of the paper's Table 1, or any part of it."""

import json
import shlex
from collections import Counter, deque
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Group
from rich.live import Live
from rich.table import Table

from bayesgan.base.errors import BayesganError
from bayesgan.cli.data import DataDir
from bayesgan.cli.options import Device, assignment, console, listed, numbers, say
from bayesgan.data.names import IMAGE_SETS, default_folder
from bayesgan.settings.names import METHODS, PresetName

if TYPE_CHECKING:
    from bayesgan.paper.board import Board, Underway
    from bayesgan.paper.grid import Grid

MARKS = {"running": "▸", "failed": "✗"}


def table1(
    datasets: Annotated[str, typer.Option(help="Image sets, separated by commas.")] = ",".join(IMAGE_SETS),
    labels: Annotated[str | None, typer.Option(help="Label counts.", show_default="the paper's")] = None,
    methods: Annotated[str | None, typer.Option(help="Methods, separated by commas.", show_default="all")] = None,
    subsets: Annotated[int, typer.Option(help="Random labelled subsets, 0 to one less than this.", min=1)] = 10,
    preset: Annotated[PresetName, typer.Option(help="Settings; see 'bayesgan presets'.")] = "fast",
    change: Annotated[
        list[str] | None, typer.Option("--set", help="Replace a value of the preset: --set iterations=500")
    ] = None,
    engine: Annotated[Literal["local", "ray"], typer.Option(help="Who does the runs.")] = "local",
    workers: Annotated[
        int | None,
        typer.Option(
            help="Processes of engine local, of one thread each; one a core, or one with --device cuda.", min=1
        ),
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
    """Train every method on every data set with few labels, and lay the errors beside the paper's (Table 1).

    Stopped in any way and started again, it goes on: what has ended is not repeated, the rest resumes.
    """
    from bayesgan.base import environment
    from bayesgan.paper.board import Board, fill
    from bayesgan.paper.grid import Grid
    from bayesgan.paper.table1 import Made
    from bayesgan.paper.workers import local, on_ray

    for option, given, other in (("--gpus-per-run", gpus_per_run, "ray"), ("--workers", workers, "local")):
        if given is not None and engine != other:
            raise BayesganError(f"{option} is for --engine {other}: leave it out, or choose that engine.")

    grid = Grid(
        listed("--datasets", datasets, _one_of(IMAGE_SETS), f"one of {', '.join(IMAGE_SETS)}"),
        listed("--methods", methods or ",".join(METHODS), _one_of(METHODS), f"one of {', '.join(METHODS)}"),
        subsets,
        None if labels is None else numbers("--labels", labels, at_least=1),
        preset,
        dict(assignment(each) for each in change or []),
    )
    jobs = grid.jobs(out, data_dir or default_folder(), device)
    for job in jobs:
        job.task.settings  # noqa: B018  bad settings are refused before anything runs
    board = Board(jobs)
    if engine == "local":
        environment.available(device)
        events = local(board.waiting, workers or (environment.cores() if device == "cpu" else 1))
    else:
        events = on_ray(board.waiting, _cards(gpus_per_run, device))
    who = {"--engine": None if engine == "local" else engine, "--workers": workers, "--gpus-per-run": gpus_per_run}
    made = Made(command=_command(grid, out, device, budget, who), budget=budget)
    if console.is_terminal:
        with Live(get_renderable=lambda: _view(board), console=console, refresh_per_second=0.5):
            deque(fill(board, events, made, out), maxlen=0)
    else:  # a log, in which no live table is seen
        for event in fill(board, events, made, out):
            if event.status != "running":
                say(f"{event.job.name}: {event.status}; {_state(board)}")
        console.print(_view(board))
    failed = [each for each in board.rows if each.status.startswith("failed")]
    print(f"The table is {out / 'table1.md'}, with .html, .tex and .csv beside it.")
    if failed:
        raise BayesganError(
            f"{len(failed)} of {len(jobs)} runs failed; the table says why. The same command tries again."
        )


def _one_of(known: tuple[Any, ...]) -> Any:
    return lambda word: word if word in known else None


def _cards(gpus_per_run: float | None, device: str) -> float:
    """Graphics cards that Ray sets apart for a run; it numbers those of each run anew, from 0."""
    cuda = device.startswith("cuda")
    cards = float(cuda) if gpus_per_run is None else gpus_per_run
    if cuda != (cards > 0):
        raise BayesganError(
            f"--gpus-per-run {cards:g} does not go with --device {device}: give both for graphics cards."
        )
    if cards > 1:
        raise BayesganError(f"--gpus-per-run {cards:g} is more than a run can use: it uses one graphics card.")
    if cuda and device != "cuda":
        raise BayesganError(f"Ray chooses the graphics card of a run: give --device cuda, not {device}.")
    return cards


def _command(grid: "Grid", out: Path, device: str, budget: str, who: dict[str, Any]) -> str:
    """The command that makes the table again, wherever its data are; ``who`` does it are options, None if not given."""
    words = ["bayesgan", "table1", "--datasets", ",".join(grid.datasets), "--methods", ",".join(grid.methods)]
    words += [] if grid.labels is None else ["--labels", ",".join(map(str, grid.labels))]
    words += ["--subsets", str(grid.subsets), "--preset", grid.preset]
    for name, value in grid.overrides.items():
        words += ["--set", f"{name}={json.dumps(value)}"]
    words += [word for option, value in who.items() if value is not None for word in (option, str(value))]
    words += [] if device == "cpu" else ["--device", device]
    words += ["--budget", budget] if budget else []
    return shlex.join([*words, "--out", out.name if out.is_absolute() else str(out)])


def _view(board: "Board") -> Group:
    """Done, running and failed runs of each cell, how far the running ones are, and how long it will take yet."""
    counts = board.counts()
    methods = list(dict.fromkeys(place[2] for place in counts))
    table = Table()
    for column in ("data", "labels", *methods):
        table.add_column(column, justify="left" if column == "data" else "right")
    for dataset, labels in dict.fromkeys(place[:2] for place in counts):
        cells = [counts.get((dataset, labels, method)) for method in methods]
        texts = ["" if cell is None else _cell(cell) for cell in cells]
        table.add_row(dataset, str(labels), *texts)
    return Group(table, *map(_progress, board.underway), _state(board))


def _state(board: "Board") -> str:
    """Count the runs that are done, running, waiting and failed, and estimate the time that is left."""
    totals = Counter[str]()
    for cell in board.counts().values():
        totals += cell
    words = [f"{totals[kind]} {kind}" for kind in ("done", "running", "waiting", "failed") if totals[kind]]
    left = board.seconds_left if totals["running"] or totals["waiting"] else None
    return ", ".join(words) + ("" if left is None else f"; about {_duration(left)} left")


def _progress(run: "Underway") -> str:
    """A line for a run that is being done."""
    how_far = (
        f"iteration {run.iteration:,} of {run.job.task.settings.length.iterations:,}" if run.iteration else "starts"
    )
    return f"{MARKS['running']} {run.job.name}: {how_far}" + ("" if run.error is None else f", {run.error:.1%} errors")


def _cell(cell: Any) -> str:
    done = f"{cell['done']}/{sum(cell.values())}"
    return " ".join([done, *(f"{mark}{cell[kind]}" for kind, mark in MARKS.items() if cell[kind])])


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{max(1, minutes)} min"
