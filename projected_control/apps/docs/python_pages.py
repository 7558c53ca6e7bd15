"""The pages of the Python interface: one per subpackage, with what can be imported from ours.

`make docs` puts them on the site, where the text of every name comes from its docstring.
"""

from __future__ import annotations

import projected_control

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
The [examples](../examples.md) are short programs that use it; what a module is for stands in its
first lines, and [contributing](../contributing.md) has the map.
"""

DIRECTIVE = """\
::: projected_control.{name}
    options:
      heading_level: 2
"""


def page_of(name: str) -> str:
    """The page on which a name stands."""
    page = projected_control._HOME[name].split(".")[1]
    return page if page in TITLES else REST[0]


def names() -> list[str]:
    """What can be imported from the package, in alphabetical order."""
    return sorted(projected_control._HOME)


def pages() -> dict[str, str]:
    """The pages in Markdown, by file name."""
    titles = {**TITLES, REST[0]: REST[1:]}
    rows, made = [], {}
    for page, (title, sentence) in titles.items():
        here = [name for name in names() if page_of(name) == page]
        links = ", ".join(f"[`{name}`][projected_control.{name}]" for name in here)
        rows.append(f"| [{title}]({page}.md) | {links} |")
        parts = [DIRECTIVE.format(name=name) for name in here]
        made[f"{page}.md"] = "\n".join([f"# {title}\n\n{sentence}\n", *parts])
    return {"index.md": INDEX.format(rows="\n".join(rows)), **made}
