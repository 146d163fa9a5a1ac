"""What the tests over notebooks share: reading them, planting bad ones, running their cells in a process of their own.

A rule is a function that returns a list of faults, each «notebook: cell:
reason». The real notebooks and the planted ones go through the same rules.
"""

import ast
import contextlib
import io
import linecache
import multiprocessing
import os
import sys
import traceback
import types
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
CHECKS = ("check", "check_gradients", "fails_with")  # the functions of helpers.checks that raise on disagreement
RUN_SECONDS = 300


# Reading


@dataclass(frozen=True)
class Cell:
    """One cell of a notebook."""

    id: str
    kind: str
    source: str
    tags: tuple
    outputs: list = field(compare=False, default_factory=list)
    execution_count: int | None = None

    def has(self, tag):
        """Whether the cell carries the tag, or one of its kind: ``exercise`` finds ``exercise:mask``."""
        return any(own == tag or own.startswith(tag + ":") for own in self.tags)

    @property
    def tree(self):
        """The syntax tree of a code cell; cells that are not plain Python raise SyntaxError."""
        return ast.parse(self.source, f"cell {self.id}")


@dataclass(frozen=True)
class Notebook:
    """A notebook's path and cells."""

    path: Path
    cells: list

    @property
    def name(self):
        return self.path.name

    @property
    def section(self):
        """The number in front of the name: 5 for 05_attention.ipynb."""
        return int(self.path.name[:2])

    @property
    def topic(self):
        """The modules' name: attention for 05_attention.ipynb."""
        return self.path.stem.partition("_")[2]

    @property
    def code(self):
        return [cell for cell in self.cells if cell.kind == "code"]

    @property
    def markdown(self):
        return [cell for cell in self.cells if cell.kind == "markdown"]

    def fault(self, cell, reason):
        """The text of a fault; ``cell`` is a Cell, or None for the whole notebook."""
        return f"{self.name}: cell {cell.id}: {reason}" if cell else f"{self.name}: {reason}"


def load(path):
    """Read a notebook."""
    cells = [
        Cell(
            cell.id,
            cell.cell_type,
            cell.source,
            tuple(cell.metadata.get("tags", ())),
            cell.get("outputs", []),
            cell.get("execution_count"),
        )
        for cell in nbformat.read(path, as_version=4).cells
    ]
    return Notebook(Path(path), cells)


def report(faults):
    """Fail the test with each fault on a line of its own."""
    if text := "\n".join(faults):
        pytest.fail(text, pytrace=False)


def name_of(path):
    """The test id of a notebook's path."""
    return path.stem


# Planting


def code(id, source, *tags, outputs=(), execution_count=None):
    """A code cell for ``plant``."""
    cell = nbformat.v4.new_code_cell(source, id=id, execution_count=execution_count)
    cell.outputs = [nbformat.from_dict(output) for output in outputs]
    cell.metadata["tags"] = list(tags)
    return cell


def markdown(id, source, *tags):
    """A markdown cell for ``plant``."""
    return nbformat.v4.new_markdown_cell(source, id=id, metadata={"tags": list(tags)})


def plant(folder, *cells, name="05_attention.ipynb"):
    """Write a notebook of these cells into the folder and load it."""
    path = folder / name
    nbformat.write(nbformat.v4.new_notebook(cells=list(cells)), path)
    return load(path)


# Syntax


def called(node):
    """The last name of what a call calls: ``check`` for ``checks.check(...)``; None for anything else."""
    if not isinstance(node, ast.Call):
        return None
    return getattr(node.func, "id", None) or getattr(node.func, "attr", None)


def without_docstrings(tree):
    """The dump of a syntax tree without docstrings, to compare definitions."""
    tree = ast.parse(ast.unparse(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


def definitions(tree):
    """{name: node} of the functions and classes at the top level of a module or cell."""
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def is_check(statement):
    """Whether a statement calls one of CHECKS, alone, in an assignment or as ``with fails_with(...)``."""
    if isinstance(statement, ast.With):
        return any(called(item.context_expr) in CHECKS for item in statement.items)
    return isinstance(statement, ast.Expr | ast.Assign) and called(statement.value) in CHECKS


# Running cells without a kernel


@dataclass(frozen=True)
class Run:
    """What came of running a notebook's cells.

    ``cell`` is the id of the cell that failed, ``error`` its error as text,
    both None after a run without error. ``caught`` says that the error is an
    AssertionError or ValueError from a raise or assert statement of the
    notebook or of helpers, not from an operation that could not be done.
    ``reached`` holds (cell id, line) of every assert and check that was run.
    """

    notebook: str
    stdout: str
    cell: str | None
    error: str | None
    caught: bool
    reached: frozenset

    @property
    def faults(self):
        """The failed cell as a list of one fault; an empty list after a run without error."""
        return [f"{self.notebook}: cell {self.cell}: {self.error}"] if self.error else []


def run_cells(path, replace=None, skip_tags=(), skip_ids=()):
    """Run the code cells of a notebook in one namespace, in a process of its own; returns a Run.

    ``replace`` is {cell id: [(old, new), …]}; under "*" stand replacements
    for whatever cell holds the text. Each old text must occur exactly once.
    """
    notebook = load(path)
    sources = {cell.id: cell.source for cell in notebook.code}
    for id, pairs in (replace or {}).items():
        for old, new in pairs:
            replace_once(sources, list(sources) if id == "*" else [id], old, new)
    left_out = {cell.id for cell in notebook.code if any(cell.has(tag) for tag in skip_tags)} | set(skip_ids)
    cells = [(id, source) for id, source in sources.items() if id not in left_out]

    ours, theirs = CONTEXT.Pipe(duplex=False)
    arguments = (theirs, notebook.name, cells, str(notebook.path.resolve().parent))
    process = CONTEXT.Process(target=_run, args=arguments, daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(RUN_SECONDS):
            return Run(notebook.name, "", "?", f"not done after {RUN_SECONDS} s", False, frozenset())
        return ours.recv()
    except EOFError:
        process.join()
        return Run(notebook.name, "", "?", f"the process ended with code {process.exitcode}", False, frozenset())
    finally:
        process.kill()
        process.join()
        ours.close()


def replace_once(sources, ids, old, new):
    """Put ``new`` for ``old`` in the cells ``ids``; ValueError unless it occurs exactly once in all of them."""
    count = sum(sources[id].count(old) for id in ids)
    if count != 1:
        raise ValueError(f"{old!r} occurs {count} times in {', '.join(ids)}; expected exactly once")
    for id in ids:
        sources[id] = sources[id].replace(old, new)


def _context():
    """Processes forked from one that has imported the slow libraries and done nothing with them.

    A plain fork of the tests' own process would inherit torch's threads in
    whatever state they are. Forking is not safe on macOS.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "torch.nn", "matplotlib.pyplot", "ipywidgets", "nbformat"])
    return context


CONTEXT = _context()


def _run(connection, name, cells, folder):
    """The other process: run (id, source) pairs and send the Run."""
    os.chdir(folder)
    sys.path.insert(0, folder)
    _start_shell()
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module  # so that dataclasses, pickle and inspect find what cells define
    reached = set()
    module.__dict__["__reached__"] = lambda *place: reached.add(place)
    out = io.StringIO()
    cell, error, caught = None, None, False
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        for cell, source in cells:
            file = f"<cell {cell}>"
            linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
            try:
                tree = ast.fix_missing_locations(_Marked(cell).visit(ast.parse(source, file)))
                exec(compile(tree, file, "exec"), module.__dict__)
            except BaseException as exception:
                error = f"{type(exception).__name__}: {exception}"
                caught = isinstance(exception, AssertionError | ValueError) and _on_purpose(exception)
                break
        else:
            cell = None
    connection.send(Run(name, out.getvalue(), cell, error, caught, frozenset(reached)))
    connection.close()


def _start_shell():
    """An IPython without a kernel: ``display`` prints the text form of what it shows."""
    import matplotlib
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    matplotlib.use("Agg")
    InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))


class _Marked(ast.NodeTransformer):
    """Puts a note that the place was reached in front of every assert and check."""

    def __init__(self, cell):
        self.cell = cell

    def visit(self, node):
        self.generic_visit(node)
        if not (isinstance(node, ast.Assert) or is_check(node)):
            return node
        note = ast.parse(f"__reached__({self.cell!r}, {node.lineno})").body[0]
        for part in ast.walk(note):
            ast.copy_location(part, node)
        return [note, node]


def _on_purpose(exception):
    """Whether a raise or assert statement of a cell, of helpers or of numpy.testing raised the exception."""
    frame = traceback.extract_tb(exception.__traceback__)[-1]
    numpy_testing = os.path.join("numpy", "testing")
    ours = frame.filename.startswith(("<cell ", str(ROOT / "helpers"))) or numpy_testing in frame.filename
    tree = ast.parse("".join(linecache.getlines(frame.filename)))
    return ours and any(
        isinstance(node, ast.Raise | ast.Assert) and node.lineno <= frame.lineno <= node.end_lineno
        for node in ast.walk(tree)
    )


# Mutants


@dataclass(frozen=True)
class Mutant:
    """A planted fault: ``new`` for ``old`` in the notebook's definition cells, or in the one named ``cell``."""

    name: str
    old: str
    new: str
    cell: str | None = None
