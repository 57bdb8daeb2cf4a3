"""The site builds without a broken link or a missing name, and its pages load in a browser without an error."""

import ast
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from tools import browser, commands, doctests, gallery, site

import leadax

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
API = "\n".join(page.read_text() for page in (DOCS / "reference" / "api").glob("*.md"))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    work = tmp_path_factory.mktemp("site")
    made = site.build(work)
    assert made.returncode == 0, made.stdout + made.stderr
    return work / "site"


class Links(HTMLParser):
    """What a page links to and shows."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page.read_text())

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("href", "src") and value and tag != "link"]


def test_every_link_leads_somewhere(built):
    """Zensical looks at links between pages; pictures and other files are looked for here."""
    missing = []
    for page in built.rglob("*.html"):
        for link in Links(page).found:
            path = unquote(urlparse(link).path)
            if urlparse(link).scheme or link.startswith("//") or not path:
                continue
            if not ((built if path.startswith("/") else page.parent) / path.lstrip("/")).exists():
                missing.append(f"{page.relative_to(built)}: {link}")
    assert not missing, "\n".join(missing)
    assert len(list(built.rglob("*.html"))) > 45


def test_pages_are_what_was_meant(built):
    """Names that are also those of modules, equations, examples in docstrings."""
    api = [page.read_text() for page in (built / "reference" / "api").glob("*.html")]
    assert not any("doc-module-name" in page for page in api), "name it by its whole path, as in `leadax.train.fit.fit`"
    assert "<math" in (built / "index.html").read_text()
    assert '<code><span class="whole">--warmup</span> 4</code>' in (built / "guides" / "noise.html").read_text()
    assert "&gt;&gt;&gt; </span>" in "".join(api) or "&gt;&gt;&gt; " in "".join(api)
    assert not any("<blockquote>" in page for page in api), "an example in a docstring was taken for a quotation"


def test_examples_in_docstrings_become_code():
    text = "One.\n\n>>> 1 + 1\n2\n>>> 3\n3\n\nTwo."
    assert doctests.fenced(text) == "One.\n\n```pycon\n>>> 1 + 1\n2\n>>> 3\n3\n```\n\nTwo."


def test_a_broken_page_is_noticed(tmp_path):
    """That the build can fail: a link, a name."""
    for name in ("mkdocs.yml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        (tmp_path / name).write_text((ROOT / name).read_text() if name == "mkdocs.yml" else "# A page\n")
    settings = (tmp_path / "mkdocs.yml").read_text()
    (tmp_path / "mkdocs.yml").write_text(settings[: settings.index("nav:")])
    (tmp_path / "docs").mkdir()
    for text, complaint in (("[x](nowhere.md)", "does not exist"), ("::: leadax.nothing", "leadax.nothing")):
        (tmp_path / "docs" / "index.md").write_text(f"# A page\n\n{text}\n")
        made = site.build(tmp_path / "work", tmp_path)
        assert made.returncode != 0
        assert complaint in made.stdout + made.stderr


@pytest.mark.skipif(browser.program() is None, reason="no browser")
def test_pages_load_in_a_browser(built):
    """On a phone and on a desk; nothing is asked of the network."""
    wrong = []
    with browser.served(built) as address, browser.browser() as chromium:
        for page in browser.pages(built):
            chromium.open(address + page)
            for width in (browser.PHONE, browser.DESK):
                chromium.look(width)
            wrong += [f"{page}: {problem}" for problem in chromium.problems]
    assert not wrong, "\n".join(wrong)


@pytest.mark.skipif(browser.program() is None, reason="no browser")
def test_a_browser_sees_what_is_wrong(tmp_path):
    (tmp_path / "a.html").write_text(
        '<div style="width:2000px">x</div><img src="no.png"><script>console.error("oh"); nothing()</script>'
    )
    with browser.served(tmp_path) as address, browser.browser() as chromium:
        chromium.open(address + "a.html")
        chromium.look(browser.DESK)
        seen = "\n".join(chromium.problems)
    for problem in ("oh", "Uncaught", "404", "pictures do not load", "wider than"):
        assert problem in seen


def test_every_public_name_is_in_the_reference():
    for name in leadax.__all__:
        thing = getattr(leadax, name)
        path = f"{thing.__module__}.{thing.__qualname__}" if hasattr(thing, "__qualname__") else ""
        listed = {f"leadax.{name}", path} & set(re.findall(r"^::: (\S+)$", API, re.MULTILINE))
        assert listed or name == "theory", f"leadax.{name} is in none of docs/reference/api"
    for name in leadax.theory.__all__:
        assert f"::: leadax.theory.{name}" in API


def test_the_page_of_commands_is_up_to_date():
    """Its commands and options; how help is worded may depend on the version of tyro."""
    page = commands.PAGE.read_text()
    options = lambda text: set(re.findall(r"(?<![\w-])--[a-zA-Z][\w-]*", text))
    from leadax.cli import COMMANDS

    for name in COMMANDS:
        (shown,) = re.findall(rf"^## leadax {name}\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
        missing = options(commands.help_of(name)) - {"--help"} ^ options(shown)
        assert not missing, f"run `python -m tools.commands`: {name} differs in {missing}"
        assert len(commands.section(name).splitlines()) > 8


def test_every_error_in_the_reference_is_one_that_there_is():
    """Texts between what varies (…, or in backticks) are in the sources."""
    words = " ".join(_texts(path) for path in (ROOT / "src" / "leadax").rglob("*.py"))
    known = re.sub(r"\s+", " ", words)
    cells = re.findall(r"^\| ([^|]+) \|", (DOCS / "reference" / "errors.md").read_text(), re.MULTILINE)
    quoted = [cell for cell in cells if cell not in ("it says",)]
    assert len(quoted) > 20
    for cell in quoted:
        for part in re.split(r"…|`[^`]*`", cell):
            assert part.strip(" :;,") in known, f"no error says `{part.strip()}`"


def _texts(path: Path) -> str:
    """All texts in a source, those in f-strings included, one after the other."""
    nodes = ast.walk(ast.parse(path.read_text()))
    parts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return " ".join(parts)


def test_every_page_of_the_gallery_has_its_script_its_picture_and_its_numbers():
    pages = [page for page in (DOCS / "gallery").glob("*.md") if page.stem != "index"]
    assert len(pages) == 8
    for page in pages:
        script = gallery.script_of(page)
        assert script.exists()
        picture = page.with_suffix(".png")
        assert 5_000 < picture.stat().st_size < 150_000, f"{picture} must be a small picture"
        assert f'"{page.stem}")' in script.read_text(), "the script makes the picture of this page"
        (printed,) = re.findall(r"```text\n(.*?)```\n<!-- end of output", page.read_text(), re.DOTALL)
        assert printed.strip(), f"{page} has no numbers: run `python -m tools.gallery {page.stem}`"


def test_the_first_page_and_the_readme_show_the_same_ten_lines():
    (readme,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert f"```python\n{readme}```" in (DOCS / "index.md").read_text()
    assert len([line for line in readme.splitlines() if line]) <= 10


def test_no_page_is_unfinished():
    for page in DOCS.rglob("*.md"):
        assert "@@" not in page.read_text(), f"{page} has a gap"
