"""``bayesgan train``: a classifier of images from few labels."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bayesgan.base.errors import BayesganError
from bayesgan.cli.data import DataDir
from bayesgan.cli.options import Device, Metrics, Threads, assignment, note, progress_bar, say
from bayesgan.data.names import LARGEST_SIDE, LEAST_HELD_OUT, MOST_HELD_OUT, SMALLEST_SIDE, ImageSetName, default_folder
from bayesgan.settings.names import Method, PresetName

EVERY = 100  # iterations between evaluations
SHOWN = 10  # lines on what is not used
# Options of a session, not of a run
RESUMING = {"resume", "checkpoint", "tensorboard", "data_dir", "threads", "device"}


def train(
    context: typer.Context,
    dataset: Annotated[ImageSetName, typer.Option(help="The image set.")] = "mnist",
    images: Annotated[
        Path | None,
        typer.Option(help="Your own pictures instead: a folder of class folders, with 'unlabelled' beside them."),
    ] = None,
    labels_file: Annotated[
        Path | None, typer.Option(help="Their labels, if they lie in one folder: CSV with the header file,label.")
    ] = None,
    test_images: Annotated[Path | None, typer.Option(help="Pictures to test on, in a folder of the same form.")] = None,
    held_out: Annotated[
        float,
        typer.Option(
            help="Share of the labelled pictures to test on if there are no others.",
            min=LEAST_HELD_OUT,
            max=MOST_HELD_OUT,
        ),
    ] = 0.2,
    size: Annotated[
        int | None,
        typer.Option(
            help="Pixels of a side of your pictures.",
            min=SMALLEST_SIDE,
            max=LARGEST_SIDE,
            show_default="chosen from them",
        ),
    ] = None,
    flip: Annotated[
        bool, typer.Option("--flip", help="Mirror your pictures while training: photographs of things, no letters.")
    ] = False,
    labels: Annotated[str, typer.Option(help="N_s, how many images show their label: a number, or 'all'.")] = "100",
    subset: Annotated[int, typer.Option(help="Which choice of labelled images.", min=0)] = 0,
    method: Annotated[Method, typer.Option(help="The method to train.")] = "bayesgan",
    preset: Annotated[PresetName, typer.Option(help="Its settings; see 'bayesgan presets'.")] = "fast",
    change: Annotated[
        list[str] | None, typer.Option("--set", help="Replace a value of the preset: --set temperature=0.1")
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(help="T of the posterior that is sampled; 0 leaves an ensemble.", show_default="preset"),
    ] = None,
    prior: Annotated[
        str | None, typer.Option(help="Variance of the prior of the weights, or 'flat'.", show_default="preset")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of every random draw.", min=0)] = 0,
    split: Annotated[
        Literal["test", "validation"], typer.Option(help="Images to count errors on; 'validation' to choose settings.")
    ] = "test",
    out: Annotated[Path | None, typer.Option(help="Folder of the run.", show_default="DATASET-LABELS-METHOD-…")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the run in this folder.")] = None,
    every: Annotated[int, typer.Option(help="Iterations between evaluations.", min=1)] = EVERY,
    checkpoint: Annotated[float, typer.Option(help="Seconds between checkpoints, at least.", min=0.0)] = 30.0,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Write RUN/tensorboard too.")] = False,
    data_dir: DataDir = None,
    threads: Threads = None,
    device: Device = "cpu",
) -> None:
    """Train on images of which a few show their label: a known set, or your own (--images).

    The same command run again goes on where it was stopped, and so does --resume FOLDER. Started by torchrun, several
    processes share the chains: torchrun --nproc-per-node 2 -m bayesgan train …
    """
    from bayesgan.base import environment
    from bayesgan.base.files import locked
    from bayesgan.data.folder import OwnImages, similar
    from bayesgan.data.listing import printable
    from bayesgan.runs.alarm import Alarm
    from bayesgan.runs.images import Task, Training, data_of, task_of
    from bayesgan.runs.record import read_record
    from bayesgan.runs.tensorboard import TensorBoard
    from bayesgan.sampler.distributed import together

    if resume is not None:
        _refuse_beside_resume(context)
        task, folder = task_of(read_record(resume)), resume
    else:
        overrides = dict(assignment(each) for each in change or [])
        overrides |= {} if temperature is None else {"temperature": temperature}
        variance = None if prior == "flat" else prior
        overrides |= {} if prior is None else {"generator_prior": variance, "discriminator_prior": variance}
        if images is None:
            _refuse(
                context,
                ("labels_file", "test_images", "held_out", "size", "flip"),
                "{} is for your own pictures: give --images too.",
            )
            task = Task(dataset, _count(labels), subset, method, preset, seed, split, every, overrides)
            folder = out or Path(f"{dataset}-{labels}-{method}-subset{subset}-seed{seed}")
        else:
            _refuse(
                context,
                ("dataset", "labels", "subset", "split"),
                "{} is for the known image sets: leave it out beside --images.",
            )
            places = [None if path is None else str(path.resolve()) for path in (images, labels_file, test_images)]
            own = OwnImages(str(places[0]), places[1], places[2], held_out, size)
            overrides |= {"flip": True} if flip else {}
            # Any image set's settings, until the pictures are read.
            task = Task("own", "all", 0, method, preset, seed, "test", every, overrides, own, "digits")
            folder = out or Path(f"{images.resolve().name}-{method}-seed{seed}")
            for place in (*places, str(folder)):
                if place is not None and printable(place) != place:
                    raise BayesganError(f"{printable(place)} is not a name in UTF-8: give it another name.")
    task.settings  # noqa: B018  # bad settings are refused before anything is read
    chosen = environment.use(device, threads)
    data = data_of(task, data_dir or default_folder())
    if task.own is not None and resume is None:
        task = replace(task, like=similar(data.images.train.shape[1:]))
    settings = task.settings
    with together(chosen) as ranks:
        training = Training(task, folder, data_dir or default_folder(), chosen, checkpoint, ranks, data)
        if not ranks.first:
            training.train()
            return
        _say_data(training)
        with locked(folder), progress_bar() as progress, ExitStack() as stack:
            bar = progress.add_task(
                "0", total=settings.length.iterations, completed=training.gan.state.iteration, note=""
            )
            board = None
            if tensorboard:
                board = stack.enter_context(TensorBoard(folder / "tensorboard", training.gan.state.iteration))

            alarm = Alarm(training.gan)

            def report(iteration: int, metrics: Metrics) -> None:
                if (sentence := alarm(training.run.metrics)) is not None:
                    say(sentence)
                if board is not None:
                    board.write(metrics)
                progress.update(bar, completed=iteration, description=str(iteration), note=note(metrics))

            summary = training.train(report)
    _print_summary(summary, folder)


def _refuse_beside_resume(context: typer.Context) -> None:
    """Refuse options that --resume would ignore."""
    others = tuple(context.params.keys() - RESUMING)
    _refuse(context, others, "--resume takes everything from the folder that it names: leave out {}.")


def _refuse(context: typer.Context, names: tuple[str, ...], sentence: str) -> None:
    """Refuse the options ``names`` where they are given."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = "--set" if name == "change" else f"--{name.replace('_', '-')}"
            raise BayesganError(sentence.format(option))


def _count(text: str) -> int | Literal["all"]:
    if text == "all":
        return "all"
    if not text.isdecimal():
        raise BayesganError(f"--labels: '{text}' is neither a whole number nor 'all'.")
    return int(text)


def _say_data(training: Any) -> None:
    from bayesgan.runs.images import SKIPPED

    task, data = training.task, training.data
    count, size = len(data.labelled.indices), len(data.images.train)
    name = task.dataset if task.own is None else data.images.name
    lines = [
        f"{name}: {size} training images, {count} of them labelled "
        f"({'' if task.own else f'subset {task.subset}, '}sha256 {data.labelled.sha256})."
    ]
    if task.own is not None:
        channels, height, width = data.images.train.shape[1:]
        lines += [
            f"Classes: {', '.join(data.images.classes)}. Tested on {len(data.images.test)} pictures"
            f"{' held out of the labelled ones' if task.own.test_images is None else ''}.",
            f"Pictures are brought to {height}×{width} pixels, {'grey' if channels == 1 else 'in colour'}; settings: "
            f"preset {task.preset} as for {task.like}.",
        ]
        if data.skipped:
            lines += [f"Not used (all of it is in {training.folder / SKIPPED}):", *_unused(data.skipped)]
    for line in lines:
        say(line)


def _unused(skipped: Sequence[str]) -> list[str]:
    """Lines on the first files that are not used; files without the suffix of a picture are only counted."""
    from bayesgan.data.listing import NOT_NAMED

    named = [words for words in skipped if not words.endswith(NOT_NAMED)]
    lines = [f"  {words}" for words in named[:SHOWN]]
    lines += [f"  … and {len(named) - SHOWN} more"] if len(named) > SHOWN else []
    others = len(skipped) - len(named)
    return lines + ([f"  {others} file{'' if others == 1 else 's'}: {NOT_NAMED}"] if others else [])


def _print_summary(summary: dict[str, Any], folder: Path) -> None:
    if summary["test_errors"] is None:
        print(f"Trained without labels; the pictures are {folder / 'panels.png'}.")
        return
    print(
        f"{summary['test_errors']} errors on {summary['test_size']} {summary['split']} images "
        f"({summary['test_error']:.2%}), averaged over {summary['networks']} networks; everything is in {folder}."
    )
