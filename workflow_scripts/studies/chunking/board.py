"""Make the leaderboard's tab of chunked models: each checkpoint's quality and speed in one row."""

from pathlib import Path

from workflow_scripts.render.frames import cells, get_checkpoint_name
from workflow_scripts.render.tables import read_table
from workflow_scripts.render.web.board import Column, Tab


def make_chunked_tab(quality: Path) -> Tab:
    """Make a row of each checkpoint of the table chunking_quality."""
    rows = [row | {"name": get_checkpoint_name(row)} for row in cells(read_table(quality))]
    return Tab(
        id="chunked",
        title="Chunked models",
        about=(
            "Models whose layers run in parallel in chunks, before and after each stage of training."
            " Scores in percent and perplexities, ± standard error; of perplexity, lower is better."
        ),
        columns=[
            Column("name", "Model", "name"),
            Column("model", "Base", "choice", "The model that was cut into chunks.", shown=False),
            Column("stage", "Stage", "choice", "The last stage of training."),
            Column("accuracy", "MMLU acc", "score", "The likeliest letter."),
            Column("agreement", "Agreement", "score", "Same letter as the unchanged model."),
            Column("perplexity", "Wikitext", "number", "Perplexity."),
            Column("ratio", "Ratio", "number", "To the unchanged model's perplexity.", shown=False),
            Column("speedup", "Speedup", "number", "Of writing a token in the smallest batch."),
            Column("tokens", "Tokens", "count", "Tokens trained on in all stages."),
        ],
        rows=rows,
    )
