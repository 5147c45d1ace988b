"""A job that ended well and was not seen to: its outputs are put back, and nothing is done twice."""

import pytest

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.output_cache import run_cached


class Job:
    """Copies its input, leaves a state to resume from, and counts how often it worked."""

    def __init__(self, folder):
        self.worked, self.resumed, self.fails = 0, False, False
        self.input, self.state = folder / "input.json", folder / ".result.training"
        self.outputs = [folder / "one/result.json", folder / "two/result.json"]
        self.input.write_text("3")

    def work(self):
        self.worked += 1
        self.resumed = (self.state / "checkpoint-1").exists()
        (self.state / "checkpoint-1").mkdir(parents=True, exist_ok=True)
        if self.fails:
            raise KeyboardInterrupt
        for output in self.outputs:
            output.parent.mkdir(exist_ok=True)
            output.unlink(missing_ok=True)  # as a rename onto it does
            output.write_text(self.input.read_text())

    def check(self):
        if any(output.read_text() != self.input.read_text() for output in self.outputs):
            raise UserError("altered")

    def run(self, version="1"):
        outputs = {"inputs": [self.input], "outputs": self.outputs}
        run_cached(
            self.work, **outputs, version=version, request={}, sound=self.check, state=self.state
        )

    def lose_outputs(self):
        """Do as Snakemake does with those of a job that it did not see end."""
        for output in self.outputs:
            output.unlink()


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path)


def test_restore(job):
    job.run()
    assert not job.state.exists()
    job.lose_outputs()
    job.run()
    assert job.worked == 1 and [out.read_text() for out in job.outputs] == ["3", "3"]
    job.run(version="2")
    job.input.write_text("4")
    job.run(version="2")
    assert job.worked == 3 and [out.read_text() for out in job.outputs] == ["4", "4"]


@pytest.mark.parametrize(("version", "resumes"), [("1", True), ("2", False)])
def test_resume_state_version(job, tmp_path, version, resumes):
    """A state that another version left half done is not resumed from."""
    job.fails = True
    with pytest.raises(KeyboardInterrupt):
        job.run("1")
    job.fails = False
    job.run(version)
    assert job.resumed == resumes
    assert not list(tmp_path.glob(".result*"))
