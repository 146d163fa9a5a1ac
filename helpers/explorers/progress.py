"""A progress bar for training in a notebook."""

import time


class Progress:
    """A bar with step and loss, shown at once; give it to `train` as ``report``.

    The saved notebook holds one fixed line, whatever the losses were. Outside a
    notebook nothing is shown.
    """

    def __init__(self, until):
        self.until, self.next_draw = until, 0.0
        self.bar = self.text = None
        self.show()

    def show(self):
        """Display bar and text as one output."""
        from IPython import get_ipython

        if get_ipython() is None:
            return
        import ipywidgets
        from IPython.display import display

        self.bar = ipywidgets.IntProgress(value=0, min=0, max=self.until, layout={"width": "400px"})
        self.text = ipywidgets.Label(value=f"step 0 of {self.until}")
        box = ipywidgets.HBox([self.bar, self.text])
        view = {"version_major": 2, "version_minor": 0, "model_id": box.model_id}
        line = f"A bar that fills up in {self.until} steps; the kernel's stop button ends training early."
        display({"text/plain": line, "application/vnd.jupyter.widget-view+json": view}, raw=True)

    def __call__(self, run):
        """Draw the state of the run, but not more often than five times a second."""
        if self.bar is None or (run["step"] < self.until and time.monotonic() < self.next_draw):
            return
        self.next_draw = time.monotonic() + 0.2
        self.bar.value = run["step"]
        recent = run["losses"][-20:]
        self.text.value = f"step {run['step']} of {self.until}, loss {sum(recent) / len(recent):.3f}"
