"""Test the choice of bfloat16 on a processor."""

import pytest

from workflow_scripts.planning.memory import has_fast_bfloat16


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vendor_id : GenuineIntel\nflags : avx512_bf16 amx_bf16", True),
        ("vendor_id : GenuineIntel\nflags : avx512_bf16", False),
        ("vendor_id : AuthenticAMD\nflags : avx512_bf16", True),
        ("vendor_id : AuthenticAMD\nflags : avx512f", False),
        (None, False),
    ],
)
def test_fast_bfloat16_processor(tmp_path, text, expected):
    cpuinfo = tmp_path / "cpuinfo"
    if text:
        cpuinfo.write_text(text)
    assert has_fast_bfloat16(cpuinfo) is expected
