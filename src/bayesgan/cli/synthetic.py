"""``bayesgan synthetic``: Figure 1."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from bayesgan.base import environment
from bayesgan.cli.options import Device, Iterations, Threads, console, listed, numbers, progress_bar
from bayesgan.data.synthetic import SyntheticName
from bayesgan.paper.synthetic import Finished, Plan, run
from bayesgan.runs.run import Metrics
from bayesgan.settings.methods import NAMES
from bayesgan.settings.names import Coupling, Dynamics, Marginal, Schedule
from bayesgan.settings.settings import Settings

DEFAULTS = {name: field.default for name, field in Settings.model_fields.items()}


def synthetic(
    data: Annotated[SyntheticName, typer.Option(help="Ten clusters, or the paper's linear-Gaussian plane.")] = (
        "clusters"
    ),
    dims: Annotated[str, typer.Option(help="Dimensions D of the data, separated by commas.")] = "100,500",
    methods: Annotated[str, typer.Option(help="Which systems to train, separated by commas.")] = ",".join(NAMES),
    seeds: Annotated[str, typer.Option(help="Seeds, separated by commas: of data, initial weights and noise.")] = (
        "0,1,2"
    ),
    seed: Annotated[int | None, typer.Option(help="A single seed, instead of --seeds.", min=0)] = None,
    iterations: Iterations = DEFAULTS["iterations"],
    burn_in: Annotated[
        int | None, typer.Option(help="Iterations of Adam before the sampling: 300, or 30 % of all if that is less.")
    ] = None,
    thin: Annotated[
        int | None, typer.Option(help="Iterations between collected samples: 50, or less to collect ten.")
    ] = None,
    generators: Annotated[int, typer.Option(help="J_g, the number of generator chains.")] = DEFAULTS["generators"],
    discriminators: Annotated[int, typer.Option(help="J_d, the number of discriminator chains.")] = (
        DEFAULTS["discriminators"]
    ),
    replicas: Annotated[int, typer.Option(help="M, further weight sets of each chain.")] = DEFAULTS["replicas"],
    coupling: Annotated[Coupling, typer.Option(help="Which chains face each other.")] = DEFAULTS["coupling"],
    marginal: Annotated[Marginal, typer.Option(help="How noise batches and opponents are joined.")] = (
        DEFAULTS["marginal"]
    ),
    noise_batches: Annotated[int, typer.Option(help="Noise batches to integrate z with; the paper's J.")] = (
        DEFAULTS["noise_batches"]
    ),
    dynamics: Annotated[Dynamics, typer.Option(help="The mass matrix of the sampler.")] = DEFAULTS["dynamics"],
    temperature: Annotated[float, typer.Option(help="Temperature of the posterior; 0 optimises.")] = (
        DEFAULTS["temperature"]
    ),
    schedule: Annotated[Schedule, typer.Option(help="The step size while sampling.")] = DEFAULTS["schedule"],
    step_ratio: Annotated[float, typer.Option(help="Pace of the sampler; 1 goes on at Adam's.")] = (
        DEFAULTS["step_ratio"]
    ),
    threads: Threads = None,
    device: Device = "cpu",
    out: Annotated[Path, typer.Option(help="Folder for the figures, results.json and the runs.")] = Path("synthetic"),
) -> None:
    """Figure 1: ML-GAN, Wasserstein GAN and Bayesian GAN on synthetic data.

    The same command run again goes on where it was stopped.
    """
    plan = Plan(
        data=data,
        dims=numbers("--dims", dims, at_least=2),
        methods=_names("--methods", methods),
        seeds=(seed,) if seed is not None else numbers("--seeds", seeds, at_least=0),
        settings={
            **_phases(iterations, burn_in, thin),
            "generators": generators,
            "discriminators": discriminators,
            "replicas": replicas,
            "coupling": coupling,
            "marginal": marginal,
            "noise_batches": noise_batches,
            "dynamics": dynamics,
            "temperature": temperature,
            "schedule": schedule,
            "step_ratio": step_ratio,
        },
    )
    _synthetic(plan, out, threads, device)


def _phases(iterations: int, burn_in: int | None, thin: int | None) -> dict[str, Any]:
    """The length of a run and of its phases; what is not given follows from the rest, so that short runs sample too."""
    if burn_in is None:
        burn_in = max(1, min(DEFAULTS["burn_in"], iterations * 3 // 10))
    if thin is None:
        thin = max(1, min(DEFAULTS["thin"], (iterations - burn_in) // 10))
    return {"iterations": iterations, "burn_in": burn_in, "thin": thin}


def _synthetic(plan: Plan, out: Path, threads: int | None, device: str) -> None:
    # matplotlib and scikit-learn take a second to import: only for commands that draw
    from bayesgan.paper.figure1 import figure1, prior_and_posterior

    for method in plan.methods:
        plan.settings_for(method)  # bad settings are refused before anything is computed
    chosen = environment.use(device, threads)
    order = list(plan.runs())
    length = plan.settings["iterations"]
    with progress_bar() as progress:
        task = progress.add_task("", total=len(order) * length, note="")

        def report(label: dict[str, Any], iteration: int, metrics: Metrics) -> None:
            before = order.index((label["dim"], label["seed"], label["method"])) * length
            name = f"{label['method']}, D = {label['dim']}, seed {label['seed']}"
            jsd = f"JSD {metrics['jsd']:.4f}" if metrics else ""
            progress.update(task, description=name, completed=before + iteration, note=jsd)

        finished = run(plan, out, chosen, shlex.join(["bayesgan", *sys.argv[1:]]), report)
        progress.update(task, completed=len(order) * length)
    figure1(finished, out / "figure1.png")
    sampled = [each for each in finished if each.projected_prior is not None]
    if sampled:
        prior_and_posterior(sampled[0], out / "prior.png")
    console.print(_table(finished))
    print(f"The picture is {out / 'figure1.png'}, its numbers are in {out / 'results.json'}.")


def _table(finished: list[Finished]) -> Table:
    table = Table(title="At the last iteration (JSD in nats)")
    for column in ("method", "D", "seed", "JSD", "of all samples", "data floor", "least covered cluster", "seconds"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for each in finished:
        result = each.result
        posterior, covered = result["jsd_posterior"], result["coverage"]
        table.add_row(
            result["method"],
            str(result["dim"]),
            str(result["seed"]),
            f"{result['jsd'][-1][1]:.4f}",
            "" if posterior is None else f"{posterior:.4f}",
            f"{result['jsd_floor']:.4f}",
            f"{min(covered):.1%}" if covered else "",
            f"{result['seconds']:.0f}",
        )
    return table


def _names(option: str, text: str) -> tuple[Any, ...]:
    return listed(option, text, lambda word: word if word in NAMES else None, f"one of {', '.join(NAMES)}")
