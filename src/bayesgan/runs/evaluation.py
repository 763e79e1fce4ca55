"""Score a finished run on its test images: errors, calibration, and whether it knows strange images."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from bayesgan.base.errors import BayesganError
from bayesgan.base.files import replacing, write_text
from bayesgan.data.decode import decoded, fitted, picture
from bayesgan.data.images import Images, load
from bayesgan.data.listing import listed
from bayesgan.data.names import IMAGE_SETS
from bayesgan.posterior.average import Uncertainty
from bayesgan.posterior.posterior import Posterior
from bayesgan.posterior.scores import Scores, auroc, scores

STRANGERS = 2000  # images of another kind, at most
CANDIDATES = ("total_entropy", "expected_entropy", "mutual_information", "fake")


def evaluate(
    posterior: Posterior, images: Images, split: str, against: list[str], data_dir: Path, out: Path
) -> dict[str, Any]:
    """Every figure on the images of ``split``, also written to ``out``: evaluation.json and reliability.png."""
    seen = posterior.uncertainty(images.test.transpose(0, 2, 3, 1))
    found = scores(seen.probabilities, images.test_labels)
    result: dict[str, Any] = {
        "split": split,
        "test_size": len(images.test),
        **{name: value for name, value in vars(found).items() if name != "bins"},
        "bins": [each._asdict() for each in found.bins],
        "score": posterior.doubt,
        "auroc": {},
    }
    for name in against:
        strange = posterior.uncertainty(strangers(name, images, posterior.shape, data_dir).transpose(0, 2, 3, 1))
        result["auroc"][name] = told_apart(seen, strange)
    write_text(out / "evaluation.json", json.dumps(result, indent=1) + "\n")
    draw_reliability(found, split, out / "reliability.png")
    return result


def told_apart(familiar: Uncertainty, strange: Uncertainty) -> dict[str, float | None]:
    """AUROC of each candidate for a score of strangeness; None where the networks do not give it."""
    pairs = {name: (getattr(familiar, name), getattr(strange, name)) for name in CANDIDATES}
    return {name: None if np.isnan([*one, *other]).any() else auroc(one, other) for name, (one, other) in pairs.items()}


def strangers(name: str, images: Images, shape: tuple[int, ...], data_dir: Path) -> np.ndarray:
    """Images unlike the test images, bytes (n, *shape): 'noise', 'inverted', another image set's, or a folder's."""
    channels, height, width = shape
    number = min(STRANGERS, len(images.test))
    if name == "noise":
        return np.random.default_rng(0).integers(0, 256, (number, *shape), np.uint8)
    if name == "inverted":
        return 255 - images.test[:number]
    if name in IMAGE_SETS:
        others = load(name, data_dir).test[:STRANGERS]
        return np.stack([fitted(picture(other), channels, height, width) for other in others])
    if not Path(name).is_dir():
        raise BayesganError(f"--against: '{name}' is none of noise, inverted, {', '.join(IMAGE_SETS)}, and no folder.")
    found, _ = decoded([file.path for file in listed(Path(name), None)[0]][:STRANGERS], shape)
    if len(found) == 0:
        raise BayesganError(f"--against: no picture in {name} can be read.")
    return found


def draw_reliability(found: Scores, split: str, path: Path) -> None:
    """Accuracy against confidence, and how many predictions have it, as PNG."""
    from matplotlib.figure import Figure  # takes a second to import

    figure = Figure((4.6, 4.6), layout="constrained")
    upper, lower = figure.subplots(2, sharex=True, height_ratios=(3, 1))
    confidence = [each.confidence for each in found.bins]
    upper.plot((0, 1), (0, 1), color="0.6", lw=1, ls="--", label="calibrated")
    upper.plot(confidence, [each.accuracy for each in found.bins], "o-", color="#0072b2", label=f"{split} images")
    upper.set(ylabel="share that is right", ylim=(0, 1.02), xlim=(0, 1.02))
    upper.set_title(f"calibration error {found.calibration_error:.3f}", fontsize=10)
    upper.legend(frameon=False)
    lower.bar(confidence, [each.size for each in found.bins], width=0.04, color="0.4")
    lower.set(xlabel="confidence (largest class probability)", ylabel="images", yscale="log")
    for axes in (upper, lower):
        axes.spines[["top", "right"]].set_visible(False)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=130)
