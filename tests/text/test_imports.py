"""Texts, corpora and model folders need no torch, which takes seconds to import."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module",
    ["elmore", "elmore.bilm_config", "elmore.text", "elmore.formats", "elmore.corpus.shards"],
)
def test_no_torch(module: str) -> None:
    program = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
