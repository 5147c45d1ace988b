"""A thousand jobs as a box a rule."""

import pytest

from workflow_scripts.bridge.draw_dag import collapsed

DAG = r"""digraph snakemake_dag {
    graph[bgcolor=white, margin=0];
    node[shape=box, style=rounded, fontname=sans, fontsize=10, penwidth=2];
    edge[penwidth=2, color=grey];
	0[label = "table_scores", color = "0.53 0.6 0.85", style="rounded"];
	1[label = "evaluate\nmodel: a", color = "0.06 0.6 0.85", style="rounded,dashed"];
	2[label = "evaluate\nmodel: b", color = "0.06 0.6 0.85", style="rounded"];
	3[label = "fetch\nname: a", color = "0.10 0.6 0.85", style="rounded,dashed"];
	1 -> 0
	2 -> 0
	3 -> 1
	3 -> 2
}"""


def test_jobs_of_a_rule_share_a_box_that_counts_them():
    drawn = collapsed(DAG)
    assert r'"evaluate" [label="evaluate\n2 jobs, 1 to run"' in drawn
    assert r'"table_scores" [label="table_scores\n1 job to run"' in drawn
    assert r'"fetch" [label="fetch\n1 job, done"' in drawn
    assert drawn.count("[label=") == 3 + 2


def test_edges_between_two_rules_are_one_with_their_number():
    drawn = collapsed(DAG)
    assert '"evaluate" -> "table_scores" [label=" 2"];' in drawn
    assert '"fetch" -> "evaluate" [label=" 2"];' in drawn
    assert '"fetch" -> "table_scores"' not in drawn


def test_a_rule_is_dashed_only_when_all_its_jobs_are_done():
    lines = {line.split('"')[1]: line for line in collapsed(DAG).splitlines() if "style=" in line}
    assert "dashed" in lines["fetch"]
    assert "dashed" not in lines["evaluate"]


def test_what_is_no_dag_is_refused():
    with pytest.raises(ValueError, match="no job"):
        collapsed("Nothing to be done.")
