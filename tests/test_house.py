"""House rules: who imports whom, one room per notebook, and what a notebook and the files may not hold."""

import ast
import re
import subprocess
import sys

import pytest
from conftest import project_files

from tests.notebook_tools import NOTEBOOKS, ROOT, code, load, markdown, name_of, plant, report
from tools import notebooks as tool
from tools.publish import NOTEBOOKS as TABLE

HELPERS = ROOT / "helpers"
MODULES = sorted(HELPERS.rglob("*.py"))
NAMES = [row[0] for row in TABLE]
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
each_module = pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))


def module_name(path):
    """helpers.layers.attention for its path."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


# Who imports whom

ARROWS = {  # beside the standard library and the room itself
    "layers": {"numpy"},
    "reference": {"torch", "tokenizers", "numpy", "helpers.layers"},
    "checks": {"numpy"},
    "explorers": {"numpy", "helpers.layers", "helpers.corpus"},
    "figures": {"numpy", "matplotlib", "cycler", "PIL", "helpers.layers", "helpers.corpus", "helpers.explorers"},
    "exercises": {"numpy", "helpers.layers", "helpers.checks"},
    "corpus": {"numpy"},
    "checkpoints": {"numpy", "helpers.layers"},
}
ONLY_IN_FUNCTIONS = {  # so that the room can be entered without them
    "checks": {"torch"},
    "explorers": {"ipywidgets", "IPython", "helpers.figures"},
    "figures": {"IPython"},
    "checkpoints": {"safetensors", "huggingface_hub"},
}


def imports(tree):
    """(module name, whether inside a function) of every import."""
    inside = {
        id(child) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module != "helpers" else [f"helpers.{alias.name}" for alias in node.names]
            yield from ((name or "." * node.level, id(node) in inside) for name in names)


def arrow_faults(path, room, tree):
    """Imports of a module that its room does not allow."""
    faults = []
    for name, in_function in imports(tree):
        target = ".".join(name.split(".")[:2]) if name.startswith("helpers") else name.split(".")[0]
        if target in sys.stdlib_module_names or target == f"helpers.{room}":
            continue
        allowed = ARROWS.get(room, set()) | ONLY_IN_FUNCTIONS.get(room, set())
        if target not in allowed:
            faults.append(f"{path}: imports {name}, which helpers/{room} may not")
        elif target in ONLY_IN_FUNCTIONS.get(room, ()) and not in_function:
            faults.append(f"{path}: imports {name} at the top; in helpers/{room} only a function may")
    return faults


def room_of(path):
    """The folder under helpers; an empty text for helpers itself."""
    parts = path.relative_to(HELPERS).parts
    return parts[0] if len(parts) > 1 else ""


@each_module
def test_arrows(path):
    report(arrow_faults(path.relative_to(ROOT), room_of(path), ast.parse(path.read_text(encoding="utf-8"))))


def test_wrong_arrows_are_found():
    def faults(room, source):
        return arrow_faults("m.py", room, ast.parse(source))

    assert faults("layers", "import math\nimport numpy as np\nfrom helpers.layers.attention import softmax") == []
    assert faults("checks", "import numpy\ndef f():\n    import torch") == []
    assert faults("explorers", "def f():\n    from helpers import figures") == []
    assert faults("layers", "import torch.nn") == ["m.py: imports torch.nn, which helpers/layers may not"]
    assert faults("layers", "def f():\n    import torch") == ["m.py: imports torch, which helpers/layers may not"]
    assert faults("layers", "from helpers import layers, checks") == [
        "m.py: imports helpers.checks, which helpers/layers may not"
    ]
    assert faults("checks", "import torch") == ["m.py: imports torch at the top; in helpers/checks only a function may"]
    assert faults("explorers", "from helpers.reference.attention import f") == [
        "m.py: imports helpers.reference.attention, which helpers/explorers may not"
    ]
    assert faults("figures", "from ..reference import x") == ["m.py: imports reference, which helpers/figures may not"]
    assert faults("", "import numpy") == ["m.py: imports numpy, which helpers/ may not"]


def test_everything_but_the_reference_works_without_torch():
    names = [module_name(path) for path in MODULES if room_of(path) != "reference"]
    assert "helpers.layers.attention" in names and "helpers.explorers.attention" in names
    program = "import importlib, sys\nsys.modules['torch'] = None\nfor name in sys.argv[1:]:\n"
    command = [sys.executable, "-c", program + "    importlib.import_module(name)"]
    done = subprocess.run([*command, *names], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    blocked = subprocess.run([*command, "helpers.reference.attention"], cwd=ROOT, capture_output=True, text=True)
    assert "import of torch halted" in blocked.stderr, "the reference needs torch; it was not blocked"


# One room per notebook


def room_faults(names, modules):
    """Notebooks of a wrong name, and rooms that lack a notebook's module; ``modules`` are paths below helpers."""
    faults = [f"{name}.ipynb: not one of the twelve names" for name in names if name not in NAMES]
    for name in names:
        for room in ("layers", "reference", "explorers", "exercises"):
            module = f"{room}/{name.partition('_')[2]}.py"
            if module not in modules:
                faults.append(f"{name}.ipynb: there is no helpers/{module}")
    return faults


def test_every_notebook_has_its_rooms():
    assert len(NAMES) == 12
    modules = {path.relative_to(HELPERS).as_posix() for path in MODULES}
    report(room_faults([path.stem for path in NOTEBOOKS], modules))


def test_notebooks_lie_in_their_folder():
    lying = {path.as_posix() for path in project_files() if path.suffix == ".ipynb"}
    assert lying == {f"notebooks/{path.name}" for path in NOTEBOOKS}


def test_wrong_names_and_missing_rooms_are_found():
    modules = {f"{room}/attention.py" for room in ("layers", "reference", "explorers", "exercises")}
    assert room_faults(["05_attention"], modules) == []
    assert room_faults(["05_attention"], modules - {"explorers/attention.py"}) == [
        "05_attention.ipynb: there is no helpers/explorers/attention.py"
    ]
    assert room_faults(["05_attention_copy"], {f"{module[:-3]}_copy.py" for module in modules}) == [
        "05_attention_copy.ipynb: not one of the twelve names"
    ]


# What a notebook is made of

CELLS = range(30, 61)  # a claim takes a text and a cell, and some sections have a dozen claims
WORDS = range(1500, 2501)
EXERCISES = range(3, 6)
TAG = re.compile(r"setup|explorer|definition|claim:\d+\.\d+|(exercise|solution):[a-z0-9_]+")
BELITTLING = re.compile(r"\b(simply|obviously|trivial|trivially|clearly|of course|easy to see)\b", re.IGNORECASE)
NUMBERED = re.compile(r"(section|part|chapter|step|cell|exercise)?\s*[\d.:]*$", re.IGNORECASE)


def prose(source):
    """Markdown without code, formulas and addresses."""
    source = re.sub(r"^(```|~~~).*?^\1", "", source, flags=re.DOTALL | re.MULTILINE)
    source = re.sub(r"`[^`]*`", "", source)
    source = re.sub(r"\$\$.*?\$\$|\$[^$\n]*\$", "", source, flags=re.DOTALL)
    return re.sub(r"\]\([^)]*\)", "]", source.replace("![", "["))


def words(notebook):
    """How many words a learner reads: in markdown cells, without what is folded away."""
    return sum(len(re.findall(r"\w+", re.sub(r"<details>.*?</details>", "", cell.source, flags=re.DOTALL)))
               for cell in notebook.markdown)


def anatomy_faults(notebook):
    """Size, title cell, and the parts that every notebook has."""
    faults = []

    def count(number, allowed, what):
        if number not in allowed:
            faults.append(notebook.fault(None, f"{number} {what}; expected {allowed[0]} to {allowed[-1]}"))

    count(len(notebook.cells), CELLS, "cells")
    count(words(notebook), WORDS, "words of prose")
    count(sum(cell.has("exercise") for cell in notebook.code), EXERCISES, "exercises")
    for tag in ("setup", "explorer", "definition", "claim"):
        if not any(cell.has(tag) for cell in notebook.code):
            faults.append(notebook.fault(None, f"no code cell is tagged {tag}"))

    title = notebook.cells[0]
    for wanted, pattern in (
        ("a heading of the first level", r"^# \S"),
        ("the Colab badge", r"colab-badge\.svg"),
        ("the time in minutes", r"\d+ minutes"),
    ):
        if title.kind != "markdown" or not re.search(pattern, title.source, re.MULTILINE):
            faults.append(notebook.fault(title, f"the title cell lacks {wanted}"))
    for cell, following in zip(notebook.cells, [*notebook.cells[1:], None], strict=True):
        for tag in cell.tags:
            if not TAG.fullmatch(tag):
                faults.append(notebook.fault(cell, f"unknown tag {tag!r}"))
            solution = tag.replace("exercise:", "solution:")
            if tag.startswith("exercise:") and (following is None or solution not in following.tags):
                faults.append(notebook.fault(cell, f"the next cell is not tagged {solution}"))
        if re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f-]+)?", cell.id):
            faults.append(notebook.fault(cell, "the id is random; give the cell a stable word"))
    return faults


def prose_faults(notebook):
    """Headings that say nothing, words that belittle, exclamation marks, links to notebooks that will never exist."""
    faults = []
    for cell in notebook.markdown:
        text = prose(cell.source)
        for heading in re.findall(r"^#+ *(.*?)\s*$", text, re.MULTILINE):
            if NUMBERED.fullmatch(heading):
                faults.append(notebook.fault(cell, f"the heading {heading!r} does not say what follows"))
        for word in BELITTLING.findall(text):
            faults.append(notebook.fault(cell, f"{word!r} makes small whoever does not see it"))
        if "!" in text.replace("<!--", ""):
            faults.append(notebook.fault(cell, "an exclamation mark"))
        for name in re.findall(r"\]\(([^)/:]*)\.ipynb", cell.source):
            if name not in NAMES:
                faults.append(notebook.fault(cell, f"links to {name}.ipynb, which is not one of the twelve"))
    return faults


def picture_faults(notebook):
    """Pictures without a text that says what they show."""
    faults = []
    for cell in notebook.markdown:
        if re.search(r"!\[\s*\]", cell.source):
            faults.append(notebook.fault(cell, "a picture without alt text"))
        faults += [notebook.fault(cell, reason) for reason in image_tag_faults(cell.source)]
    for cell in notebook.code:
        for output in cell.outputs:
            for kind, data in output.get("data", {}).items():
                if kind.startswith("image/"):
                    alt = output.get("metadata", {}).get(kind, {}).get("alt", "")
                    if not alt.strip():
                        faults.append(notebook.fault(cell, "a picture without alt text"))
                elif kind == "text/html":
                    faults += [notebook.fault(cell, reason) for reason in image_tag_faults(data)]
    return faults


def image_tag_faults(html):
    """One for each <img> without alt text."""
    tags = re.findall(r"<img\b[^>]*>", html, re.IGNORECASE)
    return ["an <img> without alt text" for tag in tags if not re.search(r"""\balt=(["'])\s*[^\s"']""", tag)]


def hygiene_faults(notebook):
    """What may not be saved: errors, notes on stderr, widget state and views; what hides a cell from nbval; magics."""
    faults = []
    raw = tool.read(notebook.path)
    if "widgets" in raw.metadata:
        faults.append(notebook.fault(None, "widget state in the metadata"))
    if (size := notebook.path.stat().st_size) >= 1_000_000:
        faults.append(notebook.fault(None, f"{size:,} bytes; less than 1 MB is allowed"))
    for cell in notebook.code:
        for output in cell.outputs:
            if output.output_type == "error":
                faults.append(notebook.fault(cell, f"a saved error: {output.ename}"))
            if output.get("name") == "stderr":
                faults.append(notebook.fault(cell, f"a saved note on stderr: {output.text.strip()}"))
            if any("widget" in kind for kind in output.get("data", {})):
                faults.append(notebook.fault(cell, "a saved widget view"))
        if re.search("nbval", cell.source + " ".join(cell.tags), re.IGNORECASE):
            faults.append(notebook.fault(cell, "a mark that tells nbval to look away"))
        try:
            cell.tree  # noqa: B018
        except SyntaxError as error:
            faults.append(notebook.fault(cell, f"not plain Python: {error.msg}"))
    return faults


RULES = [anatomy_faults, prose_faults, picture_faults, hygiene_faults]


@each_notebook
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__.removesuffix("_faults"))
def test_notebook(path, rule):
    report(rule(load(path)))


TITLE = "# Attention\n\n![Open in Colab](colab-badge.svg)\n\n**Time:** 40 minutes."


def good_cells():
    """The cells of a notebook without faults."""
    cells = [
        markdown("title", TITLE),
        code("setup", "x = 1", "setup"),
        code("define", "def f(): pass", "definition"),
        code("drag", "f()", "explorer"),
        code("claim", "assert x", "claim:5.1"),
    ]
    for name in ("one", "two", "three"):
        cells.append(code(f"exercise-{name}", "...", f"exercise:{name}"))
        cells.append(markdown(f"solution-{name}", f"<details>{'word ' * 900}</details>", f"solution:{name}"))
    return cells + [markdown(f"text-{n}", "word " * 75) for n in range(21)]


def test_anatomy_faults_are_found(tmp_path):
    def faults(cells):
        return [fault.partition("ipynb: ")[2] for fault in anatomy_faults(plant(tmp_path, *cells))]

    good = good_cells()
    assert faults(good) == []
    assert faults([cell for cell in good if not cell.id.startswith("text-1")]) == [
        "21 cells; expected 30 to 60",
        f"{words(load(tmp_path / '05_attention.ipynb'))} words of prose; expected 1500 to 2500",
    ]
    assert faults(good + [markdown("long", "word " * 1000)])[0].endswith("words of prose; expected 1500 to 2500")
    assert faults([cell for cell in good if not cell.id.endswith("-two")]) == ["2 exercises; expected 3 to 5"]
    for tag, id in (("setup", "setup"), ("explorer", "drag"), ("definition", "define"), ("claim", "claim")):
        assert faults([cell for cell in good if cell.id != id]) == [f"no code cell is tagged {tag}"]
    for old, lacking in (
        ("# Attention", "a heading of the first level"),
        ("colab-badge.svg", "the Colab badge"),
        ("40 minutes", "the time in minutes"),
    ):
        changed = [markdown("title", TITLE.replace(old, "")), *good[1:]]
        assert faults(changed) == [f"cell title: the title cell lacks {lacking}"]
    swapped = [cell for cell in good if cell.id != "solution-two"] + [good[8]]
    assert faults(swapped) == ["cell exercise-two: the next cell is not tagged solution:two"]
    assert faults([*good, code("a", "x", "claims:5.1"), markdown("1a2b3c4d", "x")]) == [
        "cell a: unknown tag 'claims:5.1'",
        "cell 1a2b3c4d: the id is random; give the cell a stable word",
    ]


def test_prose_faults_are_found(tmp_path):
    def faults(source):
        return [fault.partition("cell one: ")[2] for fault in prose_faults(plant(tmp_path, markdown("one", source)))]

    for good in (
        "## Weights are a budget\n\nAn [![Open](badge.svg)](address) and ![alt](a.png).",
        "```python\n# 3\nassert a != b\n```\n`clearly!` $n! = 1$ [next](06_multi_head_attention.ipynb)",
        "$$\nn!\n$$\n## 05 · Attention",
    ):
        assert faults(good) == []
    assert faults("## Section 3") == ["the heading 'Section 3' does not say what follows"]
    assert faults("text\n### 5.4\n") == ["the heading '5.4' does not say what follows"]
    assert faults("This is Obviously so.") == ["'Obviously' makes small whoever does not see it"]
    assert faults("It works!") == ["an exclamation mark"]
    assert faults("[back](04_projections.ipynb)") == ["links to 04_projections.ipynb, which is not one of the twelve"]


def displayed(data, metadata=None):
    """A saved output of these forms."""
    return {"output_type": "display_data", "data": data, "metadata": metadata or {}}


def test_pictures_without_text_are_found(tmp_path):
    def faults(*cells):
        return [fault.partition("ipynb: ")[2] for fault in picture_faults(plant(tmp_path, *cells))]

    assert faults(
        markdown("badge", "[![Open](badge.svg)](address) <img src='a.png' alt='a map'>"),
        code("map", "", outputs=[displayed({"image/png": "00"}, {"image/png": {"alt": "a map"}})]),
        code("html", "", outputs=[displayed({"text/html": '<img alt="a map" src="data:0">'})]),
    ) == []
    assert faults(markdown("one", "![](a.png)")) == ["cell one: a picture without alt text"]
    assert faults(markdown("one", "<img src='a.png' alt=''>")) == ["cell one: an <img> without alt text"]
    for metadata in ({}, {"image/png": {"alt": " "}}, {"alt": "elsewhere"}):
        bad = code("one", "", outputs=[displayed({"image/png": "00"}, metadata)])
        assert faults(bad) == ["cell one: a picture without alt text"]
    bad = code("one", "", outputs=[displayed({"text/html": "<p><img src='data:0'></p>"})])
    assert faults(bad) == ["cell one: an <img> without alt text"]


def test_what_may_not_be_saved_is_found(tmp_path):
    def faults(cell):
        return [fault.partition("ipynb: ")[2] for fault in hygiene_faults(plant(tmp_path, cell))]

    printed = {"output_type": "stream", "name": "stdout", "text": "1"}
    error = {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []}
    assert faults(code("one", "print(1)", outputs=[printed])) == []
    assert faults(code("one", "", outputs=[error])) == ["cell one: a saved error: ValueError"]
    assert faults(code("one", "", outputs=[printed | {"name": "stderr"}])) == ["cell one: a saved note on stderr: 1"]
    assert faults(code("one", "", outputs=[displayed({tool.WIDGET_VIEW: {}})])) == ["cell one: a saved widget view"]
    assert faults(code("one", "# NBVAL_SKIP")) == ["cell one: a mark that tells nbval to look away"]
    assert faults(code("one", "x", "nbval-ignore-output")) == ["cell one: a mark that tells nbval to look away"]
    assert faults(code("one", "!ls")) == ["cell one: not plain Python: invalid syntax"]
    big = printed | {"text": "1" * 1_000_000}
    assert faults(code("one", "", outputs=[big]))[0].endswith("bytes; less than 1 MB is allowed")

    path = plant(tmp_path, code("one", "x")).path
    raw = tool.read(path)
    raw.metadata["widgets"] = {}
    path.write_text(tool.as_text(raw), encoding="utf-8")
    assert hygiene_faults(load(path)) == ["05_attention.ipynb: widget state in the metadata"]


# The files

# in pieces, so that this file does not hold what it looks for
FOLDERS = "|".join(["root", "work", "home", "tmp", "Users"])
HOSTS = "|".join([r"pypi\.org", r"pythonhosted\.org", r"anaconda\.org", r"npmjs\.(?:org|com)", "arti" + "factory"])
PATHS = re.compile(rf"(?<![\w.~*)\]])/(?:{FOLDERS})\b|[A-Za-z]:\\+Users\b")
REGISTRIES = re.compile(rf"\b(?:{HOSTS})\b")


def text_faults(name, text):
    """Paths of somebody's machine and addresses of package registries."""
    faults = []
    for what, pattern in (("a path of one machine", PATHS), ("a package registry", REGISTRIES)):
        for number, line in enumerate(tool.without_pictures(text).splitlines(), 1):
            if found := pattern.search(line):
                faults.append(f"{name}: line {number}: {what}: {found[0]}")
    return faults


def test_files_hold_no_local_paths_and_no_registries():
    faults = []
    for name in project_files():
        content = (ROOT / name).read_bytes()
        if b"\0" not in content:  # a picture or an archive
            faults += text_faults(name.as_posix(), content.decode("utf-8"))
    report(faults)


def test_local_paths_and_registries_are_found():
    slash, dot = "/", "."
    for bad in (
        f"open('{slash}home{slash}ann{slash}x')",
        f"see {slash}tmp",
        f"C:{chr(92)}Users{chr(92)}ann",
        f"C:{chr(92) * 2}Users",
        f"file:{slash * 3}work{slash}main",
        f"https:{slash * 2}pypi{dot}org/simple",
        f"files{dot}pythonhosted{dot}org",
    ):
        assert len(text_faults("a.py", f"fine\n{bad}\n")) == 1, bad
    for good in (".github/workflows/test.yml", "helpers/work/x", "home / work", "d / tmp_path", "https://a.b/c/home-x"):
        assert text_faults("a.py", good) == [], good


def test_ruff():
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format=concise"]
    done = subprocess.run([*command, "helpers", "tests", "tools"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        report([done.stdout + done.stderr])


# The code of helpers


def used_outside(trees):
    """{(module, name)} of what modules of helpers and cells of notebooks take from a module of helpers."""
    used = set()
    for tree in trees:
        modules = {}  # the name in this file: the module
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("helpers"):
                for alias in node.names:
                    used.add((node.module, alias.name))
                    modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
                used.add((modules[node.value.id], node.attr))
    return used


def docstring_faults(module, tree, used):
    """A module, or a public function or class of it, without a docstring.

    In layers and reference every name without an underscore is public,
    elsewhere what another module or a notebook uses.
    """
    faults = [] if ast.get_docstring(tree) else [f"{module}: no docstring"]
    all_public = module.startswith(("helpers.layers", "helpers.reference"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not ast.get_docstring(node):
            if (module, node.name) in used or (all_public and not node.name.startswith("_")):
                faults.append(f"{module}: {node.name} has no docstring")
    return faults


def test_docstrings():
    trees = {module_name(path): ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}
    used = used_outside([*trees.values(), *(cell.tree for path in NOTEBOOKS for cell in load(path).code)])
    report(fault for module, tree in trees.items() for fault in docstring_faults(module, tree, used))


def test_missing_docstrings_are_found():
    tree = ast.parse("def f(): pass\ndef g(): pass\ndef h():\n    'Doc.'\nclass C: pass\ndef _i(): pass")
    taken = ast.parse("from helpers.corpus.words import f, h\nfrom helpers.corpus import words as w\nw.C()\nother.g()")
    assert docstring_faults("helpers.corpus.words", tree, used_outside([taken])) == [
        "helpers.corpus.words: no docstring",
        "helpers.corpus.words: f has no docstring",
        "helpers.corpus.words: C has no docstring",
    ]
    assert docstring_faults("helpers.layers.words", tree, set()) == [
        "helpers.layers.words: no docstring",
        "helpers.layers.words: f has no docstring",
        "helpers.layers.words: g has no docstring",
        "helpers.layers.words: C has no docstring",
    ]


WITHOUT_LOOPS = [name.partition("_")[2] for name in NAMES[1:7]]  # 02 to 07: matrix products do the work


def loop_faults(path, tree):
    """Loops over as many things as the data has. Naming a few things in the loop's head is allowed."""
    faults = []
    for node in ast.walk(tree):
        if isinstance(node, ast.While):
            faults.append(f"{path}: line {node.lineno}: a while loop")
        elif isinstance(node, ast.For) and not isinstance(node.iter, ast.Tuple | ast.List):
            faults.append(f"{path}: line {node.lineno}: loops over {ast.unparse(node.iter)}")
        elif isinstance(node, ast.comprehension) and re.match(r"(range|enumerate)\(", ast.unparse(node.iter)):
            faults.append(f"{path}: line {node.iter.lineno}: loops over {ast.unparse(node.iter)}")
    return faults


@pytest.mark.parametrize("topic", WITHOUT_LOOPS)
def test_no_loops_over_positions_heads_or_batch(topic):
    path = HELPERS / "layers" / f"{topic}.py"
    report(loop_faults(path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8"))))


def test_loops_are_found():
    def faults(source):
        return loop_faults("m.py", ast.parse(source))

    assert faults("for name, X in (('Q', Q), ('K', K)): check(X)\n{name: f(name) for name in names}") == []
    assert faults("for i in range(S): f(i)") == ["m.py: line 1: loops over range(S)"]
    assert faults("for row in X: f(row)") == ["m.py: line 1: loops over X"]
    assert faults("np.stack([f(X[i]) for i in range(h)])") == ["m.py: line 1: loops over range(h)"]
    assert faults("while True: f()") == ["m.py: line 1: a while loop"]
