"""A real Chromium, driven through its own debugging pipe: no driver program, no further package.

The browser reads commands from file descriptor 3 and writes answers and events to 4, JSON ended by NUL
(``--remote-debugging-pipe``; the commands are those of https://chromedevtools.github.io/devtools-protocol/).
"""

import base64
import contextlib
import fcntl
import json
import os
import select
import signal
import time
from pathlib import Path

SECONDS = 60

FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--lang=en-GB",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)

# What a key is in the protocol: name to (code, virtual key, text).
KEYS = {
    "ArrowLeft": ("ArrowLeft", 37, ""),
    "ArrowUp": ("ArrowUp", 38, ""),
    "ArrowRight": ("ArrowRight", 39, ""),
    "ArrowDown": ("ArrowDown", 40, ""),
    "Enter": ("Enter", 13, "\r"),
    "Escape": ("Escape", 27, ""),
    "Tab": ("Tab", 9, ""),
    "Home": ("Home", 36, ""),
    "End": ("End", 35, ""),
    " ": ("Space", 32, " "),
}


class Chromium:
    """One browser process with an empty profile of its own."""

    def __init__(self, program, profile):
        incoming, self._write = os.pipe()
        self._read, outgoing = os.pipe()
        # High numbers first, lest one of the four is itself 3 or 4 and gets overwritten.
        high = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 10) for each in (incoming, outgoing)]
        os.close(incoming)
        os.close(outgoing)
        null = os.open(os.devnull, os.O_RDWR)
        flags = [*FLAGS, f"--user-data-dir={profile}"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")
        # Unlike fork, this is safe while other threads run.
        self.pid = os.posix_spawn(
            program,
            [program, *flags, "about:blank"],
            {**os.environ, "HOME": str(profile), "XDG_CONFIG_HOME": str(profile)},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, null, 0),
                (os.POSIX_SPAWN_DUP2, null, 1),
                (os.POSIX_SPAWN_DUP2, null, 2),
                (os.POSIX_SPAWN_DUP2, high[0], 3),
                (os.POSIX_SPAWN_DUP2, high[1], 4),
            ],
            setpgroup=0,
        )
        for each in (*high, null):
            os.close(each)
        self._buffer = b""
        self._number = 0
        self.events = []

    def send(self, method, session=None, **parameters):
        """Give a command and return its result; events that come meanwhile are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        deadline = time.monotonic() + SECONDS
        while True:
            answer = self._next(deadline)
            assert answer is not None, f"no answer to {method} in {SECONDS} s"
            if answer.get("id") == message["id"]:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def listen(self, seconds):
        """Take in the events of so many seconds, or of the first that comes."""
        self._next(time.monotonic() + seconds)

    def _next(self, deadline):
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                return None
            piece = os.read(self._read, 1 << 16)
            assert piece, "the browser has gone"
            self._buffer += piece
        text, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(text)
        if "id" not in message:
            self.events.append(message)
        return message

    def page(self, *, width=1400, height=900, dark=False):
        """Open a page in a context of its own: no cookies, no storage of others."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Page(self, session, context, width=width, height=height, dark=dark)

    def close(self):
        """End the browser and all its processes."""
        with contextlib.suppress(AssertionError, OSError):
            self.send("Browser.close")
        for attempt in range(100):
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                break
            if attempt == 50:
                os.killpg(self.pid, signal.SIGKILL)
            time.sleep(0.1)
        os.close(self._write)
        os.close(self._read)


class Page:
    """One page: opened, looked at, clicked and typed into as by a user."""

    def __init__(self, browser, session, context, *, width, height, dark):
        self._browser = browser
        self._session = session
        self._context = context
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._send(f"{domain}.enable")
        self._send("Page.setLifecycleEventsEnabled", enabled=True)
        self.resize(width, height)
        scheme = "dark" if dark else "light"
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        features.append({"name": "prefers-reduced-motion", "value": "reduce"})
        self._send("Emulation.setEmulatedMedia", features=features)

    def _send(self, method, **parameters):
        return self._browser.send(method, self._session, **parameters)

    def _events(self, *names):
        return [
            event["params"]
            for event in self._browser.events
            if event.get("sessionId") == self._session and event["method"] in names
        ]

    def resize(self, width, height):
        """Give the window another size, in CSS pixels."""
        self._send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )

    def open(self, url):
        """Go to a URL or a local path and wait for the page to be loaded."""
        url = url.as_uri() if isinstance(url, Path) else url
        loader = self._send("Page.navigate", url=url)["loaderId"]
        deadline = time.monotonic() + SECONDS
        while not any(
            event["name"] == "load" and event["loaderId"] == loader
            for event in self._events("Page.lifecycleEvent")
        ):
            assert time.monotonic() < deadline, f"{url} did not load in {SECONDS} s"
            self._browser.listen(0.5)

    def forget(self):
        """Leave the page, with all that has happened on it, and move the mouse out of the way."""
        self._send("Page.navigate", url="about:blank")
        self._send("Input.dispatchMouseEvent", type="mouseMoved", x=0, y=0)
        self._browser.events.clear()

    def run(self, expression):
        """Return the value of a JavaScript expression; a promise is waited for."""
        answer = self._send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression):
        """Wait until an expression is true."""
        deadline = time.monotonic() + SECONDS
        while not self.run(f"Boolean({expression})"):
            assert time.monotonic() < deadline, f"never true in {SECONDS} s: {expression}"
            time.sleep(0.02)

    def texts(self, selector):
        """Return the visible text of each element."""
        return self.run(
            f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.innerText.trim())"
        )

    def text(self, selector):
        """Return the visible text of the one element."""
        (found,) = self.texts(selector)
        return found

    def count(self, selector):
        """Return how many elements there are."""
        return self.run(f"document.querySelectorAll({json.dumps(selector)}).length")

    def point(self, selector, index=0):
        """Return the middle of an element, scrolled into view."""
        found = self.run(
            f"""(() => {{
                const element = document.querySelectorAll({json.dumps(selector)})[{index}];
                if (!element) return null;
                element.scrollIntoView({{block: "center", inline: "center"}});
                const box = element.getBoundingClientRect();
                return [box.x + box.width / 2, box.y + box.height / 2];
            }})()"""
        )
        assert found is not None, f"no element {index} of {selector}"
        return found

    def hover(self, selector, index=0):
        """Move the mouse onto an element."""
        x, y = self.point(selector, index)
        self._send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector, index=0):
        """Click an element with the mouse."""
        x, y = self.point(selector, index)
        self._send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased"):
            self._send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key):
        """Press a key."""
        code, number, text = KEYS[key]
        common = {"key": key, "code": code, "windowsVirtualKeyCode": number}
        self._send("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self._send("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text):
        """Put text in at the focus."""
        self._send("Input.insertText", text=text)

    def fill(self, selector, text):
        """Replace what stands in a field."""
        self.run(f"(e => {{ e.focus(); e.select(); }})(document.querySelector({json.dumps(selector)}))")
        if text:
            self.type(text)
        else:
            self._send("Input.dispatchKeyEvent", type="keyDown", key="Delete", windowsVirtualKeyCode=46)
            self._send("Input.dispatchKeyEvent", type="keyUp", key="Delete", windowsVirtualKeyCode=46)

    def choose(self, selector, value):
        """Choose an entry of a select element."""
        self.run(
            f"""(e => {{
                e.value = {json.dumps(value)};
                e.dispatchEvent(new Event("change", {{bubbles: true}}));
            }})(document.querySelector({json.dumps(selector)}))"""
        )

    def problems(self):
        """Return all errors and warnings that the page has brought up, those of its policy included."""
        logged = [event["entry"]["text"] for event in self._events("Log.entryAdded")]
        thrown = [event["exceptionDetails"]["text"] for event in self._events("Runtime.exceptionThrown")]
        called = [str(event["args"]) for event in self._events("Runtime.consoleAPICalled")]
        return logged + thrown + called

    def requests(self):
        """Return the URLs the page has asked for."""
        return [event["request"]["url"] for event in self._events("Network.requestWillBeSent")]

    def dialogs(self):
        """Return the dialogs that scripts have opened."""
        return self._events("Page.javascriptDialogOpening")

    def screenshot(self, path, *, whole=False):
        """Write a picture of the window, or of the whole page, to a PNG file."""
        picture = self._send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(picture["data"]))

    def close(self):
        """Close the page and forget all it has kept."""
        self._browser.send("Target.disposeBrowserContext", browserContextId=self._context)
