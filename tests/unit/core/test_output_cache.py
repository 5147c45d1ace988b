"""Test that a killed job resumes from its state, and a completed job is restored (grid/test_cells.py has the rest)."""

import pytest

from workflow_scripts.core.output_cache import OutputCache


@pytest.mark.parametrize(("version", "resumes"), [("1", True), ("2", False)])
def test_resume_state_version(tmp_path, version, resumes):
    """A job does not resume from the state of another version."""
    state, output = tmp_path / ".result.training", tmp_path / "result.json"
    resumed = []

    def work():
        resumed.append(state.exists())
        state.mkdir(exist_ok=True)
        if len(resumed) == 1:
            raise KeyboardInterrupt
        output.write_text("3")

    def run(version):
        OutputCache([output], {}, output.read_text, [state], version).run(work)

    with pytest.raises(KeyboardInterrupt):
        run("1")
    run(version)
    assert resumed == [False, resumes] and not list(tmp_path.glob(".result*"))
    output.unlink()  # as Snakemake does if it was killed before it noted the success
    run(version)
    assert len(resumed) == 2 and output.read_text() == "3"
