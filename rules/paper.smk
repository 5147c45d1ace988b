"""Collect the scores of each study, merge them, and write the report, the paper and the leaderboard page."""

from workflow_scripts.scores.foreign.requests import describe_imports
from workflow_scripts.settings.mmlu import PUBLISHED
from workflow_scripts.studies.records import UNMERGED

# The tables of published numbers, and what they are compared with, by table and by published run.
PUBLISHED_TABLES = [*PUBLISHED.values(), "prompt_runs", "harmony_leaderboard", "harmony_cells"]
PUBLISHED_MMLU = {table: name for name, table in MMLU_CHECKPOINTS.items() if table}
PUBLISHED_RUNS = {
    run.published: name for name, run in SETTINGS.prompt_runs.items() if run.published
}
PROMPT_COUNTERPART = next(
    (name for name, is_published in PROMPT_CHECKPOINTS.items() if is_published), None
)
# What the report leaves out of the config: the rows of its tables, and the keys of a single command.
CONFIG_TABLES = {"models", "tasks", "grids", "prompt_runs", "explain", "compare"}

# The files of each chapter of the report, in this order; it shows the tables and figures among them.
CHAPTERS = {grid: IMPORTED_GRID_FILES[grid] for grid in IMPORTED_GRIDS if GRIDS[grid].in_report}
for chapter, outputs in (
    ("harmony", RUN_GRID_FILES),
    ("chunking", rules.chunking_quality.output if INPUTS.chunked else []),
    ("chunking", rules.training_stages.output if "training" in RECORDS else []),
    ("chunking", UNTRAINED_PLANS),
    ("chunking", rules.mmlu_by_subject.output if MMLU_CHECKPOINTS else []),
    ("prompts", rules.prompt_runs.output if PROMPT_CHECKPOINTS else []),
    ("suite", rules.suite_leaderboard.output if "suite" in RECORDS else []),
    ("suite", rules.suite_requests.output if "suite" in RECORDS else []),
):
    CHAPTERS.setdefault(chapter, []).extend(map(str, outputs))


rule protocol_differences:
    """Tabulate where the protocol of this run differs from the published protocol."""
    input:
        records=INPUTS.list_all_records,
        protocols=SETTINGS.find_resource("published/protocols.yaml"),
    output:
        table=multiext("results/tables/protocol_differences", ".csv", ".md", ".tex"),
    log:
        "logs/protocol_differences.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=8,
        arguments={"runs": PUBLISHED_RUNS},
    script:
        "../workflow_scripts/paper/protocol_differences.py"


rule reproduction:
    """Compare each published number with ours, with a verdict."""
    input:
        ours=list_tables("mmlu_by_subject", "prompt_runs", "harmony_leaderboard"),
        published=[SETTINGS.find_resource(f"published/{name}.csv") for name in PUBLISHED_TABLES],
        differences="results/tables/protocol_differences.csv",
    output:
        table=multiext("results/tables/reproduction", ".csv", ".md", ".tex"),
    log:
        "logs/reproduction.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=5,
        arguments={
            "comparison": {
                "source": SETTINGS.source,
                "models": list_model_rows(SETTINGS, "huggingface"),
                "mmlu": PUBLISHED_MMLU,
                "prompts": {"checkpoint": PROMPT_COUNTERPART, "runs": PUBLISHED_RUNS},
            },
            "margin": SETTINGS.margins.scores,
        },
    script:
        "../workflow_scripts/paper/reproduction.py"


CHAPTERS["reproduction"] = [
    str(path) for path in (*rules.reproduction.output, *rules.protocol_differences.output)
]
LEADERBOARD_TABLES = list_tables("suite_leaderboard", "harmony_leaderboard")


rule leaderboard:
    """Build the leaderboard, one web page with tabs for submitted models and train-before-test: results/report/leaderboard.html."""
    input:
        tables=LEADERBOARD_TABLES,
        # Generated questions have no published baselines.
        baselines=(
            SETTINGS.find_resource("published/suite_baselines.tsv")
            if SETTINGS.source == "huggingface"
            else []
        ),
    output:
        page=report("results/report/leaderboard.html", category="Report"),
    log:
        "logs/leaderboard.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments={
            "source": SETTINGS.source if any(RECORDS.values()) or "suite" in RECORDS else None,
            "tasks": list_shown_tasks(SETTINGS),
            "protocols": dict(GRIDS[RUN_GRID].protocol_names),
            "suite": {
                **SETTINGS.suite.model_dump(mode="json"),
                "tasks": list_tasks(SETTINGS),
                "on_gpu": SETTINGS.on_gpus,
            },
        },
    script:
        "../workflow_scripts/paper/leaderboard.py"


rule collect_scores:
    """Collect a study's records and imported folders into one tidy table of scores; one invalid file rejects a folder."""
    input:
        records=INPUTS.list_study_records,
        # Absolute paths, because another config in the same working directory may import what this run shares.
        imports=lambda wildcards: [
            Path(folder).absolute() for folder in SETTINGS.imports if wildcards.study == "harmony"
        ],
    output:
        scores="results/scores/{study}.parquet",
        errors="results/scores/{study}_errors.parquet",
    log:
        "logs/collect_scores/{study}.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=5,
        arguments=lambda wildcards: describe_imports(SETTINGS, wildcards.study),
    script:
        "../workflow_scripts/scores/tidy.py"


rule merge_scores:
    """Merge the scores of all studies and imported scores into one table, results/scores.csv."""
    input:
        studies=[f"results/scores/{study}.parquet" for study in RECORDS if study not in UNMERGED],
        imported=SETTINGS.harmony.imported_scores,
    output:
        parquet="results/scores.parquet",
        csv="results/scores.csv",
    log:
        "logs/merge_scores.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=3,
        metrics={name: row.full_metric for name, row in SETTINGS.tasks.items()},
    script:
        "../workflow_scripts/scores/merge.py"


rule paper:
    """Write the report, all studies on one page and as a LaTeX paper, with its numbers, their provenance and missing results."""
    input:
        records=INPUTS.list_all_records,
        files=[path for files in CHAPTERS.values() for path in files],
        pages=rules.leaderboard.output if LEADERBOARD_TABLES else [],
        sources=SETTINGS.find_resource("published/sources.csv"),
        captions=sorted(map(str, Path(workflow.basedir).glob("docs/captions/*.rst"))),
        prose=sorted(map(str, Path(workflow.basedir).glob("workflow_scripts/*/*/*.md.j2"))),
    output:
        reports=[
            report("results/report/index.html", category="Report"),
            "results/report/paper.tex",
        ],
        facts=["results/tables/numbers.json", "results/report/provenance.json"],
    log:
        "logs/paper.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=1,
        arguments={
            "chapters": CHAPTERS,
            "config": SETTINGS.model_dump(mode="json", exclude=CONFIG_TABLES),
        },
    script:
        "../workflow_scripts/paper/report.py"


rule share:
    """Export the scores of all evaluations in the JSON format of Every Eval Ever, for sharing."""
    input:
        records=INPUTS.list_all_records,
    output:
        folder=directory("results/share"),
    log:
        "logs/share.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=5,
    script:
        "../workflow_scripts/paper/share.py"
