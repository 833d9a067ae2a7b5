"""Scripts in a process of their own: for signals, forks and memory, which tests must not share."""

import json
import re
import resource
import subprocess
import sys
import textwrap
from pathlib import Path

TIMEOUT = 120  # seconds: only reached by a script that hangs


def peak_memory():
    """Look up the most memory that this program has had since it began, in kilobytes.

    On Linux `ru_maxrss` is at least what the process that started it has had: no growth is seen
    below that.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s*(\d+) kB", status.read_text())[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024  # bytes, on macOS


def run_script(script):
    """Run a script and return what it printed, read as JSON."""
    finished = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def interrupt(setup, call, *, after=0.3):
    """Press Ctrl-C while a script is in the middle of a call; tell whether that ended the call.

    The call must be one that takes longer than TIMEOUT when it is left alone: then no clock has to
    be looked at. A call that goes on, or cannot be interrupted, does not return in time.
    """
    return run_script(
        f"""
import json, os, signal, threading, time
{textwrap.dedent(setup)}

def press():
    time.sleep({after})
    os.kill(os.getpid(), signal.SIGINT)

try:
    threading.Thread(target=press, daemon=True).start()
    {call}
    interrupted = False
except KeyboardInterrupt:
    interrupted = True
print(json.dumps(interrupted))
"""
    )
