"""Rooms know each other in one direction only."""

import ast
from pathlib import Path

import bayesgan

ROOT = Path(bayesgan.__file__).parent
BELOW = {  # what each room may import, beside itself
    "base": set(),
    "data": {"base"},
    "settings": {"base", "data"},
    "networks": {"base", "data", "settings"},
    "sampler": {"base", "data", "settings", "networks"},
    "posterior": {"base", "data", "settings", "networks", "sampler"},
    "estimator": {"base", "data", "settings", "networks", "sampler", "posterior"},
    "runs": {"base", "data", "settings", "networks", "sampler", "posterior"},
    "paper": {"base", "data", "settings", "networks", "sampler", "posterior", "runs"},
    "report": {"base", "data", "settings", "networks", "sampler", "posterior", "runs", "paper"},
    "explore": {"base", "data", "settings", "networks", "sampler", "posterior", "runs"},
    "cli": {"base", "data", "settings", "networks", "sampler", "posterior", "runs", "paper", "report", "explore"},
}


def rooms_of(path: Path) -> set[str]:
    """The rooms that a module imports, wherever in it."""
    modules = [node.module or "" for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    return {module.split(".")[1] for module in modules if module.startswith("bayesgan.")}


def test_every_room_imports_only_what_is_below_it() -> None:
    assert set(BELOW) == {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    for room, below in BELOW.items():
        for path in (ROOT / room).glob("*.py"):
            assert rooms_of(path) <= below | {room}, path


def test_every_module_has_a_test_file_of_its_name() -> None:
    tests = Path(__file__).parent
    for room in BELOW:
        for path in (ROOT / room).glob("*.py"):
            name = "init" if path.stem == "__init__" else path.stem
            if name != "init" or room == "cli":
                assert (tests / room / f"test_{name}.py").exists(), path
