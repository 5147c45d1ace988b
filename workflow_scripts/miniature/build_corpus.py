"""Write the training data of the demo's models, and their tokenizer."""

from pathlib import Path

from workflow_scripts.bridge.job import run_job
from workflow_scripts.miniature import catalogue, conversations, corpus
from workflow_scripts.miniature.tokenizer import train_tokenizer


def build_texts(hub: Path, folder: Path) -> None:
    """Write the corpus from the training splits in the hub folder, the conversations and the tokenizer."""
    texts = corpus.build_corpus(hub, folder / catalogue.CORPUS)
    train_tokenizer(texts, folder / catalogue.TOKENIZER)
    conversations.write_conversations(folder / catalogue.CONVERSATIONS)


if "snakemake" in globals():
    run_job(build_texts, snakemake)
