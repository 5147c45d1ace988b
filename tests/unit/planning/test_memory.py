"""Test the choice of bfloat16 on a processor."""

import pytest

from workflow_scripts.planning.memory import has_fast_bfloat16


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("GenuineIntel avx512_bf16 amx_bf16", True),
        ("GenuineIntel avx512_bf16", False),
        ("AuthenticAMD avx512_bf16", True),
    ],
)
def test_fast_bfloat16_processor(tmp_path, flags, expected):
    path = tmp_path / "cpuinfo"
    path.write_text(flags)
    assert has_fast_bfloat16(path) is expected
