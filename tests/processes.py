"""Scripts in a process of their own: for signals, forks and memory, which tests must not share."""

import json
import subprocess
import sys
import textwrap

TIMEOUT = 120  # seconds: only reached by a script that hangs


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

threading.Thread(target=press, daemon=True).start()
try:
    {call}
    interrupted = False
except KeyboardInterrupt:
    interrupted = True
print(json.dumps(interrupted))
"""
    )
