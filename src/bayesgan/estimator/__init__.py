"""The Bayesian GAN as a scikit-learn estimator."""
