import pytest

import strategies
from strategies import shadows


def package(folder, name, *modules):
    for module in ("__init__.py", *modules):
        file = folder / name / module
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    return str(folder)


HOME = strategies.__path__[0].rsplit("/", 1)[0]


def test_our_packages_alone_raise_no_alarm():
    shadows.check([HOME])
    shadows.check()


def test_a_package_before_ours_is_an_error_that_says_where_it_is(tmp_path):
    other = package(tmp_path, "strategies")

    with pytest.raises(ImportError, match=str(tmp_path)):
        shadows.check([other, HOME])


def test_a_package_behind_ours_is_a_warning(tmp_path):
    other = package(tmp_path, "conformance")

    with pytest.warns(RuntimeWarning, match="hides"):
        shadows.check([HOME, other])


def test_a_module_counts_as_a_package_does(tmp_path):
    (tmp_path / "strategies.py").write_text("")

    with pytest.raises(ImportError, match=r"strategies\.py"):
        shadows.check([str(tmp_path), HOME])


def test_a_folder_that_is_no_package_hides_nothing(tmp_path):
    (tmp_path / "strategies").mkdir()
    (tmp_path / "strategies" / "momentum.py").write_text("")

    shadows.check([str(tmp_path), HOME])


def test_a_second_copy_of_ours_is_no_stranger(tmp_path):
    package(tmp_path, "strategies", "shadows.py")
    package(tmp_path, "conformance", "observation.py")

    shadows.check([str(tmp_path), HOME])
    shadows.check([HOME, str(tmp_path)])


def test_missing_and_repeated_entries_are_harmless(tmp_path):
    shadows.check(["", HOME, HOME + "/", str(tmp_path / "missing"), str(tmp_path / "archive.zip")])
