"""The processor's floating-point environment, as other libraries may leave it behind.

A mode is set by the C library's own functions.  The control word, which also says whether tiny
numbers are flushed to zero, is a part of what they save: fenv_t of glibc, on the two processors
whose layout is known here.
"""

import contextlib
import ctypes
import ctypes.util
import platform
import struct

MACHINE = platform.machine()
_C = ctypes.CDLL(ctypes.util.find_library("m"))
_SIZE = 64  # more than any fenv_t

if MACHINE == "x86_64":
    _MODES = {"nearest": 0, "downward": 0x400, "upward": 0x800, "toward zero": 0xC00}
    _CONTROL, _FORMAT, _FLUSH = 28, "<I", 0x8040  # MXCSR: flush to zero, denormals are zero
elif MACHINE == "aarch64":
    _MODES = {"nearest": 0, "upward": 0x400000, "downward": 0x800000, "toward zero": 0xC00000}
    _CONTROL, _FORMAT, _FLUSH = 0, "<I", 1 << 24  # FPCR: flush to zero

SETTINGS = ["upward", "downward", "toward zero", "flush to zero"]
"""What another library may set."""

ALL_FLAGS = {"x86_64": 0x3D, "aarch64": 0x1F}.get(MACHINE, 0)
"""Of exceptions, as the C library numbers them."""


def is_known() -> bool:
    """Tell whether this machine's control word is known here."""
    return MACHINE in ("x86_64", "aarch64") and platform.libc_ver()[0] == "glibc"


def control() -> int:
    """Read the control word; on x86 it has the flags too."""
    saved = ctypes.create_string_buffer(_SIZE)
    _C.fegetenv(saved)
    return int(struct.unpack_from(_FORMAT, saved, _CONTROL)[0])


def flags() -> int:
    """Read the flags of exceptions that are up."""
    return int(_C.fetestexcept(ALL_FLAGS))


def raise_flags(which: int) -> None:
    """Put exactly these flags up."""
    _C.feclearexcept(ALL_FLAGS)
    _C.feraiseexcept(which)


def set_mode(mode: str) -> None:
    """Set a rounding mode."""
    assert _C.fesetround(_MODES[mode]) == 0


@contextlib.contextmanager
def environment(setting: str):
    """Set a rounding mode, or flush-to-zero, and take it back."""
    saved = ctypes.create_string_buffer(_SIZE)
    changed = ctypes.create_string_buffer(_SIZE)
    _C.fegetenv(saved)
    _C.fegetenv(changed)
    if setting == "flush to zero":
        word = struct.unpack_from(_FORMAT, changed, _CONTROL)[0] | _FLUSH
        struct.pack_into(_FORMAT, changed, _CONTROL, word)
        _C.fesetenv(changed)
    else:
        set_mode(setting)
    try:
        yield
    finally:
        _C.fesetenv(saved)
