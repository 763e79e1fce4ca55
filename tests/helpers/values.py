"""Some of the values of settings, by name."""

from collections.abc import Iterable
from typing import Any

from bayesgan.settings.settings import Settings


def chosen(settings: Settings, names: Iterable[str]) -> dict[str, Any]:
    flat = settings.flat()
    return {name: flat[name] for name in names}
