"""Temporary."""

from pathlib import Path
from typing import Any


def write_report(trainings: list[Any], summaries: list[dict[str, Any]], path: Path) -> None:
    """Nothing yet."""
