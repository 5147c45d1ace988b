"""List the names of the demo's models, datasets and files; without heavy imports, because the Snakefile reads it."""

from pathlib import Path

ORGANISATION = "miniature"

DATASETS = (
    "EleutherAI/headqa", "EleutherAI/wikitext_document_level",
    "Magpie-Align/Magpie-Qwen2-Pro-200K-English", "Magpie-Align/Magpie-Qwen2.5-Pro-1M-v0.1",
    "Rowan/hellaswag", "Salesforce/wikitext", "allenai/ai2_arc", "allenai/openbookqa",
    "allenai/sciq", "allenai/winogrande", "aps/super_glue", "baber/piqa", "cais/mmlu",
    "facebook/anli", "google-research-datasets/nq_open", "lighteval/mmlu", "lighteval/siqa",
    "meta-llama/Llama-3.2-1B-Instruct-evals", "nyu-mll/glue", "openai/gsm8k",
    "openlifescienceai/medmcqa", "regisss/math_qa", "tau/commonsense_qa",
    "truthfulqa/truthful_qa",
)  # fmt: skip

# In the order of their training: each base model before its instruct model.
MODELS = (
    "Llama-1.4M", "Qwen2-1M", "Pythia-1M", "Llama-0.3M", "Qwen2-0.2M", "Qwen2-1M-Instruct",
    "Pythia-0.1M", "Llama-1.4M-Instruct",
)  # fmt: skip

# Models that the leaderboard refuses, with the reason.
FAULTY = {
    "Pickled": "Its weights are a pickle.",
    "Closed": "Its licence forbids commercial use.",
    "Own-Code": "It needs code of its own.",
    "Misspelt": "Its model type is none that transformers knows.",
    "Colossal": "Its configuration is that of seventy billion parameters.",
}


# Folder of the trained models in the repository: one tokenizer for all, and a folder per model.
SHIPPED = Path(__file__).resolve().parents[2] / "resources/miniature"
TOKENIZER = "tokenizer.json"
CONFIG, WEIGHTS, MADE = "config.json", "model.safetensors", "made.json"
# Training data: base models use the corpus, instruct models both files. These are in the tokenizer's folder during
# training, and not shipped.
CORPUS, CONVERSATIONS = "corpus.parquet", "conversations.parquet"
