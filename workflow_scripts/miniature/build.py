"""Build the datasets of the miniature world, and what its models are trained on."""

from pathlib import Path

from workflow_scripts.miniature import catalogue, conversations, corpus
from workflow_scripts.miniature.datasets import chat, corpora, everyday, inference, knowledge, mmlu
from workflow_scripts.miniature.tables import TABLES, Repository, draw_table, write_repository
from workflow_scripts.miniature.tokenizer import train_tokenizer


def build_world(hub: Path, *, items: int) -> None:
    """Fill the hub folder with datasets; `items` is the number of test questions per task."""
    makers = vars(inference) | vars(everyday) | vars(knowledge)
    repositories: dict[str, Repository] = {}
    for name, configs in TABLES.items():
        repositories[name] = {
            config: draw_table(table, makers[table["make"]], items)
            for config, table in configs.items()
            if "make" in table
        }
    truthful = repositories["truthfulqa/truthful_qa"]
    rows = truthful["multiple_choice"]["validation"]
    generation = {"validation": [knowledge.make_generation(row) for row in rows]}
    repositories["truthfulqa/truthful_qa"] = {"generation": generation} | truthful
    for module in (chat, corpora, mmlu):
        repositories |= module.build(items)
    for name, configs in repositories.items():
        write_repository(hub, name, configs)


def build_texts(hub: Path, folder: Path) -> None:
    """Write what the models are trained on, from the training splits in the hub folder, and the tokenizer."""
    texts = corpus.build_corpus(hub, folder / catalogue.CORPUS)
    train_tokenizer(texts, folder / catalogue.TOKENIZER)
    conversations.write_conversations(folder / catalogue.CONVERSATIONS)
