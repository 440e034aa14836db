"""Benchmarks that make every figure in the documentation."""
