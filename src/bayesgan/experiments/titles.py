"""What systems and data sets are called in tables and figures."""

# In the order of the paper's columns. The ensemble is the Bayesian GAN's ablation: the same chains, but none samples.
SYSTEMS: dict[str, str] = {
    "supervised": "Supervised",
    "dcgan": "DCGAN",
    "wdcgan": "W-DCGAN",
    "dcgan10": "DCGAN-10",
    "lfvi": "LFVI-GAN",
    "bayesgan": "BayesGAN",
    "ensemble": "Ensemble",
}
DATASETS: dict[str, str] = {
    "digits": "Digits",
    "mnist": "MNIST",
    "cifar10": "CIFAR-10",
    "svhn": "SVHN",
    "celeba": "CelebA",
}
