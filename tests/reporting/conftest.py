"""Reports, read as a browser would."""

from html.parser import HTMLParser

import pytest

_VOID = {"meta", "img"}
_ACTIVE = {"script", "link", "iframe", "object", "embed", "form", "svg", "base", "a"}
_PASSIVE = {"src", "alt", "class", "scope", "lang", "charset", "name", "content", "http-equiv"}


class Read(HTMLParser):
    """The text of a page, its tags and their attributes; raises if it is not well nested."""

    def __init__(self, page):
        super().__init__()
        self.text, self.tags, self.open = "", [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    @property
    def pictures(self):
        return [attributes for tag, attributes in self.tags if tag == "img"]


def _harmless(page):
    """Nothing runs, and nothing is loaded."""
    read = Read(page)
    for tag, attributes in read.tags:
        assert tag not in _ACTIVE
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name in _PASSIVE
            assert name != "src" or value.startswith("data:image/png;base64,")
    assert "url(" not in page
    assert "@import" not in page
    policy = [a["content"] for _, a in read.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]
    return read


@pytest.fixture
def reported(tmp_path):
    """The report of a model, read, after checks that hold for all."""
    pytest.importorskip("matplotlib")

    def reported(model, *test):
        path = tmp_path / "fit.html"
        model.report(path, *test)
        return _harmless(path.read_text())

    return reported


@pytest.fixture
def harmless():
    return _harmless
