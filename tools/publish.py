"""Write the repository's address, the setup cell and the README's table of notebooks where they belong.

    python tools/publish.py              bring everything in line with pyproject.toml and tools/setup_cell.py
    python tools/publish.py owner/name   the same, after moving to a new address

The address stands in pyproject.toml; the setup cell is tools/setup_cell.py. Run it again after a change of either, and
after adding a notebook. Needs nothing but Python.
"""

import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BADGE = "https://colab.research.google.com/assets/colab-badge.svg"

# name, title, what you build, what PyTorch has
NOTEBOOKS = [
    ("01_vocabulary_and_shapes", "Vocabulary and shapes", "a byte-level BPE tokenizer",
     "shapes of `nn.Embedding`; ids of Hugging Face `tokenizers`"),
    ("02_token_embedding", "Token embedding", "look-up, and its gradient by scatter-add", "`nn.Embedding`"),
    ("03_position_encoding", "Position encoding", "sinusoids, and a learned table", "`nn.Embedding` for positions"),
    ("04_query_key_value", "Query, key, value", "the three projections", "`nn.Linear`"),
    ("05_attention", "Attention", "masks, softmax over rows, the weighted sum", "`F.scaled_dot_product_attention`"),
    ("06_multi_head_attention", "Multi-head attention", "splitting, attention per head, joining",
     "`nn.MultiheadAttention`"),
    ("07_residual_and_mlp", "Residual and MLP", "LayerNorm, the MLP, an encoder block",
     "`nn.LayerNorm`, `nn.TransformerEncoderLayer`"),
    ("08_encoder_decoder", "Encoder and decoder", "the decoder block, the whole model",
     "`nn.TransformerDecoderLayer`, `nn.Transformer`"),
    ("09_decoder_only", "Decoder only", "GPT-2, forward and backward", "a GPT-2 built from `nn` parts"),
    ("10_inference", "Inference", "greedy choice, sampling, beam search, a KV cache",
     "the same, recomputed and cached"),
    ("11_training", "Training", "losses, the whole backward pass, SGD, Adam",
     "`F.cross_entropy`, autograd, `torch.optim`"),
    ("12_capacity_and_data", "Capacity and data", "counts of parameters and operations, learning curves",
     "`numel`, `torch.utils.flop_counter`"),
]


def repository(root):
    """The repository's address: Repository in pyproject.toml."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]


def colab_badge(slug, name):
    """Markdown of the badge that opens notebook ``name`` of the GitHub repository ``slug`` in Colab."""
    address = f"https://colab.research.google.com/github/{slug}/blob/main/notebooks/{name}.ipynb"
    return f"[![Open in Colab]({BADGE})]({address})"


def with_slug(text, old, new):
    """``text`` with every GitHub and Colab address of the repository ``old`` pointing at ``new``."""
    return re.sub(rf"(github\.com/|/github/){re.escape(old)}(?![\w-])", rf"\g<1>{new}", text)


def table(root, slug):
    """The README's table of the notebooks; minutes and exercises are read from the notebooks themselves."""
    rows = ["| Notebook | You build, in NumPy | PyTorch has | Minutes | Exercises | |", "|---|---|---|---|---|---|"]
    for name, title, builds, has in NOTEBOOKS:
        path = root / "notebooks" / f"{name}.ipynb"
        label = f"{name[:2]} {title}"
        if path.exists():
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            minutes = re.search(r"(\d+) minutes", "".join(cells[0]["source"]))
            exercises = sum(tag.startswith("exercise:") for cell in cells for tag in cell["metadata"].get("tags", []))
            last = [minutes[1] if minutes else "", str(exercises), colab_badge(slug, name)]
            label = f"[{label}](notebooks/{name}.ipynb)"
        else:
            last = ["", "", "in preparation"]
        rows.append("| " + " | ".join([label, builds, has, *last]) + " |")
    return "\n".join(rows)


def with_setup_cell(text, source):
    """The notebook's JSON ``text`` with ``source`` as its setup cell; the same bytes if it has it already."""
    notebook = json.loads(text)
    lines = source.splitlines(keepends=True)
    cells = [cell for cell in notebook["cells"] if "setup" in cell["metadata"].get("tags", [])]
    if all(cell["source"] == lines for cell in cells):
        return text
    for cell in cells:
        cell["source"] = lines
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def publish(root, slug=None):
    """Bring the files under ``root`` in line, moved to ``slug`` ("owner/name") if given; returns those it changed."""
    old = repository(root).removeprefix("https://github.com/")
    slug = slug or old
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", slug):
        raise SystemExit(f"REPO must be owner/name, got {slug!r}")

    notebooks = sorted((root / "notebooks").glob("*.ipynb"))
    files = [root / "pyproject.toml", root / "README.md", root / "tools" / "setup_cell.py", *notebooks]
    before = {path: path.read_text(encoding="utf-8") for path in files}
    after = {path: with_slug(text, old, slug) for path, text in before.items()}

    setup_cell = after[root / "tools" / "setup_cell.py"].rstrip("\n")
    for path in notebooks:
        after[path] = with_setup_cell(after[path], setup_cell)
    head, rest = after[root / "README.md"].split("<!-- notebooks -->\n")
    tail = rest[rest.index("<!-- end of notebooks -->"):]
    after[root / "README.md"] = f"{head}<!-- notebooks -->\n{table(root, slug)}\n{tail}"

    changed = [path for path in files if after[path] != before[path]]
    for path in changed:
        path.write_text(after[path], encoding="utf-8")
    return changed


if __name__ == "__main__":
    for path in publish(ROOT, *sys.argv[1:2]):
        print(f"changed {path.relative_to(ROOT)}")
