"""Several works of one job: one that fails costs no other, and one that is asked to leave leaves at once."""

import pytest

from workflow_scripts.core.errors import Interrupted, UserError
from workflow_scripts.core.in_turn import in_turn


def works(done: list[str], **failing: Exception):
    def work(name):
        if name in failing:
            raise failing[name]
        done.append(name)

    return [(name, lambda name=name: work(name)) for name in ("first", "second", "last")]


def test_what_fails_leaves_the_others_to_be_done_and_is_the_job_s_error(capsys):
    done: list[str] = []
    with pytest.raises(UserError, match="is broken"):
        in_turn(works(done, first=UserError("the first is broken"), last=OSError("too")))
    assert done == ["second"]
    assert "first failed: the first is broken" in capsys.readouterr().out


def test_who_is_asked_to_leave_leaves_at_once():
    done: list[str] = []
    with pytest.raises(Interrupted):
        in_turn(works(done, second=Interrupted("saved")))
    assert done == ["first"]
