"""A headless Chromium for tests, driven through a pair of pipes: no port, no driver, no package.

The DevTools protocol over ``--remote-debugging-pipe``: JSON messages that end in a zero byte, which
Chromium reads from file descriptor 3 and writes to 4.  See
https://chromedevtools.github.io/devtools-protocol/.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 120.0  # seconds, for anything: only reached by what hangs
# Chromium insists on descriptors 3 and 4: moves the pipes there, whatever numbers they have here.
LAUNCHER = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.closerange(5, 64)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_chromium() -> str | None:
    """Return the path of Chromium: that of $ARBORAND_CHROMIUM, or one in the usual places."""
    return os.environ.get("ARBORAND_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class BrowserError(RuntimeError):
    """The browser, or a script in it, said that something went wrong."""


class Browser:
    """A running Chromium with one page.

    `errors` collects the exceptions and console errors of the page, `requests` the addresses it
    asked for, since the last `open`.
    """

    def __init__(self, path: str, profile: Path) -> None:
        to_browser, self._to = os.pipe()
        self._from, from_browser = os.pipe()
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-c", LAUNCHER, str(to_browser), str(from_browser)),
                *(path, *FLAGS, f"--user-data-dir={profile}", "about:blank"),
            ],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self._events: list[dict[str, Any]] = []
        self.errors: list[str] = []
        self.requests: list[str] = []
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(t["targetId"] for t in targets if t["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        # As if the window were in front: elements then get their focus events.
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._session = None
        with contextlib.suppress(BrowserError, OSError):
            self.call("Browser.close")
        os.close(self._to)
        os.close(self._from)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    # ---- the protocol

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _receive(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            if not select.select([self._from], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise BrowserError(f"no answer from Chromium in {PATIENCE} s")
            piece = os.read(self._from, 1 << 20)
            if not piece:
                raise BrowserError(f"Chromium ended, exit status {self._process.wait()}")
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        decoded: dict[str, Any] = json.loads(message)
        return decoded

    def _note(self, event: dict[str, Any]) -> None:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        self._events.append(event)

    def _wait_for(self, method: str) -> None:
        while not any(event.get("method") == method for event in self._events):
            self._note(self._receive())

    # ---- what a reader does

    def open(
        self,
        path: Path,
        *,
        width: int = 1300,
        height: int = 900,
        scripts: bool = True,
        touch: bool = False,
        remember: bool = False,
        fragment: str = "",
        **media: str,
    ) -> None:
        """Load a file; `media` are features such as ``prefers_color_scheme="dark"``.

        With `remember`, it finds what earlier pages have stored.
        """
        self.errors.clear()
        self.requests.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)
        self.emulate(**media)
        forgetting = None
        if not remember:
            source = "localStorage.clear()"
            forgetting = self.call("Page.addScriptToEvaluateOnNewDocument", source=source)
        self._events.clear()
        # The same address but for its fragment would not be loaded again.
        self.call("Page.navigate", url="about:blank")
        self._wait_for("Page.loadEventFired")
        self.requests.clear()
        self.errors.clear()
        self._events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri() + fragment)
        self._wait_for("Page.loadEventFired")
        if forgetting:
            self.call("Page.removeScriptToEvaluateOnNewDocument", **forgetting)

    def open_live(self, path: Path, **options: Any) -> None:
        """Load a page of sentences, and wait until its script has taken over the first one."""
        self.open(path, **options)
        self.evaluate("""new Promise((done) => {
            const look = () => document.querySelector(".sentence.live") ? done()
                : requestAnimationFrame(look);
            look();
        })""")

    def open_all(self) -> None:
        """Let the script take over every sentence, as before printing, in view or not."""
        self.evaluate("dispatchEvent(new Event('beforeprint'))")
        self.settle()

    def emulate(self, medium: str = "", **media: str) -> None:
        """Pretend to be another medium (``"print"``), or one with other features."""
        features = [{"name": k.replace("_", "-"), "value": v} for k, v in media.items()]
        self.call("Emulation.setEmulatedMedia", media=medium, features=features)

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, awaited if it is a promise."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def press(self, *keys: str, control: bool = False) -> None:
        """Press keys, one after the other, and wait until the page has drawn the result."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36}
        codes |= {letter: ord(letter.upper()) for letter in "abcdefghijklmnopqrstuvwxyz123456789"}
        codes |= {"?": 191}
        codes |= {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Delete": 46}
        for key in keys:
            event: dict[str, Any] = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
            event["modifiers"] = 2 if control else 0
            text = {"Enter": "\r", " ": " "}.get(key)
            extra = {"text": text} if text else {}
            kind = "keyDown" if text else "rawKeyDown"
            self.call("Input.dispatchKeyEvent", type=kind, **event, **extra)
            self.call("Input.dispatchKeyEvent", type="keyUp", **event)
        self.settle()

    def click(self, x: float, y: float) -> None:
        """Click with the mouse, as far from the window's corner."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = "none" if kind == "mouseMoved" else "left"
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1)
        self.settle()

    def tap(self, x: float, y: float) -> None:
        """Tap with a finger."""
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        self.settle()

    def settle(self) -> None:
        """Wait until the page has drawn what has happened."""
        self.evaluate("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")

    def wait_for(self, happened: Callable[[], bool]) -> None:
        """Wait, frame by frame, for something outside the page."""
        deadline = time.monotonic() + PATIENCE
        while not happened():
            if time.monotonic() > deadline:
                raise BrowserError(f"did not happen in {PATIENCE} s")
            self.settle()

    def told(self, role: str) -> list[tuple[str, str, str]]:
        """Read what a screen reader is told: role, name and description of everything.

        The browser makes this list behind the page.  It is complete when something of the `role` is
        there, and nothing comes any more.
        """
        last: list[tuple[str, str, str]] = []

        def is_complete() -> bool:
            before = last.copy()
            last[:] = [
                (
                    node["role"]["value"],
                    node.get("name", {}).get("value", ""),
                    node.get("description", {}).get("value", ""),
                )
                for node in self.call("Accessibility.getFullAXTree")["nodes"]
                if not node.get("ignored")
            ]
            return last == before and any(found == role for found, _, _ in last)

        self.wait_for(is_complete)
        return last

    def screenshot(self, path: Path, *, full: bool = True) -> None:
        """Save what the page looks like, for a person to look at."""
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=full)
        path.write_bytes(base64.b64decode(answer["data"]))
