"""What a learner drags. Each topic is a pure function from settings to a Page.

A topic module, ``helpers/explorers/<topic>.py``, has the same three names:

- ``CONTROLS``: a list of controls from ``helpers.explorers.shell``, in the
  order S, d, heads, then the topic's own;
- ``page(settings) -> Page``: computes with ``helpers.layers``, reads and changes
  nothing else, so that equal settings give an equal page;
- ``explore(**start)``: shows it, with other start values if the notebook asks:
  ``Explorer(page, CONTROLS, "attention", **start).show()``.

``page`` raises ValueError for settings that make no sense; the shell shows its
message above the last good picture.
"""
