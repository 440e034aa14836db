"""Kernels of these tests run in our interpreter."""

import os

os.environ["TRITON_INTERPRET"] = "1"

from conformance.interpreter import install

install()
