"""What `make docs` does beside MkDocs itself: hooks, called by their names (see mkdocs.yml).

- Pages that are made from code or stand outside of docs/ are added: the command line, the Python
  interface (one page per subpackage), the examples, CONTRIBUTING and CHANGELOG.
- Links to files outside of docs/, which work in the repository, are turned to those pages.
- The navigation of mkdocs.yml may name pages that are not there yet, which are left out, and may
  end in ``*`` for all pages of a folder. A page of docs/ that it does not name is a warning, and
  so an error.
- Marks for the tests of blocks (``<!-- not run: … -->``) are left out.
- In docstrings, ``q, v: …`` describes two names at once: each gets a line of its own.
"""

from __future__ import annotations

import ast
import posixpath
import re
from pathlib import Path
from typing import Any

from griffe import Extension, Object
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import projected_control
from projected_control.apps.docs import command_pages

ROOT = Path(__file__).parents[3]
GENERATED = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples": "examples.md",
    "README.md": "index.md",
}
"""Which page shows which file outside of docs/."""

HIDDEN = {"index.md": "navigation", "parameters.md": "toc"}
"""What is left out beside a page: it is empty, or its tables need the space."""

MARKS = re.compile(r"^ *<!-- *(not run|long|ros2|status|output|file)\b.*?-->\n", re.MULTILINE)
LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(#[^)\s]*)?(?=\))")

EXAMPLES = """\
# Examples

Short programs, each of which runs as it stands (`python examples/01_slider.py`) and is run by a
test. They need neither ROS nor an arm.
"""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Leave out of the navigation what is not there."""
    folder = Path(config.docs_dir)
    made = {*GENERATED.values(), "cli.md", *(f"api/{name}" for name in interface_pages())}
    config.nav = _present(config.nav or [], folder, made)
    return config


def _present(items: list[Any], folder: Path, made: set[str]) -> list[Any]:
    """The entries of a navigation whose pages are there."""
    found: list[Any] = []
    for item in items:
        if isinstance(item, dict):
            ((title, inner),) = item.items()
            if isinstance(inner, list):
                if kept := _present(inner, folder, made):
                    found.append({title: kept})
            elif inner in made or (folder / inner).is_file():
                found.append(item)
        elif item.endswith("*"):
            found += sorted(p.relative_to(folder).as_posix() for p in folder.glob(f"{item}.md"))
        elif item in made or (folder / item).is_file():
            found.append(item)
    return found


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made here."""
    pages = {
        "cli.md": command_pages.page(),
        "examples.md": examples(),
        "contributing.md": (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"),
        "changelog.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        **{f"api/{name}": text for name, text in interface_pages().items()},
    }
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def examples() -> str:
    """The page of the examples: their first sentence, and they themselves."""
    parts = [EXAMPLES]
    for path in sorted((ROOT / "examples").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        title = (ast.get_docstring(ast.parse(text)) or path.stem).partition("\n")[0]
        body = text.partition('"""\n')[2].strip("\n")
        parts.append(f"## {path.name}\n\n{title}\n\n```python\n{body}\n```\n")
    return "\n".join(parts)


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Turn links out of docs/ to pages, and leave out the marks of the tests."""
    here = page.file.src_uri
    if here in HIDDEN:
        page.meta["hide"] = [HIDDEN[here]]
    outside = {shown: source for source, shown in GENERATED.items() if source != "README.md"}
    # Where the text really is, from the top of the package.
    source = outside.get(here, f"docs/{here}")

    def turned(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[1]))
        if target.startswith("docs/"):
            target = target.removeprefix("docs/")
        else:
            target = _shown(target) or match[1]
            if target == match[1]:
                return match[0]
        relative = posixpath.relpath(target, posixpath.dirname(here) or ".")
        return relative + (match[2] or "")

    return LINK.sub(turned, MARKS.sub("", markdown))


def _shown(path: str) -> str:
    """The page that shows a file outside of docs/; empty where none does."""
    for source, shown in GENERATED.items():
        if path == source or path.startswith(f"{source}/"):
            return shown
    return ""


SEVERAL = re.compile(r"^(?P<indent> +)(?P<names>\w+(?:, \w+)+): (?P<text>.*)$", re.MULTILINE)


class SeveralNames(Extension):
    """Gives each of several names that share a description a line of its own."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite the docstring of a class or function, before it is parsed."""
        if obj.docstring is not None:
            obj.docstring.value = SEVERAL.sub(separated, obj.docstring.value)


def separated(match: re.Match[str]) -> str:
    """One line for each name; the first has the description, the others refer to it."""
    first, *others = match["names"].split(", ")
    lines = [f"{match['indent']}{first}: {match['text']}"]
    lines = [f"{match['indent']}{other}: See `{first}`." for other in others] + lines
    return "\n".join(lines)


TITLES = {
    "model": (
        "Arms, constraints, coordinates",
        "What an arm and its constraint are, without any controller: kinematics, dynamics and "
        "projection of one state.",
    ),
    "control": (
        "Controllers, loop, references",
        "Laws, gains and limits, what the arm is to follow, and the loop that makes one tick of "
        "all of them.",
    ),
    "planning": (
        "Inverse kinematics and planning",
        "Where an arm can go: joint positions for tasks, a configuration to start from, what is "
        "within reach.",
    ),
    "simulation": (
        "The plant",
        "A constrained arm that moves: integration on the constraint, friction, sensors.",
    ),
    "runs": (
        "Ports, runner, recordings",
        "The way to an arm, simulated or not, what steps a loop on it, and what is kept of a run.",
    ),
}
"""Title and first sentence of each subpackage's page; names of other modules go to `REST`."""

REST = ("rest", "Errors and files", "What every package shares.")

INDEX = """\
# Python interface

Everything here can be imported from the package itself:

```python
import projected_control as pc

print(pc.__version__, pc.PointOnPlane)
```

| page | names |
|---|---|
{rows}

Parameters and results are in SI units; arrays are NumPy's. What enters is checked, and refused with
a [`ProjectedControlError`][projected_control.ProjectedControlError] that says what was expected.
The [examples](../examples.md) are short programs that use it; what a module is for is said in its
first lines, and [contributing](../contributing.md) has the map.
"""

DIRECTIVE = """\
::: projected_control.{name}
    options:
      heading_level: 2
"""


def page_of(name: str) -> str:
    """The page that has a name."""
    page = projected_control._HOME[name].split(".")[1]
    return page if page in TITLES else REST[0]


def interface_names() -> list[str]:
    """What can be imported from the package, in alphabetical order."""
    return sorted(projected_control._HOME)


def interface_pages() -> dict[str, str]:
    """The pages in Markdown, by file name."""
    titles = {**TITLES, REST[0]: REST[1:]}
    rows, made = [], {}
    for page, (title, sentence) in titles.items():
        here = [name for name in interface_names() if page_of(name) == page]
        links = ", ".join(f"[`{name}`][projected_control.{name}]" for name in here)
        rows.append(f"| [{title}]({page}.md) | {links} |")
        parts = [DIRECTIVE.format(name=name) for name in here]
        made[f"{page}.md"] = "\n".join([f"# {title}\n\n{sentence}\n", *parts])
    return {"index.md": INDEX.format(rows="\n".join(rows)), **made}
