"""Code for ST's STM32N6 against a fake of ST's runtime, which notes who touches memory when."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

from c.toolchain import M55, RULES, SANITIZERS, require
from npusim.blob import block_diagonal, deep_1x1

CLONE = Path(__file__).resolve().parents[2]
TARGET = CLONE / "npusim" / "c" / "targets" / "stm32n6"
FAKE = Path(__file__).parent / "stm32n6"
SOURCES = sorted(TARGET.glob("*.c"))
LINE, SLACK = 64, 64
OK, UNALIGNED, OUTSIDE = 0, 1, 2
BAD_SIZE, FAILED = 1, 2
EVENTS = ("mcu clean", "mcu invalidate", "npu clean", "npu clean+invalidate", "runtime init",
          "network init", "epoch", "wait", "done")  # fmt: skip


class Entry(ctypes.Structure):
    _fields_ = [("event", ctypes.c_int32), ("first_weight", ctypes.c_int32),
                ("offset", ctypes.c_int64), ("size", ctypes.c_int64)]  # fmt: skip


class Log(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int64), ("entries", Entry * 64)]


class Weights(ctypes.Structure):
    _fields_ = [("flash", ctypes.c_void_p), ("memory", ctypes.c_void_p),
                ("bytes", ctypes.c_size_t)]  # fmt: skip


class Deep(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in
                ("o", "i", "kernels", "slab", "order", "outer")]  # fmt: skip


class Block(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in
                ("kh", "kw", "channels", "block", "multiplier")]  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The target's code and the fake, in this process."""
    require("gcc")
    output = tmp_path_factory.mktemp("stm32n6") / "stm32n6.so"
    command = ["gcc", *RULES, "-shared", "-fPIC", f"-I{TARGET}", f"-I{TARGET / 'declared'}",
               f"-I{FAKE}", *map(str, SOURCES), str(FAKE / "fake_st.c"), "-o",
               str(output)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = ctypes.CDLL(str(output))
    loaded.fake_events.restype = ctypes.POINTER(Log)
    for name in ("fake_aton_network", "fake_stai_network"):
        getattr(loaded, name).restype = ctypes.c_void_p
    for name in ("npu_pack_deep_1x1", "npu_pack_block_diagonal"):
        getattr(loaded, name).restype = ctypes.c_size_t
    return loaded


class Board:
    """A region of weights, and what happened to it."""

    def __init__(self, library, size=300):
        rng = np.random.default_rng(size)
        self.library = library
        self.flash = rng.integers(-128, 128, size).astype(np.int8)
        self.room = np.full(size + SLACK + LINE, 99, np.int8)
        start = -self.room.ctypes.data % LINE
        self.memory = self.room[start : start + size]
        self.weights = Weights(self.flash.ctypes.data, self.memory.ctypes.data, size)
        self.reset()

    def reset(self, fails=0):
        self.library.fake_reset(ctypes.c_void_p(self.memory.ctypes.data),
                                ctypes.c_size_t(len(self.memory)), fails)  # fmt: skip

    def call(self, name, *sizes):
        function = getattr(self.library, f"npu_weights_{name}")
        return function(ctypes.byref(self.weights), *map(ctypes.c_size_t, sizes))

    def forward(self, kind, image, outputs=10):
        output = np.zeros(64, np.int8)
        network = ctypes.c_void_p(getattr(self.library, f"fake_{kind}_network")())
        status = getattr(self.library, f"npu_{kind}_forward")(
            network, image.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(len(image)),
            output.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(outputs),
        )  # fmt: skip
        return status, output[:outputs]

    def events(self):
        """(what, offset, size, first weight in memory then) so far."""
        log = self.library.fake_events().contents
        return [(EVENTS[e.event], e.offset, e.size, e.first_weight)
                for e in log.entries[: log.count]]  # fmt: skip


@pytest.fixture
def board(library):
    return Board(library)


def test_weights_are_written_between_the_caches(board):
    """NPU's cache emptied before, the CPU's written back after, the NPU's emptied again."""
    assert board.call("load") == OK
    assert np.array_equal(board.memory, board.flash)
    before, after = 99, int(board.flash[0])
    assert board.events() == [
        ("npu clean+invalidate", 0, 320, before),
        ("mcu clean", 0, 320, after),
        ("npu clean+invalidate", 0, 320, after),
    ]


@pytest.mark.parametrize(
    ("first", "size", "start", "length"),
    [(0, 1, 0, 64), (63, 2, 0, 128), (64, 64, 64, 64), (130, 7, 128, 64), (299, 1, 256, 64),
     (5, 0, 0, 64), (0, 300, 0, 320)],
)  # fmt: skip
def test_ranges_are_whole_lines_of_both_caches(board, first, size, start, length):
    assert board.call("open", first, size) == OK
    assert board.call("close", first, size) == OK
    for _, offset, span, _ in board.events():
        assert (offset, span) == (start, length)
        assert offset + span <= len(board.memory) + SLACK


@pytest.mark.parametrize(("first", "size"), [(301, 0), (300, 1), (0, 301), (1, 2**64 - 1)])
def test_ranges_outside_the_region_are_refused(board, first, size):
    assert board.call("open", first, size) == OUTSIDE
    assert board.call("close", first, size) == OUTSIDE
    assert board.events() == []


def test_region_that_shares_a_line_is_refused(board):
    board.weights.memory += 32
    assert [board.call(*c) for c in (("load",), ("open", 0, 1), ("close", 0, 1))] == [UNALIGNED] * 3
    assert board.events() == []


@pytest.mark.parametrize("kind", ["aton", "stai"])
def test_a_training_pass_keeps_the_order(board, kind):
    """Write while idle, run, and only then write again: as zo's step does."""
    board.call("load")
    image = np.arange(64, dtype=np.int8)
    outputs = []
    for step in (1, 2):
        board.reset()
        old = int(board.memory[0])
        assert board.call("open", 0, 300) == OK
        board.memory[:] = (board.memory.astype(int) // 2 + step).astype(np.int8)
        new = int(board.memory[0])
        assert board.call("close", 0, 300) == OK
        status, output = board.forward(kind, image)
        assert status == OK
        names = [event for event, *_ in board.events()]
        run = ["epoch", "epoch", "wait", "done"] if kind == "aton" else ["done"]
        assert names == [
            "npu clean+invalidate", "mcu clean", "npu clean+invalidate",  # weights
            "npu clean+invalidate", "mcu clean", "npu clean+invalidate",  # image
            *run,
            "npu clean", "mcu invalidate",  # result
        ]  # fmt: skip
        assert [first for *_, first in board.events()] == [old] + [new] * (len(names) - 1)
        total = int(board.memory.astype(np.int64).sum())
        expected = [(total + i + i) % 256 for i in range(10)]
        assert output.view(np.uint8).tolist() == expected
        outputs.append(expected)
    assert outputs[0] != outputs[1]


@pytest.mark.parametrize("kind", ["aton", "stai"])
@pytest.mark.parametrize(("inputs", "outputs"), [(63, 10), (64, 11)])
def test_networks_of_other_sizes_are_refused(board, kind, inputs, outputs):
    status, _ = board.forward(kind, np.zeros(inputs, np.int8), outputs)
    assert status == BAD_SIZE
    assert board.events() == []


@pytest.mark.parametrize("kind", ["aton", "stai"])
def test_start_initialises_runtime_then_network(board, kind):
    network = ctypes.c_void_p(getattr(board.library, f"fake_{kind}_network")())
    assert getattr(board.library, f"npu_{kind}_start")(network) == OK
    assert [event for event, *_ in board.events()] == ["runtime init", "network init"]


@pytest.mark.parametrize("fails", [1, 2, 3, 4])
def test_errors_of_stai_are_passed_on(board, fails):
    board.reset(fails)
    if fails < 3:
        network = ctypes.c_void_p(board.library.fake_stai_network())
        assert board.library.npu_stai_start(network) == FAILED
    else:
        assert board.forward("stai", np.zeros(64, np.int8))[0] == FAILED


@pytest.mark.parametrize("outer", "OI")
@pytest.mark.parametrize("order", ["OI", "IO"])
@pytest.mark.parametrize(("o", "i"), [(16, 32), (40, 200), (5, 128), (1, 1), (33, 129)])
def test_pack_deep_1x1_matches_python(library, o, i, order, outer):
    weights = np.random.default_rng(o).integers(-128, 128, (o, i)).astype(np.int8)
    expected = deep_1x1((o, i), order=order, outer=outer).pack(weights)
    packed = np.full(len(expected) + 1, 55, np.int8)
    g = Deep(o, i, 16, 128, int(order == "IO"), int(outer == "I"))
    n = library.npu_pack_deep_1x1(weights.ctypes.data_as(ctypes.c_void_p), ctypes.byref(g),
                                  packed.ctypes.data_as(ctypes.c_void_p))  # fmt: skip
    assert (n, packed[-1]) == (len(expected), 55)
    assert np.array_equal(packed[:-1], expected)


@pytest.mark.parametrize(("channels", "block", "multiplier"), [(8, 8, 1), (10, 4, 1), (12, 4, 3)])
def test_pack_block_diagonal_matches_python(library, channels, block, multiplier):
    shape = (1, 3, 2, channels)
    weights = np.random.default_rng(channels).integers(-128, 128, shape).astype(np.int8)
    expected = block_diagonal(shape, block, multiplier=multiplier).pack(weights)
    packed = np.full(len(expected) + 1, 55, np.int8)
    g = Block(3, 2, channels, block, multiplier)
    n = library.npu_pack_block_diagonal(weights.ctypes.data_as(ctypes.c_void_p), ctypes.byref(g),
                                        packed.ctypes.data_as(ctypes.c_void_p))  # fmt: skip
    assert (n, packed[-1]) == (len(expected), 55)
    assert np.array_equal(packed[:-1], expected)


COMPILERS = [("gcc", SANITIZERS), ("clang", SANITIZERS),
             ("arm-none-eabi-gcc", ["-mcpu=cortex-m55", *M55])]  # fmt: skip


@pytest.mark.parametrize(("compiler", "options"), COMPILERS, ids=[name for name, _ in COMPILERS])
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_code_compiles_without_warnings(tmp_path, source, compiler, options):
    require(compiler)
    command = [compiler, *RULES, *options, f"-I{TARGET}", f"-I{TARGET / 'declared'}", "-c",
               str(source), "-o", str(tmp_path / "object.o")]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
