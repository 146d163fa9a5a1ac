"""A real JupyterLab in a headless browser, for the browser tests and the bench.

    with Lab(folder, "/usr/bin/chromium") as lab:
        notebook = lab.open("05_attention.ipynb")
        notebook.run_all()
        cell = notebook.cell(12)

The server has settings of its own in a temporary folder, so nothing of the
person who runs it is read or changed.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

# Messages of JupyterLab itself, seen with an empty notebook too.
NOISE = (
    "Failed to load resource: the server responded with a status of 404",  # a workspace that was never saved
)

# The one thing that a notebook may ask of the network: the picture of the Colab badge in its first cell.
BADGE = "https://colab.research.google.com/assets/colab-badge.svg"

SETTINGS = {
    "@jupyterlab/apputils-extension/notification.jupyterlab-settings": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    "@jupyterlab/docmanager-extension/plugin.jupyterlab-settings": {"autosave": False},
}

# Milliseconds from a key press to the changed picture on the screen. ``root`` is
# watched; a change counts when it holds an <img> that has been decoded, or no img at all.
WATCH = """
root => {
  let started = null, shown = null;
  window.nextPress = () => {
    window.pressed = new Promise((done, failed) => {
      shown = done;
      setTimeout(() => failed(new Error("the key changed nothing")), 60_000);
    });
  };
  document.addEventListener("keydown", () => { started = performance.now(); }, true);
  const observer = new MutationObserver(async records => {
    if (started === null) return;
    const added = records.flatMap(record => [...record.addedNodes]).filter(node => node.querySelectorAll);
    if (!added.length) return;
    const images = added.flatMap(node => [node, ...node.querySelectorAll("img")]).filter(node => node.tagName == "IMG");
    if (root.dataset.wait === "img" && !images.length) return;
    const from = started;
    started = null;
    await Promise.all(images.map(image => image.decode().catch(() => null)));
    // the frame is painted between its callback and the next task
    requestAnimationFrame(() => setTimeout(() => shown(performance.now() - from)));
  });
  observer.observe(root, {childList: true, subtree: true});
}
"""


class Lab:
    """A server and a browser; ``folder`` holds the notebooks and is written to by nobody but the kernel."""

    def __init__(self, folder, browser_path, theme="JupyterLab Light", size=(1280, 1000)):
        self.folder, self.browser_path, self.theme, self.size = Path(folder), browser_path, theme, size

    def __enter__(self):
        from playwright.sync_api import sync_playwright

        with contextlib.ExitStack() as stack:
            own = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
            self.address = stack.enter_context(server(self.folder, own, self.theme))
            playwright = stack.enter_context(sync_playwright())
            browser = playwright.chromium.launch(
                executable_path=self.browser_path, args=["--no-sandbox", "--disable-dev-shm-usage"]
            )
            stack.callback(browser.close)
            self.browser = browser
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *error):
        self.stack.close()

    def open(self, name):
        """Open a notebook in a fresh browser page and wait for its kernel."""
        width, height = self.size
        page = self.browser.new_page(viewport={"width": width, "height": height})
        page.set_default_timeout(60_000)
        return Notebook(page, f"{self.address}/lab/tree/{name}?reset")


class Notebook:
    """A notebook open in JupyterLab."""

    def __init__(self, page, address):
        self.page = page
        self.console = []
        origin = "/".join(address.split("/")[:3])
        page.on("console", lambda message: message.type == "error" and self.console.append(message.text))
        page.on("pageerror", lambda error: self.console.append(str(error)))
        page.route(lambda url: not url.startswith((origin, "data:", "blob:")), self.refuse)
        page.goto(address)
        page.wait_for_function(
            "window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
        )

    def refuse(self, route):
        """Answer requests to other hosts here: the badge with an empty picture, all others as an error."""
        if route.request.url == BADGE:
            route.fulfill(content_type="image/svg+xml", body="<svg xmlns='http://www.w3.org/2000/svg'/>")
        else:
            self.console.append(f"a request to another host: {route.request.url}")
            route.abort()

    def run_all(self, seconds=300):
        """Run all cells and wait until the last is done."""
        self.page.evaluate(
            "window.ran = false;"
            "void jupyterapp.commands.execute('notebook:run-all-cells').finally(() => { window.ran = true; })"
        )
        self.page.wait_for_function("window.ran", timeout=seconds * 1000)

    def outputs(self):
        """The outputs of all cells, as nbformat writes them."""
        return self.page.evaluate(
            "jupyterapp.shell.currentWidget.content.widgets.map(c => c.model.outputs ? c.model.outputs.toJSON() : [])"
        )

    def console_errors(self):
        """Errors in the browser's console, without what JupyterLab says by itself."""
        return [text for text in self.console if not any(noise in text for noise in NOISE)]

    def cell(self, number):
        """The element of a cell, scrolled to: JupyterLab draws only what is near the screen."""
        handle = self.page.evaluate_handle(
            """async number => {
              const content = jupyterapp.shell.currentWidget.content;
              content.activeCellIndex = number;
              await content.scrollToItem(number, "start");
              await new Promise(done => setTimeout(done, 300));
              return content.widgets[number].node;
            }""",
            number,
        )
        return handle.as_element()

    def set_theme(self, name):
        """Change the theme and wait until it is there."""
        self.page.evaluate("name => jupyterapp.commands.execute('apputils:change-theme', {theme: name})", name)
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)

    def watch(self, root, wait_for_image=False):
        """Measure key presses from now on, until the page is closed."""
        root.evaluate("(root, wait) => { root.dataset.wait = wait; }", "img" if wait_for_image else "")
        root.evaluate(WATCH)

    def press(self, key):
        """Press a key and return the milliseconds until the changed picture was on the screen."""
        self.page.evaluate("window.nextPress()")
        self.page.keyboard.press(key)
        return self.page.evaluate("window.pressed")

    def close(self):
        self.page.evaluate("jupyterapp.shell.currentWidget.sessionContext.shutdown()")
        self.page.close()


@contextlib.contextmanager
def server(folder, own, theme):
    """The address of a JupyterLab that shows ``folder`` and keeps its settings in ``own``."""
    for name, values in {
        **SETTINGS,
        "@jupyterlab/apputils-extension/themes.jupyterlab-settings": {"theme": theme},
    }.items():
        file = own / "settings" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(own / "config"),
        "JUPYTER_DATA_DIR": str(own / "data"),
        "JUPYTER_RUNTIME_DIR": str(own / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(own / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(own / "workspaces"),
        "IPYTHONDIR": str(own / "ipython"),
        "JUPYTER_PREFER_ENV_PATH": "1",
    }
    command = [
        sys.executable,
        str(Path(__file__).with_name("start.py")),
        "--no-browser",
        "--allow-root",
        "--LabApp.expose_app_in_browser=True",
    ]
    command += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0", "--ServerApp.ip=127.0.0.1"]
    command += ["--IdentityProvider.token=", "--ServerApp.password=", f"--ServerApp.root_dir={folder}"]
    address = f"http://127.0.0.1:{port}"
    with (own / "log.txt").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        for _ in range(600):
            if process.poll() is not None:
                raise RuntimeError("JupyterLab did not start:\n" + (own / "log.txt").read_text())
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{address}/api", timeout=5).close()
                break
            time.sleep(0.1)
        else:
            raise RuntimeError("JupyterLab did not answer within a minute:\n" + (own / "log.txt").read_text())
        yield address
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
