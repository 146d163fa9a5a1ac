"""What the tests share: the project's files, a browser, and the order of files."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)


def pytest_collection_modifyitems(items):
    """Files with slow tests first: a long file that comes last would keep only one of the workers busy."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def require_browser(candidates, in_ci):
    """Path of the first browser that exists. Without one the test is skipped, but fails in CI."""
    found = next(filter(None, map(shutil.which, candidates)), None)
    if found is None:
        reason = "no Chromium or Chrome was found; the browser tests need one"
        if in_ci:
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@pytest.fixture(scope="session")
def browser_path():
    """Chromium or Chrome, for playwright's ``executable_path``."""
    return require_browser(BROWSERS, in_ci=bool(os.environ.get("CI")))


def project_files():
    """The project's files, relative to its root: tracked ones and new ones, but none that git ignores."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted(Path(name) for name in listed.split("\0") if name and (ROOT / name).is_file())


def copy_project(target):
    """Copy the project's files to the folder ``target``."""
    for name in project_files():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target / name)


@pytest.fixture
def project_copy(tmp_path):
    """A copy of the project to change things in."""
    copy = tmp_path / "copy"
    copy_project(copy)
    return copy


def new_environment(folder, *arguments, cwd=ROOT):
    """Make a virtual environment, have its pip install what the arguments say, and return its Python."""
    python = folder / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    more = shlex.split(os.environ.get("PIP_ARGS", ""))  # where to find torch's CPU build, for one
    subprocess.run([python, "-m", "pip", "install", "--quiet", *arguments, *more], cwd=cwd, check=True)
    return python
