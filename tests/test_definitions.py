"""A notebook shows the definitions that helpers/layers holds, and copies none."""

import ast

import pytest

from tests.notebook_tools import NOTEBOOKS, ROOT, code, definitions, load, name_of, plant, report, without_docstrings

LAYERS = ROOT / "helpers" / "layers"


def definition_faults(notebook, layers):
    """Definitions that differ from helpers/layers, are missing there, are copied, or are never shown."""
    own = module(layers / f"{notebook.topic}.py")
    everywhere = {name: path.stem for path in sorted(layers.glob("*.py")) for name in module(path)}
    faults, shown, used = [], set(), set()
    for cell in notebook.code:
        used |= names(cell.tree)
        for name, node in definitions(cell.tree).items():
            if not cell.has("definition"):
                if name in everywhere:
                    faults.append(
                        notebook.fault(cell, f"defines {name}, which stands in helpers/layers/{everywhere[name]}.py")
                    )
                continue
            shown.add(name)
            if name not in own:
                faults.append(notebook.fault(cell, f"{name} is not in helpers/layers/{notebook.topic}.py"))
            elif without_docstrings(node) != without_docstrings(own[name]):
                faults.append(
                    notebook.fault(cell, f"{name} differs from the one in helpers/layers/{notebook.topic}.py")
                )
    for name in own:
        if not name.startswith("_") and name not in shown | used:
            where = f"helpers/layers/{notebook.topic}.py"
            faults.append(notebook.fault(None, f"{name} of {where} is neither shown nor used"))
    return faults


def module(path):
    """{name: node} of a module's functions and classes; empty when there is no such file."""
    return definitions(ast.parse(path.read_text(encoding="utf-8"))) if path.exists() else {}


def names(tree):
    """Every name that is loaded or reached by a dot."""
    loaded = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return loaded | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_definitions(path):
    notebook = load(path)
    report(definition_faults(notebook, LAYERS))
    assert any(cell.has("definition") for cell in notebook.code), f"{notebook.name}: no cell shows a definition"


def test_drifted_copied_and_missing_definitions_are_found(tmp_path):
    (tmp_path / "attention.py").write_text(
        'def one(x):\n    """Doc."""\n    return x + 1  # more\n\ndef two(x):\n    return x\n\n'
        "def three():\n    pass\n\ndef four():\n    pass\n\ndef _private():\n    pass\n",
        encoding="utf-8",
    )
    (tmp_path / "other.py").write_text("def elsewhere():\n    pass\n", encoding="utf-8")
    good = plant(
        tmp_path,
        code("define", "def one(x):\n    return x + 1\ndef two(x):\n    '''Other doc.'''\n    return x", "definition"),
        code("use", "from helpers.layers import attention\nattention.three()\nprint(attention.four)\ndef own(): pass"),
    )
    assert definition_faults(good, tmp_path) == []

    bad = plant(
        tmp_path,
        code("define", "def one(x):\n    return x + 2\ndef new(x):\n    return x", "definition"),
        code("copy", "def elsewhere():\n    pass\ndef two(x):\n    return x"),
        code("import", "from helpers.layers.attention import three"),
    )
    assert definition_faults(bad, tmp_path) == [
        "05_attention.ipynb: cell define: one differs from the one in helpers/layers/attention.py",
        "05_attention.ipynb: cell define: new is not in helpers/layers/attention.py",
        "05_attention.ipynb: cell copy: defines elsewhere, which stands in helpers/layers/other.py",
        "05_attention.ipynb: cell copy: defines two, which stands in helpers/layers/attention.py",
        "05_attention.ipynb: two of helpers/layers/attention.py is neither shown nor used",
        "05_attention.ipynb: three of helpers/layers/attention.py is neither shown nor used",
        "05_attention.ipynb: four of helpers/layers/attention.py is neither shown nor used",
    ]
