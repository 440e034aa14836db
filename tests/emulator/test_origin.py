"""A CUDA text that is given to CuPy as a string is named by the Python file that has it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from conformance.emulator.cupy_module import cupy_installed
from conformance.emulator.origin import UNKNOWN
from conformance.observation import Observation, observe
from conformance.regions import Arena, Region, Role

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="a real CuPy with a device stays in place")

MODULE = '''import cupy
from texts import ELSEWHERE

VERBATIM = r"""
extern "C" __global__ void verbatim(float* x) {
    x[threadIdx.x] = 1;
}
"""
TEMPLATE = """extern "C" __global__ void replaced(TYPE* x) {
    x[threadIdx.x] = 1;
}"""
TYPE = "float"
in_pieces = cupy.RawKernel('extern "C" __global__ void in_pieces(float* x) {\\n'
                           '    x[threadIdx.x] = 1;\\n'
                           '}\\n', "in_pieces")
escaped = cupy.RawKernel('extern "C" __global__ void escaped(float* x) {\\n    x[threadIdx.x] = 1;\\n}', "escaped")
verbatim = cupy.RawKernel(VERBATIM, "verbatim")
of_a_module = cupy.RawModule(code=VERBATIM).get_function("verbatim")
replaced = cupy.RawKernel(TEMPLATE.replace("TYPE", TYPE), "replaced")
formatted = cupy.RawKernel(f"""
extern "C" __global__ void formatted({TYPE}* x) {{
    x[threadIdx.x] = 1;
}}
""", "formatted")
elsewhere = cupy.RawKernel(ELSEWHERE, "elsewhere")
from_a_file = cupy.RawKernel(open(__file__[:-3] + ".cu").read(), "from_a_file")
joined = cupy.RawKernel(
    "\\n".join(['extern "C" __global__ void joined(float* x) {', "    x[threadIdx.x] = 1;", "}"]), "joined"
)
TWO = ['extern "C" __global__ void doubtful(float* x) {\\n    x[threadIdx.x] = A;\\n}',
       'extern "C" __global__ void doubtful(float* x) {\\n    x[threadIdx.x] = B;\\n}']
doubtful = cupy.RawKernel(TWO[0].replace("A", "1"), "doubtful")
'''

TEXTS = '''# the texts of kernels
ELSEWHERE = """extern "C" __global__ void elsewhere(float* x) {
    x[threadIdx.x] = 1;
}"""
'''
FILE = '\n\nextern "C" __global__ void from_a_file(float* x) {\n    x[threadIdx.x] = 1;\n}\n'


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("a folder")
    (folder / "texts.py").write_text(TEXTS)
    (folder / "raw.py").write_text(MODULE)
    (folder / "raw.cu").write_text(FILE)
    sys.path.insert(0, str(folder))
    try:
        with cupy_installed():
            spec = importlib.util.spec_from_file_location("raw", folder / "raw.py")
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            yield module
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("texts", None)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("verbatim", "raw.py:6"),
        ("of_a_module", "raw.py:6"),
        ("replaced", "raw.py:10"),
        ("formatted", "raw.py:22"),
        ("in_pieces", "raw.py:14"),
        ("escaped", "raw.py, string of line 16:2"),
        ("elsewhere", "texts.py:3"),
        ("from_a_file", "raw.cu:4"),
        ("joined", f"{UNKNOWN}:2"),
        ("doubtful", f"{UNKNOWN}:2"),
    ],
)
def test_a_finding_names_the_file_and_the_line_of_the_string(name: str, place: str, kernels: Any) -> None:
    arena = Arena()
    x = torch.zeros(4)
    arena.add(Region("x", x, Role.OUT, initialized=False))
    with observe(Observation(arena)) as seen:
        getattr(kernels, name)((1,), (5,), (kernels.cupy.from_dlpack(x),))
    (event,) = seen.events
    assert event.site is not None
    assert event.site.source == "x[threadIdx.x] = 1;"
    folder = Path(kernels.__file__).parent
    assert str(event.site).removeprefix(f"{folder}/") == place
