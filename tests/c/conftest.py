"""Programs of zo's C code, built once per test run and target."""

import pytest

import zo
from c.toolchain import FIRMWARE, TARGETS, Runner, code

ZO = code(zo.c_sources(), [FIRMWARE / "replay.c", FIRMWARE / "replay.h"])


@pytest.fixture(scope="session")
def zo_code():
    """The code under test."""
    return ZO


@pytest.fixture(scope="session", params=TARGETS, ids=lambda target: target.name)
def runner(request, tmp_path_factory):
    """Runs batches of calls of zo's C functions on one target."""
    return Runner(request.param, ZO, tmp_path_factory.mktemp(request.param.name))
