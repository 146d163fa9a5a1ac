"""A rehearsal of Colab: its versions, the notebook alone in an empty folder, the course cloned by the setup cell.

The environment has what tests/colab-constraints.txt lists, and torch as in constraints.txt, but not this project. A
package `google.colab` stands in for Colab's. Git is told to take the repository's address from a local repository made
of the files as they are now; nothing in the notebook is changed, and no proxy answers, so nothing comes from elsewhere.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys

import nbformat
import pytest
from conftest import ROOT, copy_project, new_environment

from tools import publish

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first test makes the environment
    pytest.mark.skipif(sys.version_info >= (3, 14), reason="Colab's versions have no builds for Python 3.14"),
]

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
CELL_SECONDS = 120

RUN = f"""
import sys
import nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, kernel_name="python3", timeout={CELL_SECONDS}, allow_errors=True).execute()
nbformat.write(notebook, sys.argv[1])
"""


def requirements():
    """Colab's versions, and torch's from constraints.txt: Colab's own build of it is not to be had elsewhere."""
    colab = (ROOT / "tests" / "colab-constraints.txt").read_text(encoding="utf-8")
    torch = re.search(r"^torch==.*$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return f"{colab}\n{torch[0]}\n"


@pytest.fixture(scope="session")
def colab_python():
    """Python of an environment with Colab's versions; it is kept in .cache/ until one of the versions changes."""
    text = requirements()
    key = hashlib.sha256(f"{sys.version}\n{text}".encode()).hexdigest()[:12]
    folder = ROOT / ".cache" / f"colab-{key}"
    folder.parent.mkdir(exist_ok=True)
    with open(folder.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one run makes it, others wait
        if not (folder / "ready").exists():
            for old in folder.parent.glob("colab-*"):
                shutil.rmtree(old)
            (folder.parent / "colab.txt").write_text(text, encoding="utf-8")
            new_environment(folder, "-r", folder.parent / "colab.txt")
            (folder / "ready").touch()
    return folder / "bin" / "python"


@pytest.fixture(scope="session")
def colab_environment(tmp_path_factory):
    """Environment variables: google.colab can be imported, and the repository's address leads to a local repository."""
    base = tmp_path_factory.mktemp("colab")
    (base / "packages" / "google" / "colab").mkdir(parents=True)
    (base / "packages" / "google" / "colab" / "__init__.py").touch()

    copy_project(base / "work")
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "init.defaultBranch=main"]
    for command in (["init", "-q"], ["add", "--all", "--force"], ["commit", "-q", "-m", "The files as they are now"]):
        subprocess.run([*git, *command], cwd=base / "work", check=True)
    # a second commit, to see that the clone is shallow
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "One more"], cwd=base / "work", check=True)
    subprocess.run(["git", "clone", "-q", "--bare", base / "work", base / "course.git"], check=True)

    own = ("PYTHON", "JUPYTER", "GIT_")
    return {name: value for name, value in os.environ.items() if not name.startswith(own)} | {
        "PYTHONPATH": str(base / "packages"),
        "HOME": str(base),  # no settings of the person who runs the tests
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{(base / 'course.git').as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": publish.repository(ROOT),
        "http_proxy": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
    }


def rehearse(python, environment, folder, path, notebook):
    """Run the notebook, with two more cells at its end, in ``folder``; returns it with its outputs."""
    setup = next(cell for cell in notebook.cells if "setup" in cell.metadata.get("tags", []))
    # asked at the end: what helpers was used, and does the setup cell say the same when it is run again?
    where = nbformat.v4.new_code_cell("import helpers\nprint(helpers.__file__)", id="where")
    again = nbformat.v4.new_code_cell(setup.source, id="setup-again")
    notebook.cells += [where, again]
    nbformat.write(notebook, folder / path)
    done = subprocess.run([python, "-c", RUN, path], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return nbformat.read(folder / path, as_version=4)


def faults(notebook):
    """What a learner in Colab would stumble over: errors, and anything on stderr."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                found.append(f"cell {cell.id}: {output.ename}: {output.evalue}")
            elif output.get("name") == "stderr":
                found.append(f"cell {cell.id}: on stderr: {output.text}")
    return found


def texts(cell):
    """What a cell printed or showed, as text."""
    streams = "".join(output.text for output in cell.get("outputs", []) if output.output_type == "stream")
    return [streams] + [output.data.get("text/plain") for output in cell.get("outputs", []) if "data" in output]


def printed(notebook, name):
    """What the cell with this id printed."""
    (cell,) = (cell for cell in notebook.cells if cell.id == name)
    return texts(cell)[0]


def notebook_of(*sources):
    """A notebook of the setup cell and cells with these sources."""
    setup = (ROOT / "tools" / "setup_cell.py").read_text(encoding="utf-8").rstrip("\n")
    cells = [nbformat.v4.new_code_cell(setup, id="setup", metadata={"tags": ["setup"]})]
    cells += [nbformat.v4.new_code_cell(source, id=f"cell-{number}") for number, source in enumerate(sources)]
    kernel = {"name": "python3", "display_name": "Python 3"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def test_the_environment_is_colabs(colab_python):
    code = "import sys, numpy, ipywidgets, torch; print(numpy.__version__, ipywidgets.__version__)"
    versions = subprocess.check_output([colab_python, "-c", code], text=True, cwd=ROOT.parent).split()
    assert versions == [re.search(rf"^{name}==(.*)", requirements(), flags=re.MULTILINE)[1]
                        for name in ("numpy", "ipywidgets")]
    code = "from importlib.util import find_spec; print(find_spec('helpers'))"
    assert subprocess.check_output([colab_python, "-c", code], text=True, cwd=ROOT.parent) == "None\n"


def test_setup_cell_fetches_the_course(colab_python, colab_environment, tmp_path):
    notebook = notebook_of("from helpers.layers import attention")
    done = rehearse(colab_python, colab_environment, tmp_path, "tiny.ipynb", notebook)
    course = tmp_path / "understanding-transformers"
    assert faults(done) == []
    assert printed(done, "setup") == printed(done, "setup-again") == "Ready.\n"
    assert printed(done, "where") == f"{course / 'helpers' / '__init__.py'}\n"
    assert (course / "README.md").read_bytes() == (ROOT / "README.md").read_bytes()
    shallow = ["git", "rev-parse", "--is-shallow-repository"]
    assert subprocess.check_output(shallow, cwd=course, text=True) == "true\n"


def test_a_fetched_course_is_used_by_the_next_kernel(colab_python, colab_environment, tmp_path):
    for _ in range(2):
        done = rehearse(colab_python, colab_environment, tmp_path, "tiny.ipynb", notebook_of())
        assert faults(done) == []
        assert printed(done, "setup") == "Ready.\n"


def test_the_rehearsal_finds_faults(colab_python, colab_environment, tmp_path):
    notebook = notebook_of("1 / 0", "import warnings; warnings.warn('old')")
    first, second = faults(rehearse(colab_python, colab_environment, tmp_path, "tiny.ipynb", notebook))
    assert first == "cell cell-0: ZeroDivisionError: division by zero"
    assert second.startswith("cell cell-1: on stderr:")
    assert "UserWarning: old" in second


def test_without_the_repository_it_stops_at_the_setup_cell(colab_python, colab_environment, tmp_path):
    nowhere = colab_environment | {"GIT_CONFIG_KEY_0": f"url.{(tmp_path / 'nowhere').as_uri()}.insteadOf"}
    found = faults(rehearse(colab_python, nowhere, tmp_path, "tiny.ipynb", notebook_of()))
    (said,) = (fault for fault in found if fault.startswith("cell setup: SystemExit"))
    assert "Missing: helpers. Delete the folder" in said
    assert publish.repository(ROOT) in said


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_in_colab(path, colab_python, colab_environment, tmp_path):
    saved = nbformat.read(path, as_version=4)
    done = rehearse(colab_python, colab_environment, tmp_path, path.name, nbformat.read(path, as_version=4))
    course = tmp_path / "understanding-transformers"
    assert faults(done) == []
    assert printed(done, "where") == f"{course / 'helpers' / '__init__.py'}\n"
    assert printed(done, "setup") == printed(done, "setup-again") == "Ready.\n"
    for cell, rehearsed in zip(saved.cells, done.cells, strict=False):
        assert texts(rehearsed) == texts(cell), f"cell {cell.id}: with Colab's versions it says something else"
    assert {found.name for found in tmp_path.iterdir()} == {path.name, course.name}
