"""What is said before the first job where flash-attn, or a GPU that can run it, is missing."""

from types import SimpleNamespace

import pytest

from workflow_scripts.bridge import flash_attention, gpus

FLASH = "flash_attention_2"
CELL, STAGE = {"compute": {"attention": FLASH}}, {"attention": FLASH}
WHOLE = {"compute": {"attention": FLASH}, "cluster": {}}
OLD, NEW = "0, GPU-aa, 7.5", "1, GPU-bb, 9.0"


@pytest.mark.parametrize(
    ("request_", "installed", "local", "listed", "visible", "said"),
    [
        (CELL, True, True, [NEW], "1", None),
        (STAGE, True, True, [OLD, NEW], "1", None),  # the old one is not for this process
        (STAGE, True, True, [OLD, NEW], "GPU-b", None),
        (CELL, True, True, [OLD, NEW], "0,1", "GPU 0 of this machine has compute capability 7.5"),
        (STAGE, True, True, [], "", "this machine has no GPU"),
        (CELL, False, True, [NEW], "1", "flash-attn is not installed in"),
        (CELL, False, False, [], "", "`make install FLASH=yes`"),
        (CELL, True, False, [], "", None),  # a login node
        (WHOLE, False, True, [], "", None),  # shown on a page, and nothing run
        ({"compute": {"attention": "auto"}}, False, True, [], "", None),
    ],
)
def test_find_flash_problem(request_, installed, local, listed, visible, said, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    answer = SimpleNamespace(stdout="\n".join([*listed, ""]))
    monkeypatch.setattr(gpus.subprocess, "run", lambda *_, **__: answer)
    monkeypatch.setattr(flash_attention, "find_spec", lambda name: installed or None)
    workflow = SimpleNamespace(
        dag=SimpleNamespace(needrun_jobs=lambda: [SimpleNamespace(params={"request": request_})]),
        executor_plugin=SimpleNamespace(common_settings=SimpleNamespace(local_exec=local)),
        deployment_settings=SimpleNamespace(deployment_method=set()),
    )
    found = flash_attention.find_flash_problem(workflow, {"compute": {"attention": "published"}})
    if said is None:
        assert found is None
    else:
        assert found.startswith("compute.attention is 'published', and") and said in found
