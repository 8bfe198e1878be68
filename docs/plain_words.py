"""Which words of the pages and messages are not common: to replace them, or to keep them on purpose.

    python docs/plain_words.py        # needs wordfreq, which `pip install ".[dev]"` brings

Common are the 3000 most frequent English words by wordfreq, and what plain rules make of them: plurals,
-ed, -ing, -ly, -er, -est, un-, re-, non-, and British spellings. Kept on purpose are the terms that
docs/glossary.md explains, and the words of docs/words.txt.
"""

import ast
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

from wordfreq import top_n_list

ROOT = Path(__file__).resolve().parents[1]
COMMON = 3000  # words
# What is no prose, and may hold line breaks: comments, blocks of code, code in a line, formulas, addresses.
NO_PROSE = re.compile(
    r"<!--.*?-->|^ *(`{3,}|~{3,}).*?^ *\1|^---\n.*?^---\n|\$\$.*?\$\$|(`+)[^`]+?\2|\$[^$\n]+\$|\]\([^)\s]*\)|"
    r"\{[a-z]+\}|<[^<>\s][^<>]*>|https?://\S+|arXiv:\S+",
    re.DOTALL | re.MULTILINE,
)
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
TOKEN = re.compile(r"[^\s—–/]+")
EDGES = "()[]{}.,;:!?\"'’“”*_|…-"
# Inside a token: it is code, a formula, or a name that has capitals inside, such as NumPy.
SYMBOLS = re.compile(r"[\d²³_=+*^<>\\|()\[\]{}&@#~$%§]|--|\w\.\w|\b\w'\w\b|[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
ROW_OF_NUMBERS = re.compile(r"\|.*\| *[-–<>~]*\d[^|]*\|")  # of a table: what was measured
BRITISH = (
    ("isation", "ization"),
    ("ise", "ize"),
    ("ising", "izing"),
    ("yse", "yze"),
    ("our", "or"),
    ("re", "er"),
)
ENDINGS = (
    ("ies", "y"),
    ("ied", "y"),
    ("ily", "y"),
    ("ier", "y"),
    ("iest", "y"),
    ("ably", "able"),
    ("ibly", "ible"),
    ("es", ""),
    ("s", ""),
    ("ed", ""),
    ("ed", "e"),
    ("ing", ""),
    ("ing", "e"),
    ("ly", ""),
    ("er", ""),
    ("er", "e"),
    ("est", ""),
    ("est", "e"),
)
BEGINNINGS = ("un", "re", "non")


def common_words():
    """The most frequent words that are made of letters alone; single letters are not counted."""
    found = [
        word for word in top_n_list("en", 2 * COMMON) if word.isascii() and word.isalpha() and len(word) > 1
    ]
    return set(found[:COMMON])


def kept_words():
    """The words of docs/words.txt, and those that docs/glossary.md prints in bold or as headings."""
    lines = (ROOT / "docs" / "words.txt").read_text().splitlines()
    kept = {word.lower() for line in lines if not line.startswith("#") for word in line.split()}
    glossary = ROOT / "docs" / "glossary.md"
    terms = (
        re.findall(r"\*\*(.+?)\*\*|^#+ (.*)", glossary.read_text(), re.MULTILINE) if glossary.exists() else []
    )
    return kept | {word.lower() for term in terms for word in WORD.findall(" ".join(term))}


def is_known(word, known):
    """Whether a word, in lower case, is known as it is, or is made from a known one by a plain rule."""
    return any(form in known for form in _forms(word))


def _forms(word, deeper=True):
    yield word
    for british, american in BRITISH:
        if word.endswith(british):
            yield word.removesuffix(british) + american
    for ending, instead in ENDINGS:
        stem = word.removesuffix(ending) + instead
        if word.endswith(ending) and len(stem) > 2:
            yield from _forms(stem, deeper)
            if len(stem) > 3 and stem[-1] == stem[-2]:
                yield stem[:-1]  # planned, fitting
    for beginning in BEGINNINGS:
        if deeper and word.startswith(beginning) and len(word) > len(beginning) + 2:
            yield from _forms(word.removeprefix(beginning), deeper=False)


def words_of(text):
    """The words of a line of prose, with the letters that they have; single letters are symbols."""
    for token in TOKEN.findall(text):
        if SYMBOLS.search(token.strip(EDGES)):
            continue
        for word in WORD.findall(token):
            plain = word.replace("’", "'").removesuffix("'s")
            if len(plain) > 1:
                yield plain


def lines_of_page(path):
    """The prose of a page in Markdown: (number of the line, text)."""
    text = NO_PROSE.sub(lambda found: " " + "\n" * found[0].count("\n"), path.read_text())
    lines = enumerate(text.splitlines(), start=1)
    return ((number, line) for number, line in lines if not ROW_OF_NUMBERS.match(line.strip()))


def lines_of_messages(path):
    """What a module says to people: its strings of three words or more that are no docstrings."""
    tree = ast.parse(path.read_text())
    silent = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if id(node) in silent:
            continue
        said = _text(node)
        if said is not None:
            silent |= {id(part) for part in ast.walk(node)}
            if len(said.split()) > 2:
                yield node.lineno, said


def _text(node):
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def pages():
    """All pages that people read."""
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def modules():
    """All modules that speak to people: not those whose strings are styles, formulas or names of arrays."""
    silent = {"report/page.py", "data/understand/names.py", "equations/gallery.py"}
    root = ROOT / "src" / "elmonet"
    return [path for path in sorted(root.rglob("*.py")) if path.relative_to(root).as_posix() not in silent]


def uncommon(paths, lines_of, known):
    """Where words are that are not known: (path, line, word)."""
    return [
        (path.relative_to(ROOT).as_posix(), number, word)
        for path in paths
        for number, text in lines_of(path)
        for word in words_of(text)
        if not is_known(word.lower(), known)
    ]


if __name__ == "__main__":
    known = common_words() | kept_words()
    found = uncommon(pages(), lines_of_page, known) + uncommon(modules(), lines_of_messages, known)
    where, count = defaultdict(list), Counter()
    for path, number, word in found:
        where[word.lower()].append(f"{path}:{number}")
        count[word.lower()] += 1
    for word, times in count.most_common():
        print(f"{times:4d}  {word:20s} {', '.join(where[word][:4])}")
    print(f"{len(count)} words that are not common, {len(found)} times")
    sys.exit(bool(found))
