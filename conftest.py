"""Loads the plugin from a checkout; an installed distribution has it as an entry point of the same name."""

pytest_plugins = ("conformance.plugin",)
