"""examples/minimal.py reaches the bar of the experiment, and stays small and independent."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "minimal.py"
LINE = r"iteration +(\d+) \((Adam|SGHMC)\): JSD ([\d.]+), (\d+) of 10 clusters"


def printed(*arguments: str) -> list[tuple[int, str, float, int]]:
    """Iteration, phase, divergence and clusters of every line."""
    done = subprocess.run([sys.executable, str(EXAMPLE), *arguments], capture_output=True, text=True, check=True)
    found = re.findall(LINE, done.stdout)
    assert found, done.stdout
    return [(int(iteration), phase, float(jsd), int(reached)) for iteration, phase, jsd, reached in found]


@pytest.mark.slow
def test_minimal_reaches_the_bar() -> None:
    iteration, phase, jsd, reached = printed()[-1]
    assert (iteration, phase) == (1000, "SGHMC")
    assert jsd <= 0.02
    assert reached == 10


def test_minimal_improves_and_hands_over_within_a_few_iterations() -> None:
    lines = printed("--dim=30", "--generators=4", "--iterations=300", "--burn-in=200")
    assert [line[:2] for line in lines] == [(100, "Adam"), (200, "Adam"), (300, "SGHMC")]
    assert lines[-1][2] < 0.7 * lines[0][2]


def test_minimal_is_small_and_needs_only_torch_and_numpy() -> None:
    source = EXAMPLE.read_text()
    assert source.count("\n") < 300
    imported = set(re.findall(r"^(?:import|from) (\w+)", source, re.MULTILINE))
    assert imported <= {"argparse", "math", "numpy", "torch"}
