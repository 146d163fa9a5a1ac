"""Reading the HTML of a page in tests."""

from html.parser import HTMLParser

VOID = {"img", "br", "hr", "input", "meta", "link"}
FORBIDDEN_TAGS = {"script", "style", "link", "iframe", "object", "embed", "form", "input", "foreignobject"}


class Reader(HTMLParser):
    """Collects elements and text, and raises for what no page may contain."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.texts = [], [], []
        self.feed(html)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"<{tag}> repeats an attribute: {names}"
        assert tag not in FORBIDDEN_TAGS, f"<{tag}>"
        for name, value in attributes:
            assert not name.startswith("on"), f"<{tag} {name}>"
            assert name not in ("id", "class", "href"), f"<{tag} {name}>"
            assert name != "src" or value.startswith("data:image/png;base64,"), value[:60]
            assert name != "style" or "url(" not in value, value
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> inside {self.open}"
        self.open.pop()

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self):
        return "\n".join(self.texts)
