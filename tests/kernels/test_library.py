"""Which kernels are loaded."""

import os
import subprocess
import sys

import pytest

from elmore.errors import ConfigError
from elmore.kernels.library import available_variants, kernels


def test_the_fastest_variant_is_the_default(monkeypatch):
    monkeypatch.delenv("ELMORE_KERNELS", raising=False)
    assert available_variants()[-1] == "generic"
    assert kernels.__wrapped__().variant == available_variants()[0]


def test_another_variant_can_be_chosen():
    for variant in available_variants():
        environment = os.environ | {"ELMORE_KERNELS": variant}
        code = "from elmore.kernels.library import kernels; print(kernels().variant)"
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == [variant]


def test_an_unknown_variant_is_refused(monkeypatch):
    monkeypatch.setenv("ELMORE_KERNELS", "mmx")
    with pytest.raises(ConfigError, match=r"ELMORE_KERNELS is 'mmx'; this processor has .*generic"):
        kernels.__wrapped__()
