"""From a preset, a method and a data set to settings: who overrides whom, and what follows from what."""

from typing import Any, NamedTuple

from bayesgan.base.errors import BayesganError
from bayesgan.data.names import IMAGE_SETS, ImageSetName
from bayesgan.settings import presets
from bayesgan.settings.methods import METHOD_VALUES, SAMPLED, Values
from bayesgan.settings.names import METHODS, PRESETS, Method, PresetName
from bayesgan.settings.settings import ImageSettings, VectorSettings

BURN_IN = 2 / 3  # of the iterations of a method that does not sample, where nothing depends on it
# For a person's own pictures, of which nobody has said that they may be mirrored or how frequent their classes are
OWN: Values = {"flip": False, "balance": 0.0}
DRAWS = 10  # from the Gaussians of lfvi, in its last iterations unless its steps are cyclical


class Derived(NamedTuple):
    """A setting that follows from others."""

    value: int
    reason: str


def image_settings(preset: PresetName, method: Method, dataset: ImageSetName, /, **values: Any) -> ImageSettings:
    """The settings of ``method`` on ``dataset``; ``values`` replace those of the preset.

    Where they change the number of iterations and say nothing of burn-in and thinning, these shrink or grow with it.
    """
    chosen = _for_images(preset, method, dataset)
    return ImageSettings.of(**(chosen | _lengths(derived(method, chosen, values)) | values))


def vector_settings(preset: PresetName, method: Method, /, **values: Any) -> VectorSettings:
    """The same for vectors."""
    _refuse_unknown(preset, method)
    own = {name: value for name, value in METHOD_VALUES[method].items() if name in VectorSettings.places()}
    chosen = presets.VECTORS[preset] | own  # what is said of images does not matter
    return VectorSettings.of(**(chosen | _lengths(derived(method, chosen, values)) | values))


def derived(method: Method, chosen: Values, values: Values) -> dict[str, Derived]:
    """Burn-in and thinning where they follow from the method, or from ``values`` that change the iterations."""
    iterations = values.get("iterations", chosen["iterations"])
    if isinstance(iterations, float) and iterations.is_integer():
        iterations = int(iterations)  # 1e4
    if not isinstance(iterations, int) or iterations < 1:
        return {}  # to be refused
    ratio, why = iterations / chosen["iterations"], "in proportion to the iterations"
    burn_in = Derived(max(1, min(round(ratio * chosen["burn_in"]), iterations - 1)), why)  # a sample at least
    thin = Derived(max(1, min(round(ratio * chosen["thin"]), iterations - burn_in.value)), why)
    if method == "lfvi" and (chosen | values).get("schedule") != "cyclical":
        burn_in = Derived(max(0, iterations - DRAWS), f"{DRAWS} draws in the last iterations")
        thin = Derived(1, f"{DRAWS} draws in the last iterations")
    elif method not in (*SAMPLED, "lfvi"):
        # The steps of all methods fall from the end of the burn-in on, and a consensus grows in it.
        if chosen.get("schedule") != "cyclical" and not chosen.get("consensus"):
            burn_in = Derived(max(1, round(BURN_IN * iterations)), "two thirds of the iterations; Adam to the end")
        start = values.get("burn_in", burn_in.value)
        thin = Derived(max(1, iterations - start) if isinstance(start, int) else 1, "the last weights alone")
    found = {"burn_in": burn_in, "thin": thin}
    return {name: each for name, each in found.items() if name not in values and each.value != chosen[name]}


def changes(
    preset: PresetName, method: Method, dataset: ImageSetName, settings: ImageSettings, /, **values: Any
) -> Values:
    """The values of ``settings`` that are not the preset's, of which ``values`` take the place."""
    theirs = image_settings(preset, method, dataset, **values).flat()
    return {name: value for name, value in settings.flat().items() if value != theirs[name]}


def terms(settings: ImageSettings) -> list[str]:
    """What a method learns from, and by what means, in a few words each."""
    batches, densities, populations = settings.batches, settings.densities, settings.populations
    several = populations.chains("discriminators") > 1
    there = {
        "labels": True,
        "changed images": batches.jitter > 0 or batches.brightness > 0 or batches.cut > 0 or batches.flip,
        "game": populations.generators > 0,
        "feature matching": populations.generators > 0 and densities.feature_matching,
        "consensus": densities.consensus > 0 and several,
        "own teacher": densities.consensus > 0 and not several,
        "noise on layers": settings.networks.layer_noise > 0,
        f"T = {settings.sampler.temperature:g}": settings.sampler.temperature > 0,
    }
    return [name for name, has in there.items() if has]


def described(preset: PresetName) -> dict[str, Values]:
    """Every value of the preset for ``bayesgan`` on MNIST, in groups, what others change, and those for vectors."""
    reference = image_settings(preset, "bayesgan", "mnist")
    table: dict[str, Values] = {"bayesgan on mnist": reference.model_dump(mode="json")}
    others: list[tuple[str, Method, ImageSetName]] = [(each, each, "mnist") for each in METHODS[1:]]
    others += [(f"bayesgan on {each}", "bayesgan", each) for each in IMAGE_SETS if each != "mnist"]
    for title, method, dataset in others:
        settings = image_settings(preset, method, dataset).flat()
        rules = derived(method, _for_images(preset, method, dataset), {})
        changed = {name: value for name, value in settings.items() if value != reference.flat()[name]}
        notes = {name: f"{changed[name]} ({rules[name].reason})" for name in changed if name in rules}
        table[title] = changed | notes
    table["own pictures"] = OWN
    table["bayesgan on vectors"] = vector_settings(preset, "bayesgan").model_dump(mode="json")
    return table


def _for_images(preset: PresetName, method: Method, dataset: ImageSetName) -> Values:
    _refuse_unknown(preset, method)
    if dataset not in IMAGE_SETS:
        raise BayesganError(f"'{dataset}' is not a data set: choose from {', '.join(IMAGE_SETS)}.")
    chosen = presets.IMAGES[preset] | presets.FOR_IMAGE_SETS[preset].get(dataset, {})
    return chosen | METHOD_VALUES[method] | presets.FOR_METHODS[preset].get(method, {})


def _refuse_unknown(preset: PresetName, method: Method) -> None:
    if preset not in PRESETS:
        raise BayesganError(f"'{preset}' is not a preset: choose from {', '.join(PRESETS)}.")
    if method not in METHODS:
        raise BayesganError(f"'{method}' is not a method: choose from {', '.join(METHODS)}.")


def _lengths(rules: dict[str, Derived]) -> Values:
    return {name: rule.value for name, rule in rules.items()}
