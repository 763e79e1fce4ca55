"""Algorithm 1: two populations of networks, their conditional posteriors, and SGHMC."""
