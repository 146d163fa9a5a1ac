"""Execute the notebooks in place, so that a second run changes no byte but pictures.

    python tools/notebooks.py               all notebooks, then notebooks/claims.tsv
    python tools/notebooks.py 05 06         only these
    python tools/notebooks.py --check 05    execute, write nothing, report what would change

A notebook is saved as Jupyter saves it, without what differs from run to
run or from machine to machine: widget state and view ids, timings, the
details of the kernel, the order in which a printed text arrived in pieces.
"""

import argparse
import difflib
import re
import sys
from contextlib import contextmanager
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
CELL_SECONDS = 120
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
KEPT_CELL_METADATA = ("tags", "jupyter")  # "jupyter" says that a cell starts folded
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
PICTURE = re.compile(r'"image/(png|jpeg)": "[^"]*"')
CLAIM_COLUMNS = ("id", "claim", "what a cell must show", "notebook", "cell")
ANSI = re.compile(r"\x1b\[[0-9;]*m")


class NotebookFailed(Exception):
    """A cell raised or took too long; the message names notebook, cell and error."""


def read(path):
    """The notebook in the file, as nbformat 4."""
    return nbformat.read(path, as_version=4)


@contextmanager
def kernel(path):
    """A fresh kernel for one notebook; its folder is the notebook's.

    Gives a function that runs all cells and returns the notebook, tidied. It
    can be called again, in the same kernel. It raises NotebookFailed.
    """
    path = Path(path)
    notebook = read(path)
    client = NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        kernel_name=METADATA["kernelspec"]["name"],
        record_timing=False,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(path.parent)}},
    )

    def run():
        for index, cell in enumerate(notebook.cells):
            try:
                client.execute_cell(cell, index)
            except CellExecutionError as error:
                reason = f"{error.ename}: {ANSI.sub('', error.evalue)}"
                raise NotebookFailed(f"{path.name}: cell {cell.id}: {reason}") from None
            except CellTimeoutError:
                raise NotebookFailed(f"{path.name}: cell {cell.id}: not done after {CELL_SECONDS} s") from None
            except DeadKernelError:
                raise NotebookFailed(f"{path.name}: cell {cell.id}: the kernel died") from None
        return tidy(nbformat.from_dict(notebook))

    with client.setup_kernel():
        yield run


def execute(path):
    """Run all cells once in a fresh kernel and return the notebook, tidied."""
    with kernel(path) as run:
        return run()


def tidy(notebook):
    """Take out of an executed notebook, in place, whatever a second run would change; returns it."""
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({k: cell.metadata[k] for k in KEPT_CELL_METADATA if k in cell.metadata})
        if cell.cell_type == "code":
            cell.outputs = join_streams(cell.outputs)
            for output in cell.outputs:
                # the ids of views are random; the view's picture and text stay
                output.get("data", {}).pop(WIDGET_VIEW, None)
                output.get("metadata", {}).pop(WIDGET_VIEW, None)
    return notebook


def join_streams(outputs):
    """The outputs with what was printed between two displays in one piece (errors in a second one)."""
    joined = []
    pieces = {}  # of the streams since the last display
    for output in outputs:
        if output.output_type != "stream":
            pieces = {}
        elif output.name in pieces:
            pieces[output.name].text += output.text
            continue
        else:
            pieces[output.name] = output
        joined.append(output)
    return joined


def as_text(notebook):
    """The notebook as it is saved."""
    return nbformat.writes(notebook, version=nbformat.NO_CONVERT) + "\n"


def without_pictures(text):
    """A saved notebook's text with the data of its pictures taken out."""
    return PICTURE.sub(r'"image/\1": ""', text)


def changed_lines(before, after):
    """Lines that differ between two saved notebooks, pictures aside, as a short unified diff."""
    before, after = (without_pictures(text).splitlines() for text in (before, after))
    return list(difflib.unified_diff(before, after, "saved", "executed again", lineterm="", n=1))


def claim_cells(paths):
    """{claim id: (notebook name, [cell ids])} from the tags ``claim:5.4`` of the notebooks."""
    found = {}
    for path in paths:
        for cell in read(path).cells:
            for tag in cell.metadata.get("tags", []):
                if tag.startswith("claim:"):
                    found.setdefault(tag.removeprefix("claim:"), (path.name, []))[1].append(cell.id)
    return found


def read_claims(path):
    """The rows of a claims.tsv as dictionaries by column name."""
    header, *lines = Path(path).read_text(encoding="utf-8").splitlines()
    names = header.split("\t")
    return [dict(zip(names, line.split("\t"), strict=True)) for line in lines]


def claims_text(rows, cells):
    """claims.tsv with the columns notebook and cell filled in from ``claim_cells``."""
    lines = ["\t".join(CLAIM_COLUMNS)]
    for row in rows:
        notebook, ids = cells.get(row["id"], ("", []))
        lines.append("\t".join([row["id"], row["claim"], row["what a cell must show"], notebook, ", ".join(ids)]))
    return "\n".join(lines) + "\n"


def choose(names, folder=NOTEBOOKS):
    """The notebooks whose file name begins with one of ``names`` (all without names), in order."""
    paths = sorted(folder.glob("*.ipynb"))
    for name in names:
        if not any(path.name.startswith(name) for path in paths):
            raise SystemExit(f"no notebook in {folder.name}/ begins with {name!r}")
    return [path for path in paths if not names or path.name.startswith(tuple(names))]


def main():
    parser = argparse.ArgumentParser(description="Execute the notebooks in place.")
    parser.add_argument("names", nargs="*", help="beginnings of file names, as 05; default: all")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a run would change a file")
    arguments = parser.parse_args()

    faults = []
    for path in choose(arguments.names):
        print(path.name, flush=True)
        try:
            text = as_text(execute(path))
        except NotebookFailed as error:
            faults.append(str(error))
            continue
        saved = path.read_text(encoding="utf-8")
        if not arguments.check:
            path.write_text(text, encoding="utf-8")
        elif lines := changed_lines(saved, text):
            faults.append(f"{path.name}: a new run differs from the saved one:\n" + "\n".join(lines))

    claims = NOTEBOOKS / "claims.tsv"
    text = claims_text(read_claims(claims), claim_cells(choose([])))
    if not arguments.check:
        claims.write_text(text, encoding="utf-8")
    elif text != claims.read_text(encoding="utf-8"):
        faults.append("claims.tsv: not in step with the notebooks; run make notebooks")

    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
