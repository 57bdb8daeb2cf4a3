"""Pages in a real browser: Chromium without a window, spoken to through two pipes (the DevTools protocol).

    python -m tools.browser build/pages/site --out build/pages/shots    # screenshots of all pages, and what is wrong

Needs `chromium` on the PATH (Debian: `apt-get install chromium`); nothing else.
"""

import argparse
import base64
import fcntl
import functools
import http.server
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

PHONE, DESK = 390, 1280
HERE = "http://127.0.0.1:"
OWN = (HERE, "data:", "blob:", "about:")
# In a process between: a function that is called after a fork is not safe beside the threads of JAX.
CONNECT = (
    "import os, sys; [os.dup2(int(e), n) for e, n in zip(sys.argv[1:3], (3, 4))]; os.execv(sys.argv[3], sys.argv[3:])"
)
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ("--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
           "--no-first-run", "--disable-extensions", "--force-prefers-reduced-motion")  # fmt: skip
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
BROKEN = "[...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.src).join(' ')"


def program() -> str | None:
    """The browser, if there is one."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """One page in a browser. `problems` are errors in its console, and requests that failed."""

    def __init__(self, write: BinaryIO, read: BinaryIO) -> None:
        self._write, self._read = write, read
        self._numbers, self._rest, self._session = itertools.count(1), b"", ""
        self.problems: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def open(self, address: str) -> None:
        """Load a page, as on a phone; `problems` are its own from then on."""
        self.problems = []
        self.resize(PHONE)
        self._call("Page.navigate", url=address)
        while self._next()["method"] != "Page.loadEventFired":
            pass
        self._value("new Promise(done => setTimeout(() => done(1), 50))")  # scripts that run after loading
        if broken := self._value(BROKEN):
            self.problems.append(f"pictures do not load: {broken}")

    def resize(self, width: int) -> None:
        """Make the window as wide as this."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)

    def look(self, width: int) -> None:
        """Whether the page fits into a window of this width."""
        self.resize(width)
        if (wider := self._value(WIDER)) > 0:
            self.problems.append(f"{wider} pixels wider than a window of {width}")

    def screenshot(self, file: Path) -> None:
        """The whole page as a picture, up to 6 000 pixels."""
        size = self._call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 6000), "scale": 1}
        shot = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        file.write_bytes(base64.b64decode(shot["data"]))

    def _value(self, expression: str) -> Any:
        found = self._call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        return found["result"].get("value")

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._write.write(json.dumps(message).encode() + b"\0")
        while (answer := self._message()).get("id") != number:
            self._note(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _next(self) -> dict[str, Any]:
        while "method" not in (event := self._message()):
            pass
        self._note(event)
        return event

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            chunk = self._read.read(1 << 16)
            if not chunk:
                raise RuntimeError("the browser has ended")
            self._rest += chunk
        first, _, self._rest = self._rest.partition(b"\0")
        return json.loads(first)

    def _note(self, event: dict[str, Any]) -> None:
        method, what = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(what["exceptionDetails"].get("text", "exception"))
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "assert"):
            self.problems.append(" ".join(str(part.get("value")) for part in what["args"]))
        elif method == "Log.entryAdded" and what["entry"]["level"] == "error":
            self.problems.append(f"{what['entry']['text']} {what['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent" and not what["request"]["url"].startswith(OWN):
            self.problems.append(f"asks the network for {what['request']['url']}")


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser that ends with the block."""
    found = program()
    if found is None:
        raise SystemExit(f"no browser: expected one of {', '.join(PROGRAMS)} on the PATH")
    to_read, to_write = os.pipe(), os.pipe()
    # The protocol wants descriptors 3 and 4, which may be taken here.
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (to_read[0], to_write[1])]

    # Its children may still write into the profile for a moment after it was killed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [sys.executable, "-c", CONNECT, *map(str, ends), found, *OPTIONS, f"--user-data-dir={profile}"],
            pass_fds=ends,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (to_read[0], to_write[1], *ends):
            os.close(end)
        with os.fdopen(to_read[1], "wb", buffering=0) as write, os.fdopen(to_write[0], "rb", buffering=0) as read:
            try:
                yield Browser(write, read)
            finally:
                process.kill()
                process.wait()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A handler that does not say what it serves."""

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder on a server of this process."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"{HERE}{server.server_address[1]}/"
        finally:
            server.shutdown()


def pages(site: Path) -> list[str]:
    """All pages of a site, as their addresses within it."""
    return sorted(page.relative_to(site).as_posix() for page in site.rglob("*.html"))


def main() -> None:
    """Look at all pages of a site."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path)
    parser.add_argument("--out", type=Path, help="a folder for screenshots")
    parser.add_argument("--only", default="", help="a part of the name of the pages")
    chosen = parser.parse_args()
    wrong = 0
    with served(chosen.site) as address, browser() as chromium:
        for page in [name for name in pages(chosen.site) if chosen.only in name]:
            chromium.open(address + page)
            for width in (PHONE, DESK):
                chromium.look(width)
                if chosen.out:
                    chosen.out.mkdir(parents=True, exist_ok=True)
                    chromium.screenshot(chosen.out / f"{page.replace('/', '-').removesuffix('.html')}-{width}.png")
            for problem in chromium.problems:
                wrong += 1
                print(f"{page}: {problem}")
    sys.exit(min(wrong, 1))


if __name__ == "__main__":
    main()
