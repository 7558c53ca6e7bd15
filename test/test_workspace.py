"""Layouts: sizes, offsets, views in Python and in kernels, and what is refused."""

from typing import Annotated, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from projected_control.control.counters import COUNTERS
from projected_control.control.force_kernels import SOURCE
from projected_control.control.guard_kernels import GUARD
from projected_control.control.live import LIVE
from projected_control.control.terms import CONTROL
from projected_control.control.wrench_map import WRENCH
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import TERMS
from projected_control.model.function_kernels import FRAMES
from projected_control.model.inertia_factor import INERTIA
from projected_control.model.motion_tables import MOTION
from projected_control.model.scalar_functions import TABLE
from projected_control.model.span import ROWS, SPAN, SVD
from projected_control.simulation.plant_terms import PLANT
from projected_control.workspace import BYTES_PER_NUMBER, Layout, Part

Array = NDArray[np.float64]
LAYOUTS = {
    layout.parts.__name__: layout
    for layout in (
        TERMS,
        CONTROL,
        SOURCE,
        GUARD,
        SVD,
        SPAN,
        ROWS,
        INERTIA,
        FRAMES,
        TABLE,
        PLANT,
        MOTION,
        WRENCH,
        LIVE,
        COUNTERS,
    )
}


class Example(NamedTuple):
    """What the tests lay out."""

    q: Annotated[Array, Part("n", "Positions [rad].")]
    A: Annotated[Array, Part("m, n", "A matrix.")]
    last: Annotated[Array, Part("n - m, 1", "The end of q.", at="q + m")]
    many: Annotated[Array, Part("max(m, 2), m + 1, n", "Three dimensions.")]
    one: Annotated[Array, Part("1", "A number.")]


EXAMPLE = Layout(Example, "n", "m")
unpack_example = EXAMPLE.unpack


def test_sizes_offsets_and_shapes():
    """n = 3, m = 2: the parts follow each other; one that lies within another takes no room."""
    assert EXAMPLE.size(n=3, m=2) == 3 + 6 + 18 + 1
    assert EXAMPLE.offsets(n=3, m=2) == {"q": 0, "A": 3, "last": 2, "many": 9, "one": 27}
    shapes = {"q": (3,), "A": (2, 3), "last": (1, 1), "many": (2, 3, 3), "one": (1,)}
    assert EXAMPLE.shapes(n=3, m=2) == shapes
    assert eval(EXAMPLE.length, {"n": 3, "m": 2}) == 28
    assert eval(EXAMPLE.length_with(m="max(n, m)"), {"n": 3, "m": 2}) == 3 + 9 + 36 + 1


def test_views_alias_the_array():
    work = EXAMPLE.new(n=3, m=2)
    parts = EXAMPLE.view(work, n=3, m=2)
    parts.q[:] = [1.0, 2.0, 3.0]
    parts.A[1, 0] = 4.0
    parts.one[0] = 5.0
    assert work[:3].tolist() == [1.0, 2.0, 3.0]
    assert work[3 + 3] == 4.0
    assert work[27] == 5.0
    assert parts.last[0, 0] == 3.0
    work[2] = 7.0
    assert parts.q[2] == parts.last[0, 0] == 7.0


@pytest.mark.parametrize("name", LAYOUTS)
@given(numbers=st.lists(st.integers(0, 8), min_size=6, max_size=6))
def test_offsets_are_where_the_views_are(name, numbers):
    """The parts of every workspace of the package: pointers, and no number left out or shared."""
    layout = LAYOUTS[name]
    sizes = dict(zip(layout.sizes, numbers, strict=False))
    work = np.arange(float(layout.size(**sizes)))
    parts, offsets, shapes = layout.view(work, **sizes), layout.offsets(**sizes), []
    seen = np.zeros(work.size, dtype=int)
    for part, (field, offset) in zip(parts, offsets.items(), strict=True):
        shapes.append(part.shape)
        assert part.flags.c_contiguous
        if part.size:
            assert part.ctypes.data - work.ctypes.data == BYTES_PER_NUMBER * offset
            assert part.ravel()[0] == offset
        if layout.declared[field].at is None:
            seen[offset : offset + part.size] += 1
    assert (seen == 1).all()
    assert shapes == list(layout.shapes(**sizes).values())


def test_the_docstring_lists_names_shapes_and_meanings():
    text = Example.__doc__
    assert text.startswith("What the tests lay out.")
    assert "A: (m, n) A matrix." in text
    assert "last: (n - m, 1, at q + m) The end of q." in text
    assert "sizes: n, m" in text
    assert Example.q.__doc__ == "Positions [rad]. Shape: n."


def layout_of(part, *sizes):
    """What a layout with one part besides q declares."""
    fields = {"q": Annotated[Array, Part("n", "Positions.")], "x": part}
    return Layout(NamedTuple("Wrong", list(fields.items())), *sizes).declared


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("n, k", "the shape of x of Wrong names 'k'; there is n, m"),
        ("q", "names 'q'; there is n, m"),
        ("n / 2", "may be made of"),
        ("0.5", "must be made of whole numbers"),
        ("n, (", "is not a shape"),
        ("[n]", "may be made of"),
        ("abs(n)", "names 'abs'"),
    ],
)
def test_wrong_shapes_are_refused(shape, message):
    with pytest.raises(InvalidValue) as refusal:
        layout_of(Annotated[Array, Part(shape, "Nothing.")], "n", "m")
    assert message in str(refusal.value)


def test_wrong_declarations_are_refused():
    with pytest.raises(InvalidValue, match=r"the place of x of Wrong names 'y'; there is n, q"):
        layout_of(Annotated[Array, Part("n", "Nothing.", at="y + 1")], "n")
    with pytest.raises(InvalidValue, match=r"x of Wrong has no shape; declare it as x: Annotated"):
        layout_of(Array, "n")
    with pytest.raises(InvalidValue, match=r"q of Wrong has a name that is taken"):
        layout_of(Annotated[Array, Part("n", "Nothing.")], "n", "q")


def test_wrong_sizes_and_arrays_are_refused():
    with pytest.raises(InvalidValue, match=r"Example has the sizes n, m, got n"):
        EXAMPLE.size(n=3)
    with pytest.raises(InvalidValue, match=r"has the sizes n, m, got n, m, k"):
        EXAMPLE.offsets(n=3, m=2, k=1)
    with pytest.raises(InvalidValue, match=r"not be negative, got n = 3, m = -1"):
        EXAMPLE.new(n=3, m=-1)
    for wrong in (np.zeros(27), np.zeros(28, dtype=np.float32), np.zeros(56)[::2]):
        with pytest.raises(InvalidValue, match=r"n = 3, m = 2 is one dense array of 28 doubles"):
            EXAMPLE.view(wrong, n=3, m=2)
