"""Plain English: pages and messages use common words, terms of the glossary, and words kept on purpose."""

import runpy
from pathlib import Path

import pytest

pytest.importorskip("wordfreq")

ROOT = Path(__file__).parent.parent
CHECK = runpy.run_path(str(ROOT / "docs" / "plain_words.py"))
TO_DO = "use a more common word, or add it to docs/glossary.md or docs/words.txt"


@pytest.fixture(scope="module")
def known():
    return CHECK["common_words"]() | CHECK["kept_words"]()


@pytest.mark.parametrize(("paths", "lines"), [("pages", "lines_of_page"), ("modules", "lines_of_messages")])
def test_words_are_common_or_kept_on_purpose(paths, lines, known):
    found = CHECK["uncommon"](CHECK[paths](), CHECK[lines], known)
    assert not found, "\n".join(f"{path}:{line}: {word!r}: {TO_DO}" for path, line, word in found)


def test_no_word_is_kept_for_nothing(known):
    """A word of docs/words.txt is neither common nor unused."""
    lines = (ROOT / "docs" / "words.txt").read_text().splitlines()
    kept = [word for line in lines if not line.startswith("#") for word in line.split()]
    assert len(kept) == len(set(kept))
    assert not CHECK["common_words"]() & set(kept)
    used = CHECK["words_in_use"]()
    for word in kept:
        rest = known - {word}
        assert any(not CHECK["is_known"](other, rest) for other in used), f"{word!r} is not used: remove it"


def test_prose_is_told_from_code(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# Zeugma\n\n`inline` of **Quixotic** [text](address.md) by G. Fabiani and NumPy\n\n```\nblock\n```\n"
        "<!-- a comment\nof two lines -->\n\n    indented\n\n| words | 3.1 % |\n| more | words |\n"
        "last $x$ line\n"
    )
    found = [
        (line, word, is_name)
        for line, text in CHECK["lines_of_page"](page)
        for word, is_name in CHECK["words_of"](text)
    ]
    assert found == [
        (1, "Zeugma", False),
        (3, "of", False),
        (3, "Quixotic", True),
        (3, "text", False),
        (3, "by", False),
        (3, "Fabiani", True),
        (3, "and", False),
        (14, "more", False),
        (14, "words", False),
        (15, "last", False),
        (15, "line", False),
    ]


def test_messages_are_strings_of_three_words(tmp_path):
    module = tmp_path / "module.py"
    module.write_text(
        '"""Not this docstring here."""\nraise ValueError(f"there is no {x}.")\nname = "two words"\n'
    )
    assert list(CHECK["lines_of_messages"](module)) == [(2, "there is no {}.")]


@pytest.mark.parametrize(
    "word", ["plans", "planned", "tried", "easily", "unused", "centre", "larger", "making"]
)
def test_plain_forms_of_known_words(word):
    assert CHECK["is_known"](word, {"plan", "try", "easy", "use", "center", "large", "make"})


@pytest.mark.parametrize("word", ["planet", "zeugma", "reuse's", "maker's"])
def test_other_words_are_not_known(word):
    assert not CHECK["is_known"](word, {"plan", "use", "make"})
