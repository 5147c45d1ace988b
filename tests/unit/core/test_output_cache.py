"""A job that ended well and was not seen to: its outputs are put back, and nothing is done twice."""

import pytest

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.output_cache import run_cached


class Job:
    """Copies its input, leaves a state to resume from, and counts how often it worked."""

    def __init__(self, folder):
        self.worked = 0
        self.input, self.state = folder / "input.json", folder / ".result.training"
        self.outputs = [folder / "one/result.json", folder / "two/result.json"]
        self.input.write_text("3")

    def work(self):
        self.worked += 1
        self.state.mkdir(exist_ok=True)
        for output in self.outputs:
            output.parent.mkdir(exist_ok=True)
            output.unlink(missing_ok=True)  # as a rename onto it does
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
    """Outputs that Snakemake removed are put back where nothing that decides them has changed."""
    job.run()
    assert not job.state.exists()
    for output in job.outputs:
        output.unlink()
    job.run()
    assert job.worked == 1 and [out.read_text() for out in job.outputs] == ["3", "3"]
    job.run(version="2")
    job.input.write_text("4")
    job.run(version="2")
    assert job.worked == 3 and [out.read_text() for out in job.outputs] == ["4", "4"]


@pytest.mark.parametrize(("version", "resumes"), [("1", True), ("2", False)])
def test_resume_state_version(job, tmp_path, version, resumes):
    """A state that another version left half done is not resumed from."""

    def fail():
        job.state.mkdir()
        raise KeyboardInterrupt

    def resume():
        assert job.state.exists() == resumes
        job.work()

    with pytest.raises(KeyboardInterrupt):
        job.run(fail)
    job.run(resume, version)
    assert job.worked == 1 and not list(tmp_path.glob(".result*"))
