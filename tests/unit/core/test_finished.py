"""A job that ended well and was not seen to: its outputs are put back, and nothing is done twice."""

import pytest

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.finished import finish_once


class Job:
    """Copies its input, leaves a state to resume from, and counts how often it worked."""

    def __init__(self, folder):
        self.folder, self.worked, self.resumed = folder, 0, False
        self.input, self.state = folder / "input.json", folder / ".result.scored"
        self.outputs = [folder / "one/result.json", folder / "two/result.json"]
        self.input.write_text("3")

    def work(self):
        self.worked += 1
        self.resumed = self.state.exists()
        self.state.write_text("scored")
        for output in self.outputs:
            output.parent.mkdir(exist_ok=True)
            output.unlink(missing_ok=True)  # as a rename onto it does
            output.write_text(self.said(output))

    def said(self, output):
        return f"{self.input.read_text()} of {output.parent.name}"

    def sound(self):
        if any(output.read_text() != self.said(output) for output in self.outputs):
            raise UserError("altered")

    def found(self):
        return [output.read_text() for output in self.outputs]

    def run(self, version="1", **request):
        finish_once(
            self.work,
            inputs=[self.input],
            outputs=self.outputs,
            version=version,
            request=request,
            sound=self.sound,
            state=self.state,
        )

    def lose_outputs(self):
        """As Snakemake does with those of a job that it did not see end."""
        for output in self.outputs:
            output.unlink()


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path)


def test_what_was_finished_and_lost_is_put_back(job):
    job.run(version="1")
    assert not job.state.exists()
    job.lose_outputs()
    job.run(version="1")
    assert job.worked == 1
    assert job.found() == ["3 of one", "3 of two"]


def test_another_input_or_setting_is_other_work(job):
    job.run(version="1")
    job.run(version="2")
    assert job.worked == 2
    job.input.write_text("4")
    job.run(version="2")
    assert job.worked == 3
    assert job.found() == ["4 of one", "4 of two"]


@pytest.mark.parametrize("kind", ["answers", "a training"])
def test_what_other_code_left_half_done_is_not_resumed_from(job, kind):
    """The numbers of a raised version are not those of the old code."""

    def leave_half(version):
        def killed():
            job.state.mkdir() if kind == "a training" else job.state.write_text("half")
            raise KeyboardInterrupt

        job.work, work = killed, job.work
        with pytest.raises(KeyboardInterrupt):
            job.run(version)
        job.work = work

    for left_by, resumes in (("1", True), ("2", False)):
        leave_half(left_by)
        if kind == "a training":
            (job.state / "checkpoint-1").mkdir()
        job.work = Job.work.__get__(job) if kind == "answers" else lambda: _resume(job)
        job.run("1", of=left_by)
        assert job.resumed == resumes, left_by
        assert not list(job.folder.glob(".result*")), "nor does anything of it stay"
        job.lose_outputs()


def _resume(job):
    job.resumed = (job.state / "checkpoint-1").exists()
    for output in job.outputs:
        output.parent.mkdir(exist_ok=True)
        output.write_text(job.said(output))


def test_a_disk_without_links_costs_only_the_second_chance(job, monkeypatch):
    def refused(*arguments):
        raise OSError("no links here")

    monkeypatch.setattr("workflow_scripts.core.finished.os.link", refused)
    job.run()
    job.run()
    assert job.worked == 2
