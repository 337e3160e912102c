"""Programs of the C code under test, built once per test run and target."""

import pytest

import npusim
import zo
from c.toolchain import EACH_TARGET, FIRMWARE, Runner, code

ZO = code(zo.c_sources(), [FIRMWARE / "replay.c", FIRMWARE / "replay.h"])
NPUSIM = code(npusim.c_sources())


@pytest.fixture(scope="session")
def zo_code():
    """zo's code under test."""
    return ZO


@pytest.fixture(scope="session")
def npusim_code():
    """npusim's code under test."""
    return NPUSIM


@pytest.fixture(scope="session", params=EACH_TARGET)
def runner(request, tmp_path_factory):
    """Runs batches of calls of zo's C functions on one target."""
    return Runner(request.param, ZO, tmp_path_factory.mktemp(request.param.name))


@pytest.fixture(scope="session", params=EACH_TARGET)
def npusim_runner(request, tmp_path_factory):
    """Runs batches of calls of npusim's C functions on one target."""
    return Runner(request.param, NPUSIM, tmp_path_factory.mktemp(request.param.name))
