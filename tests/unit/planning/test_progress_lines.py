"""What a run says of itself where it is written into a file."""

import re
from collections import Counter

from workflow_scripts.planning.progress_lines import line


def test_a_line_has_the_time_the_steps_and_what_is_at_work():
    said = line(35, 141, Counter({"train_before_test": 2, "evaluate_mmlu": 1}))
    clock, rest = said.split("  ", 1)
    assert re.fullmatch(r"\d\d:\d\d:\d\d", clock)
    assert rest == "35 of 141 steps done (25%); at work: 2 train_before_test, evaluate_mmlu"
    assert line(0, 0, Counter()).endswith("0 of 0 steps done")
