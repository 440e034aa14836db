"""Measurements of the suite itself; `conformance bench NAME` runs them."""
