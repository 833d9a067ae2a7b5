"""What another thread might do meanwhile, at every line of a call in turn: no luck needed."""

import sys
from itertools import count


def write_at_every_line(call, write, restore):
    """Call until no line of the package is left before which `write` could come.

    Yields what each call returned, or the error it raised.
    """
    for moment in count():
        restore()
        lines = iter(range(moment, -1, -1))
        has_written = False

        def trace(frame, event, _, lines=lines):
            nonlocal has_written
            if "/arborand/" not in frame.f_code.co_filename:
                return None
            if event == "line" and next(lines, None) == 0:
                has_written = True
                write()
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            outcome = call()
        except Exception as error:
            outcome = error
        finally:
            sys.settrace(before)
        if not has_written:
            return
        yield outcome
