"""Names that are imported when first used are shown by `dir`, as tab completion asks for them."""

from importlib import import_module

import pytest


@pytest.mark.parametrize("module", ["elmore", "elmore.tasks"])
def test_every_public_name_is_shown_and_there(module: str) -> None:
    found = import_module(module)
    assert set(found.__all__) <= set(dir(found))
    assert all(getattr(found, name) is not None for name in found.__all__)
