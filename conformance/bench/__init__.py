"""Measurements: `python -m conformance bench NAME`."""
