"""
The script of the fake engine: its bounds.
"""

from __future__ import annotations

import pytest

from standfast.core.job.spec import SECONDS_MAX, Spec
from standfast.engines.fake import script

SECONDS = [name for name in script.Script.__struct_fields__ if name.endswith("_s")]


@pytest.mark.parametrize("name", SECONDS)
@pytest.mark.parametrize("wrong", [-0.5, SECONDS_MAX + 1, 1e300])
def test_seconds_beyond_a_date_are_refused_at_their_field(name: str, wrong: float) -> None:
    """
    What is added to a time must still be one; nothing of the kind gets in to stop the engine.
    """
    (error,) = script.check(Spec(engine="fake", program={name: wrong}))

    assert (error.pointer, error.code) == (f"/spec/program/{name}", "out_of_range")
    assert script.check(Spec(engine="fake", program={name: 60.0})) == []
