"""The live part of an explorer: ipywidgets controls around one persistent HTML widget.

The frontend only ever receives text: the HTML of a page, assigned to the same
widget. Works with ipywidgets 7.7.1 (Colab) and 8.1.
"""

import numbers
from dataclasses import dataclass

from helpers.explorers import html

LABEL_WIDTH = "110px"
CONTROL_WIDTH, TEXT_WIDTH = "400px", "808px"  # two controls side by side, or one text box


# --- controls: what can be set, as plain data ---------------------------------


@dataclass(frozen=True)
class Slider:
    """A number from low to high. low, high and start are numbers or functions of the settings before it.

    Integers when ``step`` is an integer.
    """

    name: str
    low: object
    high: object
    start: object
    step: float = 1
    label: str = ""

    def bounds(self, earlier):
        low, high = given(self.low, earlier), given(self.high, earlier)
        if low > high:
            raise ValueError(f"{type(self).__name__} {self.name!r}: low {low} is above high {high}")
        return low, high

    def nearest(self, value, earlier):
        """The value if it is allowed, or the nearest allowed one."""
        low, high = self.bounds(earlier)
        if not isinstance(value, numbers.Real):
            value = given(self.start, earlier)
        value = min(max(value, low), high)
        if isinstance(self.step, int):
            return int(min(low + round((value - low) / self.step) * self.step, high))
        return float(value)


class Stepper(Slider):
    """A slider with a button for one step back and one for one step forward."""


@dataclass(frozen=True)
class Choice:
    """One of several options: a list, or a function of the settings before it.

    An option is a value, or a pair (label, value).
    """

    name: str
    options: object
    start: object
    label: str = ""

    def pairs(self, earlier):
        options = given(self.options, earlier)
        if not options:
            raise ValueError(f"Choice {self.name!r}: no options")
        return [option if isinstance(option, tuple) else (str(option), option) for option in options]

    def nearest(self, value, earlier):
        values = [value for _, value in self.pairs(earlier)]
        if value in values:
            return value
        if isinstance(value, numbers.Real) and all(isinstance(v, numbers.Real) for v in values):
            return min(values, key=lambda v: (abs(v - value), v))
        start = given(self.start, earlier)
        return start if start in values else values[0]


@dataclass(frozen=True)
class Toggle:
    """On or off."""

    name: str
    start: bool
    label: str = ""

    def nearest(self, value, earlier):
        return bool(value)


@dataclass(frozen=True)
class TextBox:
    """Text typed by a person, at most ``limit`` characters; a longer text is refused with a message."""

    name: str
    start: str
    limit: int = 200
    label: str = ""

    def nearest(self, value, earlier):
        if len(value) > self.limit:
            raise ValueError(f"{self.label or self.name}: {len(value)} characters; at most {self.limit} are taken")
        return value


def given(value, earlier):
    return value(earlier) if callable(value) else value


def resolve(controls, wanted):
    """Settings as near to the wanted ones as the controls allow.

    Each control sees the settings of the controls before it, so one pass settles
    all bounds and options. Names missing from ``wanted`` get their start value.
    """
    unknown = set(wanted) - {control.name for control in controls}
    if unknown:
        raise ValueError(f"unknown settings {sorted(unknown)}; this explorer has {[c.name for c in controls]}")
    settings = {}
    for control in controls:
        value = wanted[control.name] if control.name in wanted else given(control.start, settings)
        settings[control.name] = control.nearest(value, settings)
    return settings


def divisors(number):
    """All divisors in rising order: the numbers of heads that fit a width d."""
    return [n for n in range(1, number + 1) if number % n == 0]


# --- the explorer -------------------------------------------------------------


class Explorer:
    """page(settings) -> Page, its controls, and start values that differ from the controls' own."""

    def __init__(self, page, controls, name, **start):
        self.page, self.controls, self.name = page, list(controls), name
        self.wanted = dict(start)  # what a person chose, also where it is out of bounds just now
        self.settings = resolve(self.controls, start)
        self.current = self.first = page(self.settings)
        self.busy = False
        self.widgets = {}
        self.picture = self.box = None

    def build(self):
        """The box that holds all widgets; they are made at the first call and kept."""
        import ipywidgets

        if self.box is not None:
            return self.box
        self.picture = ipywidgets.HTML(value=html.write(self.current))
        rows, earlier = [], {}
        for control in self.controls:
            widget, row = make_widget(control, self.settings[control.name], earlier)
            widget.observe(self.changed, names="value")
            self.widgets[control.name] = widget
            rows.append(row)
            earlier[control.name] = self.settings[control.name]
        panel = ipywidgets.Box(rows, layout={"display": "flex", "flex_flow": "row wrap", "margin": "0 0 6px 0"})
        self.box = ipywidgets.VBox([panel, self.picture])
        return self.box

    def changed(self, change):
        """A person moved a control: settle all controls, compute the page once, show it."""
        if self.busy:
            return
        self.busy = True
        name = next(name for name, widget in self.widgets.items() if widget is change["owner"])
        self.wanted[name] = change["new"]
        try:
            settings = resolve(self.controls, self.wanted)
            try:
                if settings != self.settings:
                    self.current = self.page(settings)
                    self.settings = settings
                self.picture.value = html.write(self.current)
            finally:
                self.move_widgets(settings)  # after the picture, which else would wait for sliders to be drawn anew
        except Exception as error:
            # an exception in a callback would vanish in the kernel's log, so it is shown instead
            reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            self.picture.value = html.write(self.current, warning=f"Not shown: {reason}\nBelow: {self.describe()}")
        finally:
            self.busy = False

    def describe(self):
        return "the last page that could be shown, for " + ", ".join(f"{k} = {v}" for k, v in self.settings.items())

    def move_widgets(self, settings):
        """Give every widget its bounds, options and value; ``busy`` keeps these changes from computing pages."""
        earlier = {}
        for control in self.controls:
            widget, value = self.widgets[control.name], settings[control.name]
            if isinstance(control, Slider):
                # a message of their own: the browser may take a value before the bounds beside it, and cut it off
                with widget.hold_sync():
                    set_bounds(widget, *control.bounds(earlier))
            with widget.hold_sync():
                if isinstance(control, Choice) and list(widget.options) != control.pairs(earlier):
                    widget.options = control.pairs(earlier)
                if widget.value != value:
                    widget.value = value
            earlier[control.name] = value

    def show(self):
        """Display the live explorer, and the still picture and summary of its start settings, as one output."""
        from IPython import get_ipython
        from IPython.display import display

        if get_ipython() is None:
            print(self.first.summary)
            return
        from helpers import figures
        from helpers.figures.page import draw

        box = self.build()
        bundle, metadata = figures.bundle(draw(self.first), self.first.alt)
        bundle["text/plain"] = self.first.summary
        bundle["application/vnd.jupyter.widget-view+json"] = {
            "version_major": 2,
            "version_minor": 0,
            "model_id": box.model_id,
        }
        display(bundle, metadata=metadata, raw=True)


def set_bounds(slider, low, high):
    """Move both ends without passing through low > high, which a slider refuses."""
    if high >= slider.min:
        slider.max, slider.min = high, low
    else:
        slider.min, slider.max = low, high


def make_widget(control, value, earlier):
    """The widget that holds a control's value, and what to show: the same widget, but for a Stepper a row."""
    import ipywidgets

    common = {
        "description": control.label or control.name,
        "style": {"description_width": LABEL_WIDTH},
        "layout": {"width": CONTROL_WIDTH},
    }
    if isinstance(control, Slider):
        low, high = control.bounds(earlier)
        kind = ipywidgets.IntSlider if isinstance(control.step, int) else ipywidgets.FloatSlider
        widget = kind(value=value, min=low, max=high, step=control.step, **common)
        return widget, with_buttons(widget) if isinstance(control, Stepper) else widget
    if isinstance(control, Choice):
        widget = ipywidgets.Dropdown(options=control.pairs(earlier), value=value, **common)
    elif isinstance(control, Toggle):
        widget = ipywidgets.Checkbox(value=value, **common)
    else:
        widget = ipywidgets.Text(value=value, **{**common, "layout": {"width": TEXT_WIDTH}})
    return widget, widget


def with_buttons(slider):
    """The slider with a button that goes one step back and one that goes one step forward."""
    import ipywidgets

    def button(text, by):
        made = ipywidgets.Button(description=text, layout={"width": "80px"})
        made.on_click(lambda _: setattr(slider, "value", min(max(slider.value + by, slider.min), slider.max)))
        return made

    return ipywidgets.HBox([slider, button("back", -slider.step), button("forward", slider.step)])
