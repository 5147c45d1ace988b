"""Evaluate MMLU under many prompts; each prompt is a file in config/prompts."""

from workflow_scripts.evaluation.prompts.requests import build_explain_arguments
from workflow_scripts.evaluation.prompts.requests import build_prompt_request
from workflow_scripts.settings.prompts.section import PUBLISHED_MODEL

# The checkpoints to prompt, each with whether published scores are shown next to it. The miniature world shows them
# too, although they are of another model.
PROMPT_CHECKPOINTS = {
    name: SETTINGS.source == "miniature" or name == PUBLISHED_MODEL
    for name in map(str, SETTINGS.list_prompt_checkpoints())
}


rule ask_prompt_run:
    """Generate a model's outputs for all questions of a prompt run, and store them."""
    input:
        model=INPUTS.get_checkpoint_manifest,
        data=INPUTS.list_run_datasets,
    output:
        multiext(
            "results/outputs/prompts/{checkpoint}/{run}", generations=".json", outputs=".parquet"
        ),
    log:
        "logs/ask_prompt_run/{checkpoint}/{run}.log",
    conda:
        EVALUATION_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **estimate_resources("ask_prompt_run", ESTIMATOR.estimate_prompt_run),
    params:
        version="ask_prompt_run 2",  # raise when the meaning of the outputs changes
        compute_threads=SETTINGS.compute.threads,
        request=lambda wildcards: build_prompt_request(SETTINGS, wildcards.run).to_params(),
    script:
        "../workflow_scripts/evaluation/prompts/ask_prompt_run.py"


rule score_prompt_run:
    """Parse and score the stored outputs of a prompt run; runs no model."""
    input:
        multiext(
            "results/outputs/prompts/{checkpoint}/{run}", generations=".json", outputs=".parquet"
        ),
    output:
        get_record_files("prompts/prompt_run/{checkpoint}/{run}"),
    log:
        "logs/score_prompt_run/{checkpoint}/{run}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version="score_prompt_run 1",  # raise when the meaning of a parser or a scoring rule changes
        arguments=lambda wildcards: {
            "read": SETTINGS.prompt_runs[wildcards.run].read.model_dump(mode="json")
        },
    script:
        "../workflow_scripts/evaluation/prompts/score_prompt_run.py"


rule explain_prompt:
    """Show the exact text and tokens of one MMLU prompt (--config explain=run/subject/number)."""
    input:
        unpack(INPUTS.list_explained_prompt),
    output:
        text="results/explained_prompt.txt",
    log:
        "logs/explain_prompt.log",
    localrule: True
    conda:
        EVALUATION_ENVIRONMENT
    params:
        version="explain_prompt 1",
        arguments=lambda wildcards: build_explain_arguments(SETTINGS),
    script:
        "../workflow_scripts/evaluation/prompts/explain_prompt.py"


rule prompt_runs:
    """Tabulate and plot prompt runs: accuracy, format compliance, and the change from another run."""
    input:
        scores="results/scores/prompts.parquet",
        records=RECORDS.get("prompts", []),
        published=SETTINGS.find_resource("published/prompt_runs.csv"),
    output:
        table=multiext("results/tables/prompt_runs", ".csv", ".md", ".tex"),
        figure=get_figure_files("prompt_runs", "Prompts"),
    log:
        "logs/prompt_runs.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=2,
        arguments={
            "checkpoints": PROMPT_CHECKPOINTS,
            "runs": [
                {"name": name} | run.model_dump(include={"changed", "after", "published"})
                for name, run in SETTINGS.prompt_runs.items()
            ],
        },
    script:
        "../workflow_scripts/studies/prompts/runs.py"


rule prompts:
    """Study: evaluate MMLU under many prompts, each a file in config/prompts."""
    input:
        RECORDS.get("prompts", []),
        rules.prompt_runs.output if PROMPT_CHECKPOINTS else [],
