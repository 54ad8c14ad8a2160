"""A headless Chromium, controlled through its DevTools protocol over a pair of pipes. Needs only the standard
library."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = shutil.which("chromium")


class Browser:
    """with Browser() as browser: page = browser.open(path)"""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="gradus_browser_")
        to_read, self.write_end = os.pipe()
        self.read_end, to_write = os.pipe()
        # The browser reads commands from descriptor 3 and writes answers to descriptor 4.
        words = [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
                 "--disable-background-networking", "--remote-debugging-pipe", "--user-data-dir=" + self.folder, "about:blank"]
        script = 'exec "$0" "$@" 3<&%d 4>&%d' % (to_read, to_write)
        self.process = subprocess.Popen(["sh", "-c", script, *words], pass_fds=(to_read, to_write),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env=dict(os.environ, HOME=self.folder))
        os.close(to_read)
        os.close(to_write)
        self.buffer = b""
        self.number = 0
        self.events = []
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except (EOFError, OSError):
            pass
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.read_end)
        os.close(self.write_end)
        shutil.rmtree(self.folder, ignore_errors=True)

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            if not select.select([self.read_end], [], [], max(0, deadline - time.time()))[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self.read_end, 1 << 20)
            if not piece:
                raise EOFError("the browser has ended")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        text = json.dumps(message).encode() + b"\0"
        while text:
            text = text[os.write(self.write_end, text):]
        deadline = time.time() + 120
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path, **options):
        return BrowserPage(self, path, **options)


class BrowserPage:
    """A loaded page. `requests` holds all addresses that the page requested. `messages` holds the page's errors and
    warnings."""

    def __init__(self, browser, path, width=1100, height=900, dark=False, javascript=True, scripts=()):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        if not javascript:
            self.call("Emulation.setScriptExecutionDisabled", value=True)
        for script in scripts:  # installs the scripts before the page's own scripts run
            self.call("Page.addScriptToEvaluateOnNewDocument", source=script)
        browser.events.clear()
        self.call("Performance.enable", timeDomain="threadTicks")
        self.call("Page.navigate", url="file://" + path)
        self.wait_for("Page.loadEventFired")

    def processor_seconds(self):
        """Returns the CPU time that the page has used. A busy machine changes CPU time less than it changes wall
        time."""
        metrics = {metric["name"]: metric["value"] for metric in self.call("Performance.getMetrics")["metrics"]}
        return metrics["TaskDuration"]

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def wait_for(self, event):
        deadline = time.time() + 120
        while not any(known.get("method") == event for known in self.browser.events):
            self.browser.events.append(self.browser.receive(deadline))

    def evaluate(self, expression):
        """Returns the value of a JavaScript expression. If the value is a promise, returns the resolved value."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def of(self, method):
        return [event["params"] for event in self.browser.events if event.get("method") == method]

    @property
    def requests(self):
        return [request["request"]["url"] for request in self.of("Network.requestWillBeSent")]

    @property
    def messages(self):
        return (self.of("Runtime.consoleAPICalled") + self.of("Runtime.exceptionThrown") + self.of("Log.entryAdded") +
                self.of("Page.javascriptDialogOpening"))

    def move_mouse(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def screenshot(self, path):
        """Returns a picture of the whole page."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                            clip=dict(x=0, y=0, width=size["width"], height=size["height"], scale=1))
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))
