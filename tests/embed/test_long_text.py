"""Ten thousand tokens without a sentence end, at the published size, within bounded memory."""

import subprocess
import sys
from pathlib import Path

import pytest

from elmore.bilm_config import BiLMConfig, CharCnnConfig, LstmConfig, TokenEncoderConfig
from elmore.formats import Pretrained, write_native
from elmore.model.bilm import BiLM

SMALL_FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))

PROGRAM = """
import sys
from pathlib import Path

import torch
from elmore import Elmo

torch.set_num_threads(1)
elmo = Elmo.from_pretrained(sys.argv[1], tokenizer="whitespace")
elmo.encode_tokens(["warm up"])


def peak_kb():  # getrusage counts what the parent had when it forked, too
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])


before = peak_kb()
text = [f"w{i % 3000}" for i in range(10_000)]
(found,) = elmo.encode_tokens([text], layers="all")
assert found.vectors.shape == (3, 10_000, 256)
print(peak_kb() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory from /proc")
def test_ten_thousand_tokens_take_less_than_a_gigabyte(tmp_path: Path) -> None:
    config = BiLMConfig(
        token_encoder=TokenEncoderConfig(
            CharCnnConfig(16, SMALL_FILTERS, n_highway=1, activation="relu")
        ),
        lstm=LstmConfig(n_layers=2, cell_dim=1024, projection_dim=128),
    )
    write_native(Pretrained(config, BiLM(config).arrays, "whitespace"), tmp_path / "small")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "small")],
        check=True,
        capture_output=True,
        text=True,
    )
    assert int(done.stdout) < 1024 * 1024, f"{int(done.stdout) / 1024:.0f} MB"
