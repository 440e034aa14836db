from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).with_name("compiled.py")


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["PYTHONPATH"] = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path_factory.mktemp("cache"))],
        capture_output=True, text=True, check=False, timeout=300, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_each_variant_is_compiled_once_ahead_of_all_launches(seen):
    assert seen["each variant once"]["compiles"] == 2
    assert seen["each variant once"]["seconds"] > 0
    assert seen["again"]["compiles"] == 0


def test_options_of_the_compiler_take_the_place_of_those_of_the_launch(seen):
    (launch,) = seen["with options"]["geometry"]
    assert (launch["num_warps"], launch["num_stages"]) == (8, 1)
    assert 8 in seen["warps"]


def test_a_tuning_launch_tries_a_few_configs_from_the_seed_on(seen):
    assert [launch["BLOCK"] for launch in seen["tuned"]["geometry"]] == [256, 512, 16, 32]


def test_a_launch_that_does_not_tune_has_the_first_config_or_the_one_asked_for(seen):
    assert [launch["BLOCK"] for launch in seen["not tuned"]["geometry"]] == [16]
    assert [launch["BLOCK"] for launch in seen["one of the configs"]["geometry"]] == [512]


def test_what_does_not_compile_is_left_for_its_launch(seen):
    assert seen["broken"]["compiles"] == 2


def test_a_grid_that_no_device_launches_is_seen_without_launching(seen):
    assert seen["too large a grid"] == ["GRID_LIMIT"]
