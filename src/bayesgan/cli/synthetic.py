"""``bayesgan synthetic``: Figure 1."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from bayesgan.cli.options import Device, Threads, console, listed, numbers, progress_bar
from bayesgan.data.names import SyntheticName
from bayesgan.settings.names import SYNTHETIC_METHODS, Coupling, Dynamics, Marginal, Schedule

if TYPE_CHECKING:
    from bayesgan.paper.synthetic import Finished, Plan

METHODS = ",".join(SYNTHETIC_METHODS)


def synthetic(
    data: Annotated[SyntheticName, typer.Option(help="Ten clusters, or the paper's linear-Gaussian plane.")] = (
        "clusters"
    ),
    dims: Annotated[str, typer.Option(help="Dimensions D of the data, separated by commas.")] = "100,500",
    methods: Annotated[str, typer.Option(help="Which methods to train, separated by commas.")] = METHODS,
    seeds: Annotated[str, typer.Option(help="Seeds, separated by commas: of data, initial weights and noise.")] = (
        "0,1,2"
    ),
    seed: Annotated[int | None, typer.Option(help="A single seed, instead of --seeds.", min=0)] = None,
    iterations: Annotated[int | None, typer.Option(help="Iterations of Algorithm 1.", show_default="1000")] = None,
    burn_in: Annotated[
        int | None, typer.Option(help="Iterations of Adam before the sampling: 300, or 30 % of all if that is less.")
    ] = None,
    thin: Annotated[
        int | None, typer.Option(help="Iterations between collected samples: 50, or less to collect ten.")
    ] = None,
    generators: Annotated[int | None, typer.Option(help="J_g, generator chains.", show_default="10")] = None,
    discriminators: Annotated[int | None, typer.Option(help="J_d, discriminator chains.", show_default="2")] = None,
    replicas: Annotated[int | None, typer.Option(help="M, weight sets of each chain.", show_default="1")] = None,
    coupling: Annotated[
        Coupling | None, typer.Option(help="Which chains face each other.", show_default="algorithm1")
    ] = None,
    marginal: Annotated[
        Marginal | None, typer.Option(help="How noise batches and opponents are joined.", show_default="mean")
    ] = None,
    noise_batches: Annotated[
        int | None, typer.Option(help="Noise batches to integrate z with; the paper's J.", show_default="1")
    ] = None,
    dynamics: Annotated[
        Dynamics | None, typer.Option(help="The mass matrix of the sampler.", show_default="frozen")
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Temperature of the posterior; 0 optimises.", show_default="1")
    ] = None,
    schedule: Annotated[
        Schedule | None, typer.Option(help="The step size while sampling.", show_default="per-datum")
    ] = None,
    step_ratio: Annotated[
        float | None, typer.Option(help="Pace of the sampler; 1 goes on at Adam's.", show_default="0.5")
    ] = None,
    threads: Threads = None,
    device: Device = "cpu",
    out: Annotated[Path, typer.Option(help="Folder for the figures, results.json and the runs.")] = Path("synthetic"),
) -> None:
    """Figure 1: ML-GAN, Wasserstein GAN and Bayesian GAN on synthetic data.

    The same command run again goes on where it was stopped.
    """
    from bayesgan.paper.synthetic import Plan

    given = {
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
    }
    given = {name: value for name, value in given.items() if value is not None}
    plan = Plan(
        data=data,
        dims=numbers("--dims", dims, at_least=2),
        methods=_names("--methods", methods),
        seeds=(seed,) if seed is not None else numbers("--seeds", seeds, at_least=0),
        settings=_phases(iterations, burn_in, thin) | given,
    )
    _synthetic(plan, out, threads, device)


def _phases(iterations: int | None, burn_in: int | None, thin: int | None) -> dict[str, Any]:
    """Choose the length of a run and of its phases, so that a run of few iterations samples too."""
    from bayesgan.settings.settings import Length

    usual = Length()
    if iterations is None:
        iterations = usual.iterations
    if burn_in is None:
        burn_in = max(1, min(usual.burn_in, iterations * 3 // 10))
    if thin is None:
        thin = max(1, min(usual.thin, (iterations - burn_in) // 10))
    return {"iterations": iterations, "burn_in": burn_in, "thin": thin}


def _synthetic(plan: "Plan", out: Path, threads: int | None, device: str) -> None:
    from bayesgan.base import environment
    from bayesgan.paper.figure1 import figure1, prior_and_posterior
    from bayesgan.paper.synthetic import run

    for method in plan.methods:
        plan.settings_for(method)  # bad settings are refused before anything is computed
    chosen = environment.use(device, threads)
    order = list(plan.runs())
    length = plan.settings["iterations"]
    with progress_bar() as progress:
        task = progress.add_task("", total=len(order) * length, note="")

        def report(label: dict[str, Any], iteration: int, metrics: dict[str, Any]) -> None:
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


def _table(finished: "list[Finished]") -> Table:
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
    known = SYNTHETIC_METHODS
    return listed(option, text, lambda word: word if word in known else None, f"one of {', '.join(known)}")
