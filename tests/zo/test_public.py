"""The package's front page: every public name and every module stands on it."""

import pkgutil
import re

import zo

NAMES, MODULES = zo.__doc__.split("The code, from the inside out:")


def words(text):
    return set(re.findall(r"\w+", text))


def test_public_names_are_documented():
    assert set(zo.__all__) - words(NAMES) == set()
    undocumented = [name for name in zo.__all__ if not getattr(zo, name).__doc__]
    assert undocumented == []


def test_map_names_every_module():
    modules = {module.name for module in pkgutil.iter_modules(zo.__path__)}
    assert modules - words(MODULES) == set()
