"""Set-up: versions, environments, the Makefile, the setup cell, and one address everywhere."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from conftest import ROOT, new_environment, project_files, require_browser
from jupyter_server.serverapp import ServerApp
from jupyterlab.labapp import LabApp
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tools import publish, start

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
NEEDED = [Requirement(text) for text in PROJECT["dependencies"]]
EXTRAS = [Requirement(text) for extra in PROJECT["optional-dependencies"].values() for text in extra]
SETUP_CELL = (ROOT / "tools" / "setup_cell.py").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def pins(path):
    """Name to version of a file of lines name==version."""
    lines = (line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines if line)}


PINS = pins(ROOT / "constraints.txt")


def allowed_pythons():
    """Versions 3.x that pyproject.toml allows."""
    allowed = SpecifierSet(PROJECT["requires-python"])
    return [f"3.{minor}" for minor in range(40) if f"3.{minor}" in allowed]


# Versions


@pytest.mark.parametrize("requirement", NEEDED + EXTRAS, ids=str)
def test_tested_versions_lie_in_the_ranges(requirement):
    assert PINS[canonicalize_name(requirement.name)] in requirement.specifier


def test_tested_versions_are_exact_and_without_local_suffix():
    for name, version in PINS.items():
        assert re.fullmatch(r"[0-9][0-9a-z.]*", version), f"{name}=={version}"


@pytest.mark.parametrize("requirement", NEEDED, ids=str)
def test_ranges_admit_what_colab_has(requirement):
    colab = pins(ROOT / "tests" / "colab-constraints.txt") | {"torch": "2.11.0"}
    assert colab[canonicalize_name(requirement.name)] in requirement.specifier


def test_the_same_pythons_everywhere():
    lowest, newest = allowed_pythons()[0], allowed_pythons()[-1]

    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert f"python{PROJECT['requires-python']}" in environment["dependencies"]

    bounds = re.search(r"\((\d+), (\d+)\) <= sys.version_info\[:2\] <= \((\d+), (\d+)\)", MAKEFILE).groups()
    assert bounds == (*lowest.split("."), *newest.split("."))
    tried = re.search(r"for python in (.*?);", MAKEFILE)[1].split()
    assert {f"python{version}" for version in allowed_pythons()} <= set(tried)

    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))
    assert workflow["jobs"]["test"]["strategy"]["matrix"]["python"] == [lowest, newest]

    assert f"Python from {lowest} to {newest}" in README


def test_import_of_helpers_loads_no_torch():
    code = "import sys, helpers; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_environment_installs(project_copy, tmp_path):
    """What conda does with the pip part: writes it to a file beside environment.yml and has pip install that."""
    parts = yaml.safe_load((project_copy / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    (pip_part,) = (part["pip"] for part in parts if isinstance(part, dict))
    (project_copy / "condaenv.txt").write_text("\n".join(pip_part) + "\n", encoding="utf-8")

    python = new_environment(tmp_path / "environment", "-U", "-r", "condaenv.txt", cwd=project_copy)

    code = "import helpers, numpy, torch, jupyterlab; print(helpers.__file__, numpy.__version__, torch.__version__)"
    place, numpy_version, torch_version = subprocess.check_output(
        [python, "-c", code], cwd=tmp_path, text=True
    ).split()
    assert Path(place) == project_copy / "helpers" / "__init__.py"
    assert numpy_version == PINS["numpy"]
    assert torch_version.partition("+")[0] == PINS["torch"]
    shutil.rmtree(tmp_path / "environment")  # 1 GB


# Makefile


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


class MakeRun:
    """`make` in a copy of the project, with Pythons that write down how they are called and install nothing."""

    def __init__(self, copy, folder):
        self.copy, self.log, self.path = copy, folder / "log", folder / "bin"
        self.path.mkdir()
        for tool in ("sh", "make", "rm", "touch", "id", "mkdir", "chmod"):
            (self.path / tool).symlink_to(shutil.which(tool))

    def add_python(self, name, fits):
        """A Python that fits or not; its `-m venv` makes an environment with another such Python."""
        inner = f'#!/bin/sh\\necho "$0 $@" >> "{self.log}"\\n'
        script(self.path / name, f"""
            case "$1 $2" in
                "-c import"*) exit {0 if fits else 1} ;;
                "-m venv") mkdir -p "$3/bin"; printf '{inner}' > "$3/bin/python"; chmod +x "$3/bin/python" ;;
            esac
            echo "{name} $@" >> "{self.log}" """)

    def make(self, *arguments):
        """Run make; returns the process and the calls of Pythons since the last run."""
        self.log.write_text("")
        options = {"cwd": self.copy, "env": {"PATH": str(self.path)}, "stdin": subprocess.DEVNULL}
        done = subprocess.run(["make", *arguments], **options, capture_output=True, text=True)
        return done, self.log.read_text().splitlines()


@pytest.fixture
def fake(project_copy, tmp_path):
    return MakeRun(project_copy, tmp_path)


def test_lab_installs_once(fake):
    fake.add_python("python3", fits=True)
    _, calls = fake.make("lab", "LAB_ARGS=--no-browser")
    assert calls[0] == "python3 -m venv .venv"
    assert calls[1].startswith(".venv/bin/python -m pip install --no-input")
    assert calls[1].endswith("-c constraints.txt -e .[lab]")
    assert calls[2].startswith(".venv/bin/python tools/start.py --notebook-dir=notebooks")
    assert calls[2].endswith("--no-browser")

    _, again = fake.make("lab", "LAB_ARGS=--no-browser")
    assert again == calls[2:]


def test_test_installs_once_and_lab_nothing_after_it(fake):
    fake.add_python("python3", fits=True)
    _, calls = fake.make("test")
    assert [call.split()[:3] for call in calls[:2]] == [
        ["python3", "-m", "venv"],
        [".venv/bin/python", "-m", "pip"],
    ]
    assert calls[1].endswith("-e .[lab,test]")
    assert calls[2].startswith(".venv/bin/python -m pytest")
    assert fake.make("test")[1] == calls[2:]
    assert not any(" pip " in call for call in fake.make("lab")[1])


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_installs_again_after_a_change(fake, name):
    fake.add_python("python3", fits=True)
    fake.make("lab")
    later = (fake.copy / ".venv" / ".lab").stat().st_mtime + 10
    os.utime(fake.copy / name, (later, later))
    _, calls = fake.make("lab")
    assert " -m pip install " in calls[0]
    assert "tools/start.py" in calls[1]


def test_without_constraints_in_an_environment_of_its_own(fake):
    fake.add_python("python3", fits=True)
    fake.make("test")
    _, calls = fake.make("test", "CONSTRAINTS=", "PIP_ARGS=--extra")
    assert calls[0] == "python3 -m venv .venv-newest"
    assert "-c constraints.txt" not in calls[1]
    assert "--upgrade --extra" in calls[1]
    assert calls[2].startswith(".venv-newest/bin/python -m pytest")


def test_takes_the_first_python_that_fits(fake):
    fake.add_python("python3", fits=False)
    fake.add_python("python3.13", fits=False)
    fake.add_python("python3.12", fits=True)
    assert "python3.12 -m venv .venv" in fake.make("lab")[1]


def test_says_what_to_do_when_no_python_fits(fake):
    fake.add_python("python3", fits=False)
    done, calls = fake.make("lab")
    assert done.returncode != 0
    assert "apt install python3-venv" in done.stdout
    assert calls == []
    assert not (fake.copy / ".venv").exists()


def test_environment_is_made_anew_when_its_python_is_gone(fake):
    fake.add_python("python3", fits=True)
    fake.make("lab")
    (fake.copy / ".venv" / "bin" / "python").unlink()
    assert [call.split()[2] for call in fake.make("lab")[1]] == ["venv", "pip", "--notebook-dir=notebooks"]


def test_kernel_messages_reach_the_browser_at_once(monkeypatch):
    calls = []
    monkeypatch.setattr(
        start.ZMQChannelsWebsocketConnection, "connect", lambda self: calls.append("connected") or "answer"
    )
    handler = SimpleNamespace(set_nodelay=lambda on: calls.append(on))
    connection = start.PromptConnection.__new__(start.PromptConnection)
    monkeypatch.setattr(start.PromptConnection, "websocket_handler", handler)
    assert connection.connect() == "answer"
    assert calls == [True, "connected"]


def test_jupyterlab_is_started_with_the_prompt_connection(monkeypatch):
    started = []
    monkeypatch.setattr(LabApp, "launch_instance", started.append)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if Path(place).resolve() != ROOT])
    monkeypatch.setenv("JUPYTER_WIDGETS_ECHO", "1")  # what a person has chosen stays
    start.main(["--no-browser"])
    ((ours, *others),) = started
    assert others == ["--no-browser"] and os.environ["JUPYTER_WIDGETS_ECHO"] == "1"
    option, name = ours.split("=")
    assert option == "--ServerApp.kernel_websocket_connection_class"
    server = ServerApp(kernel_websocket_connection_class=name)
    assert server.kernel_websocket_connection_class is start.PromptConnection


def test_readme_names_targets_that_exist():
    named = set(re.findall(r"(?:^|`)make ([a-z]+)", README, flags=re.MULTILINE))
    assert {"lab", "test", "publish"} <= named <= set(re.search(r"\.PHONY: (.*)", MAKEFILE)[1].split())


# Browser


def test_without_a_browser_tests_are_skipped_but_fail_in_ci():
    with pytest.raises(pytest.skip.Exception, match="no Chromium"):
        require_browser(["no-such-browser"], in_ci=False)
    with pytest.raises(pytest.fail.Exception, match="no Chromium"):
        require_browser(["no-such-browser"], in_ci=True)
    assert require_browser(["no-such-browser", sys.executable], in_ci=True) == sys.executable


# Setup cell


def run_setup_cell(python, folder, *options, source=SETUP_CELL, **environment):
    """Run the setup cell twice, as in one kernel, in an empty folder."""
    (folder / "cell.py").write_text(source, encoding="utf-8")
    code = "source = open('cell.py').read(); exec(source); exec(source)"
    return subprocess.run(
        [python, *options, "-c", code], cwd=folder, capture_output=True, text=True, env=os.environ | environment
    )


@pytest.fixture
def google_colab(tmp_path):
    """A folder with a package google.colab."""
    package = tmp_path / "colab" / "google" / "colab"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    return tmp_path / "colab"


@pytest.fixture
def empty(tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def test_setup_cell_uses_the_installed_course(empty):
    done = run_setup_cell(sys.executable, empty)
    assert (done.stdout, done.stderr, done.returncode) == ("Ready.\nReady.\n", "", 0)


def test_setup_cell_clones_nothing_where_the_course_is_installed(empty, google_colab):
    done = run_setup_cell(sys.executable, empty, PYTHONPATH=str(google_colab))
    assert done.stdout == "Ready.\nReady.\n"
    assert [path.name for path in empty.iterdir()] == ["cell.py"]


def test_setup_cell_says_what_is_missing(empty):
    # the Python that the environment was made with knows nothing of the course
    done = run_setup_cell(sys._base_executable, empty, "-I")
    assert done.returncode == 1
    assert done.stdout == ""
    assert re.match(r"Missing: helpers.*\. Run `make lab`", done.stderr)
    assert "Traceback" not in done.stderr


def test_setup_cell_says_when_the_course_cannot_be_fetched(empty, google_colab):
    source = SETUP_CELL.replace(publish.repository(ROOT), (empty / "nowhere").as_uri())
    done = run_setup_cell(sys._base_executable, empty, "-s", source=source, PYTHONPATH=str(google_colab))
    assert done.returncode == 1
    assert "Missing: helpers" in done.stderr
    assert "run this cell again: it fetches file:///" in done.stderr
    assert "Traceback" not in done.stderr


def test_setup_cell_installs_nothing():
    assert not re.search(r"\bpip\b|install\b(?!ed)|--upgrade", SETUP_CELL)


# One address


def test_setup_cell_has_the_address():
    assert f'REPOSITORY = "{publish.repository(ROOT)}"' in SETUP_CELL


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_has_the_setup_cell_and_its_badge(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if "setup" in cell["metadata"].get("tags", [])]
    assert sources == [SETUP_CELL.rstrip("\n")], "run `make publish` to renew the setup cell"
    slug = publish.repository(ROOT).removeprefix("https://github.com/")
    assert publish.colab_badge(slug, path.stem) in "".join(cells[0]["source"])


def test_everything_is_published(project_copy):
    assert publish.publish(project_copy) == [], "run `make publish`"


def test_readme_lists_the_twelve_notebooks():
    """Twelve rows; one that exists is linked and has its badge, one that does not is said to be in preparation."""
    rows = re.findall(r"^\| \[?(\d\d) .*", README, flags=re.MULTILINE)
    assert rows == [f"{number:02}" for number in range(1, 13)]
    assert {path.stem for path in NOTEBOOKS} <= {row[0] for row in publish.NOTEBOOKS}
    for name, *_ in publish.NOTEBOOKS:
        (row,) = re.findall(rf"^\| \[?{name[:2]} .*", README, flags=re.MULTILINE)
        exists = (ROOT / "notebooks" / f"{name}.ipynb").exists()
        assert (f"](notebooks/{name}.ipynb)" in row, "colab-badge" in row) == (exists, exists)
        assert ("in preparation" in row) == (not exists)


def test_links_of_the_readme_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)", README)
    assert links
    files = {str(path) for path in project_files()}
    for link in links:
        assert link.startswith("https://") or link in files, link


TINY = {
    "cells": [
        {
            "cell_type": "markdown",
            "id": "title",
            "metadata": {},
            "source": ["# Attention\n", "\n", publish.colab_badge("OLD/name", "05_attention"), "\n", "40 minutes"],
        },
        {
            "cell_type": "code",
            "execution_count": 1,
            "id": "setup",
            "metadata": {"tags": ["setup"]},
            "outputs": [],
            "source": ["print('an old setup cell')"],
        },
        {
            "cell_type": "code",
            "execution_count": 2,
            "id": "ask",
            "metadata": {"tags": ["exercise:one"]},
            "outputs": [],
            "source": ["…"],
        },
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def test_publish_writes_the_address_everywhere(project_copy):
    old = publish.repository(project_copy).removeprefix("https://github.com/")
    tiny = json.dumps(TINY, ensure_ascii=False, indent=1).replace("OLD/name", old) + "\n"
    (project_copy / "notebooks" / "05_attention.ipynb").write_text(tiny, encoding="utf-8")

    changed = publish.publish(project_copy, "someone/course.2")
    assert {str(path.relative_to(project_copy)) for path in changed} >= {
        "pyproject.toml", "README.md", "tools/setup_cell.py", "notebooks/05_attention.ipynb"
    }

    assert publish.repository(project_copy) == "https://github.com/someone/course.2"
    left = [path for path in project_copy.rglob("*") if path.is_file() and old in path.read_text(errors="replace")]
    assert left == []

    cells = json.loads((project_copy / "notebooks" / "05_attention.ipynb").read_text(encoding="utf-8"))["cells"]
    assert publish.colab_badge("someone/course.2", "05_attention") in "".join(cells[0]["source"])
    cell = "".join(cells[1]["source"])
    assert cell == (project_copy / "tools" / "setup_cell.py").read_text(encoding="utf-8").rstrip("\n")
    assert 'REPOSITORY = "https://github.com/someone/course.2"' in cell

    (row,) = re.findall(r"^\| \[05 .*", (project_copy / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert row.split(" | ")[3:] == ["40", "1", publish.colab_badge("someone/course.2", "05_attention") + " |"]

    assert publish.publish(project_copy) == []
    publish.publish(project_copy, old)
    assert (project_copy / "pyproject.toml").read_text() == (ROOT / "pyproject.toml").read_text()


def test_publish_refuses_what_is_no_address(project_copy):
    for slug in ("course", "https://github.com/someone/course", "some one/course"):
        with pytest.raises(SystemExit, match="owner/name"):
            publish.publish(project_copy, slug)


def test_publish_leaves_addresses_alone_that_only_begin_alike():
    text = "https://github.com/a/b https://github.com/a/b-2 https://github.com/z/a/b github.com/a/b."
    assert publish.with_slug(text, "a/b", "c/d") == (
        "https://github.com/c/d https://github.com/a/b-2 https://github.com/z/a/b github.com/c/d."
    )
