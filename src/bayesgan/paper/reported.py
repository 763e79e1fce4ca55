"""What the paper reports: the figures of its Table 1, never ours."""

from bayesgan.data.names import ImageSetName

Reported = tuple[float, float]  # mean and 2 standard deviations over 10 subsets

# The paper's columns, in its order. LFVI-GAN is not one of them.
_COLUMNS = ("supervised", "dcgan", "wdcgan", "dcgan10", "bayesgan")

# Of 10,000 test images on MNIST, per cent on the other sets.
_ERRORS: dict[str, dict[int, tuple[Reported | None, ...]]] = {
    "mnist": {
        20: (None, (1823, 412), (1687, 387), (1087, 564), (1432, 487)),
        50: (None, (453, 110), (490, 170), (189, 103), (332, 172)),
        100: ((2134, 525), (128, 11), (156, 17), (97, 8.2), (79, 5.8)),
        200: ((1389, 438), (95, 3.2), (91, 5.2), (78, 2.8), (74, 1.4)),
    },
    "cifar10": {
        1000: ((63.4, 2.6), (58.2, 2.8), (57.1, 2.4), (31.1, 2.5), (32.7, 5.2)),
        2000: ((56.1, 2.1), (47.5, 4.1), (49.8, 3.1), (29.2, 1.2), (26.2, 4.8)),
        4000: ((51.4, 2.9), (40.1, 3.3), (38.1, 2.9), (27.4, 3.2), (23.4, 3.7)),
        8000: ((47.2, 2.2), (29.3, 2.8), (27.4, 2.5), (25.5, 2.4), (21.1, 2.5)),
    },
    "svhn": {
        500: ((53.5, 2.5), (31.2, 1.8), (29.4, 1.8), (27.1, 2.2), (22.5, 3.2)),
        1000: ((37.3, 3.1), (25.5, 3.3), (25.1, 2.6), (18.3, 1.7), (12.9, 2.5)),
        2000: ((26.3, 2.1), (22.4, 1.8), (23.3, 1.2), (16.7, 1.8), (11.3, 2.4)),
        4000: ((20.8, 1.8), (20.4, 1.2), (19.4, 0.9), (14.0, 1.4), (8.7, 1.8)),
    },
    "celeba": {
        1000: ((53.8, 4.2), (52.3, 4.2), (51.2, 5.4), (47.3, 3.5), (33.4, 4.7)),
        2000: ((36.7, 3.2), (37.8, 3.4), (39.6, 3.5), (31.2, 1.8), (31.8, 4.3)),
        4000: ((34.3, 3.8), (31.5, 3.2), (30.1, 2.8), (29.3, 1.5), (29.4, 3.4)),
        8000: ((31.1, 4.2), (29.5, 2.8), (27.6, 4.2), (26.4, 1.1), (25.3, 2.4)),
    },
}

# The rows with the data sets' names: number of training images, their shape, minutes per epoch on one GPU.
_NAME_ROWS: dict[str, tuple[int, tuple[int, ...], tuple[int | None, ...]]] = {
    "mnist": (50_000, (28, 28), (None, 14, 15, 114, 32)),
    "cifar10": (50_000, (32, 32, 3), (None, 18, 19, 146, 68)),
    "svhn": (75_000, (32, 32, 3), (None, 29, 31, 217, 81)),
    "celeba": (100_000, (50, 50, 3), (None, 103, 98, 649, 329)),
}

LABEL_COUNTS: dict[ImageSetName, tuple[int, ...]] = {
    "digits": (20, 50, 100, 200),  # not in the paper; as for MNIST
    "mnist": tuple(_ERRORS["mnist"]),
    "cifar10": tuple(_ERRORS["cifar10"]),
    "svhn": tuple(_ERRORS["svhn"]),
    "celeba": tuple(_ERRORS["celeba"]),
}

LFVI_MNIST = (50_000, 140)  # labels and errors of LFVI-GAN, which the text (Section 4.2) quotes from Tran et al.


def reported(dataset: str, labels: int, method: str) -> Reported | None:
    """Mean and 2 standard deviations of the test error, where the table has them."""
    if method not in _COLUMNS or labels not in _ERRORS.get(dataset, {}):
        return None
    return _ERRORS[dataset][labels][_COLUMNS.index(method)]


def reported_epoch_seconds(dataset: str, method: str) -> float | None:
    """Runtime per epoch, where the table has it; it has none for the supervised classifier."""
    if method not in _COLUMNS or dataset not in _NAME_ROWS:
        return None
    minutes = _NAME_ROWS[dataset][-1][_COLUMNS.index(method)]
    return None if minutes is None else 60.0 * minutes


def reported_size(dataset: str) -> tuple[int, tuple[int, ...]] | None:
    """N and D: the number of training images and their shape (height, width and, with colours, channels)."""
    return None if dataset not in _NAME_ROWS else _NAME_ROWS[dataset][:2]
