"""Every command and block of code in README, CONTRIBUTING and docs is run, or says why it is not.

`blocks` says how. What cannot be run here is checked all the same: that commands, options, launch
arguments and parameters which it names are there.
"""

from __future__ import annotations

import re

import pytest
from blocks import (
    COMMANDS,
    LANGUAGES,
    Block,
    assert_like,
    blocks_of,
    count,
    pages,
    run_page,
    text_of,
)
from command_check import check_command, inline_commands

from projected_control.errors import ProjectedControlError

OWN_TESTS = {"docs/your_arm.md": "test_your_arm.py"}
"""Pages with a test of their own, which runs them and looks at the numbers."""

PAGES = {page: blocks_of(page) for page in pages()}
BLOCKS = [block for blocks in PAGES.values() for block in blocks]
RUN = [page for page in PAGES if page not in OWN_TESTS]


def runs(block: Block) -> bool:
    return not block.why_not


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
def test_a_block_can_be_run_or_says_why_not(block):
    assert block.language in LANGUAGES, f"{block.place}: {block.language!r} is none of {LANGUAGES}"
    assert not ("not run" in block.marks and len(block.marks) > 1), f"{block.place}: two marks"
    if "ros2" in block.marks:
        assert block.language in COMMANDS
    elif "not run" in block.marks or block.is_long:
        reason = block.marks.get("not run", block.marks.get("long", ""))
        assert len(reason.split()) >= 2, f"{block.place}: say why it is not run"
    elif block.language == "text":
        assert "output" in block.marks, f"{block.place}: neither an output nor marked"
    elif block.language in ("csv", "xml"):
        assert block.file, f"{block.place}: not a file, and not marked"


def test_the_marks_are_counted():
    """conftest.py prints the count at the end of the run; more are run than are not."""
    total, _, done, late, _, left = map(int, re.findall(r"\d+", count()[0].replace("ros2", "")))
    assert total == len(BLOCKS) == done + left
    assert late < done
    assert done > left


@pytest.mark.parametrize("page", PAGES)
def test_what_commands_name_is_there(page):
    for block in PAGES[page]:
        if block.language in COMMANDS:
            for command in "\n".join(block.commands).splitlines():
                check_command(command)
    for command in inline_commands(text_of(page)):
        check_command(command, whole=False)


@pytest.mark.parametrize("page", PAGES)
def test_no_command_hides_in_an_indented_block(page):
    text = re.sub(r"^( *)(```|~~~).*?^\1\2$", "", text_of(page), flags=re.MULTILINE | re.DOTALL)
    hidden = re.findall(r"^ {4,}(?:\$ |ros2 |projected-control |pip |make |python ).*$", text, re.M)
    assert hidden == []


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("page", [page for page in RUN if any(runs(b) for b in PAGES[page])])
def test_a_page_does_what_it_says(page, tmp_path):
    run_page(page, tmp_path, with_long=False)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "page", [page for page in RUN if any("long" in b.marks for b in PAGES[page])]
)
def test_a_page_does_what_it_says_to_the_end(page, tmp_path):
    run_page(page, tmp_path, with_long=True)


def test_pages_with_tests_of_their_own_are_there():
    assert set(OWN_TESTS) <= set(PAGES)


def made(language: str, text: str, **marks: str) -> Block:
    return Block("page.md", 1, language, text, marks)


@pytest.mark.parametrize(
    "text",
    ["gains: {stifness: 1.0}", "gains: {stiffness: [-1.0]}", "limits: {effort: much}"],
)
def test_parameters_that_are_not_there_are_found(text):
    from blocks import check_parameters

    with pytest.raises(ProjectedControlError):
        check_parameters(made("yaml", text))


@pytest.mark.parametrize(
    "command",
    [
        "projected-control chek my_arm.yaml",
        "projected-control check my_arm.yaml --presett gentle",
        "make tset",
        "ros2 launch projected_control simulation.launch.py controler:=force",
        "ros2 launch projected_control simulated.launch.py",
        "ros2 run projected_control force_control",
        "ros2 param set /force_controller gains.stifness 1.0",
        "ros2 param set /force_controller gains.stiffness -1.0",
        "ros2 service call /force_controller/tara std_srvs/srv/Trigger",
    ],
)
def test_commands_that_are_not_there_are_found(command):
    with pytest.raises((AssertionError, ProjectedControlError)):
        check_command(command)


def test_an_output_is_compared():
    block = made("text", "error … mm\n  done\n")
    assert_like(block, "the error 3.5 mm\ndone")
    with pytest.raises(AssertionError, match="was printed"):
        assert_like(block, "the error 3.5 m\ndone")
