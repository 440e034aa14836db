"""Kernels of an example project."""
