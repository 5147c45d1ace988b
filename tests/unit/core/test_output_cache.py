"""Test the output cache: outputs of a completed job that Snakemake removed are restored, not recomputed."""

import pytest

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.output_cache import run_cached


class Job:
    """Copy the input to the outputs, leave a resume state, and note whether one was there."""

    def __init__(self, folder):
        self.resumed = []
        self.input, self.state = folder / "input.json", folder / ".result.training"
        self.outputs = [folder / "one/result.json", folder / "two/result.json"]
        self.input.write_text("3")

    def work(self):
        self.resumed.append(self.state.exists())
        self.state.mkdir(exist_ok=True)
        for output in self.outputs:
            output.parent.mkdir(exist_ok=True)
            output.unlink(missing_ok=True)  # as os.rename onto it does
            output.write_text(self.input.read_text())

    def check(self):
        if any(output.read_text() != self.input.read_text() for output in self.outputs):
            raise UserError("altered")

    def run(self, work=None, version="1"):
        run_cached(
            work or self.work,
            inputs=[self.input],
            outputs=self.outputs,
            version=version,
            request={},
            sound=self.check,
            state=self.state,
        )


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path)


def test_restore(job):
    """Outputs that Snakemake removed are restored if inputs and version are unchanged."""
    job.run()
    for output in job.outputs:
        output.unlink()
    job.run()
    assert len(job.resumed) == 1 and [out.read_text() for out in job.outputs] == ["3", "3"]
    job.run(version="2")
    job.input.write_text("4")
    job.run(version="2")
    assert len(job.resumed) == 3 and [out.read_text() for out in job.outputs] == ["4", "4"]


@pytest.mark.parametrize(("version", "resumes"), [("1", True), ("2", False)])
def test_resume_state_version(job, tmp_path, version, resumes):
    """A job does not resume from the state of another version."""

    def fail():
        job.state.mkdir()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job.run(fail)
    job.run(version=version)
    assert job.resumed == [resumes] and not list(tmp_path.glob(".result*"))
