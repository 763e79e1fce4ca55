"""examples/minimal.py reaches the bar of the experiment, and stays small and independent."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "examples" / "minimal.py"


def test_minimal_reaches_the_bar() -> None:
    done = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True)
    found = re.search(r"iteration +1000 \(SGHMC\): JSD ([\d.]+), (\d+) of 10 clusters", done.stdout)
    assert found, done.stdout
    assert float(found[1]) <= 0.02
    assert int(found[2]) == 10


def test_minimal_is_small_and_needs_only_torch_and_numpy() -> None:
    source = EXAMPLE.read_text()
    assert source.count("\n") < 300
    imported = set(re.findall(r"^(?:import|from) (\w+)", source, re.MULTILINE))
    assert imported <= {"argparse", "math", "numpy", "torch"}
