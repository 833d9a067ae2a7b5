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
    """Press Ctrl-C while a script is in the middle of a call.

    Returns whether the call was interrupted, and how many seconds of processor time it took from
    the signal on: that is what another busy process on the machine does not change.
    """
    return run_script(
        f"""
import json, os, signal, threading, time
{textwrap.dedent(setup)}
sent = []

def press():
    time.sleep({after})
    sent.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=press, daemon=True).start()
try:
    {call}
    interrupted = False
except KeyboardInterrupt:
    interrupted = True
print(json.dumps([interrupted, time.process_time() - sent[0] if sent else None]))
"""
    )
