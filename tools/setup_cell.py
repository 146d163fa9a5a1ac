# Setup: run this cell first. In Colab it fetches the course; nothing is installed or upgraded.
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

REPOSITORY = "https://github.com/OWNER/understanding-transformers"
COURSE = Path("understanding-transformers").resolve()
advice = "Run `make lab` in the course's folder, and open this notebook in the JupyterLab that it starts."

if find_spec("google") and find_spec("google.colab") and not find_spec("helpers"):
    if not COURSE.exists():
        subprocess.run(["git", "clone", "--quiet", "--depth=1", REPOSITORY, str(COURSE)])
    if COURSE.exists():
        sys.path.append(str(COURSE))
    advice = f"Delete the folder {COURSE.name} if there is one. Then run this cell again: it fetches {REPOSITORY}."

missing = [name for name in ("helpers", "numpy", "torch", "matplotlib", "ipywidgets") if not find_spec(name)]
if missing:
    raise SystemExit(f"Missing: {', '.join(missing)}. {advice}")
print("Ready.")
