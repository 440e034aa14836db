"""The oracles, one law a module."""
