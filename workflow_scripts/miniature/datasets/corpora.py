"""Generate wikitext in two formats: whole pages (EleutherAI), and one line per row, most empty (Salesforce)."""

import re
from random import Random

from workflow_scripts.miniature import prose
from workflow_scripts.miniature.tables import Repository
from workflow_scripts.miniature.world import KINDS, TOWNS, Kind, get_rng

TRAIN_PAGES = 400
RARE_WORDS = 0.02


def build(items: int) -> dict[str, Repository]:
    test_pages = max(4, items // 5)
    splits = {"test": test_pages, "validation": test_pages, "train": TRAIN_PAGES}
    whole, lines, without_rare = {}, {}, {}
    for split, count in splits.items():
        pages = [_make_page(get_rng("wikitext", split, i)) for i in range(count)]
        # The original files have an empty line after every line.
        whole[split] = [{"page": "".join(f" {line} \n \n" for line in page)} for page in pages]
        texts = []
        for page in pages:
            texts += ["", *(text for line in page for text in (f" {line} \n", ""))]
        lines[split] = [{"text": text} for text in texts]
        without_rare[split] = [
            {"text": _blank_rare_words(text, get_rng("rare", split, i))}
            for i, text in enumerate(texts)
        ]
    return {
        "EleutherAI/wikitext_document_level": {"wikitext-2-raw-v1": whole},
        "Salesforce/wikitext": {"wikitext-103-raw-v1": lines, "wikitext-103-v1": without_rare},
    }


def _make_page(rng: Random) -> list[str]:
    """Write a heading, an opening paragraph and some sections, with wikitext's spaces before punctuation."""
    subject = rng.choice([*KINDS, *TOWNS])
    describe = prose.describe_kind if isinstance(subject, Kind) else prose.describe_topic
    lines = [f"= {subject.name.capitalize()} =", _space_marks(describe(rng, subject))]
    for heading in rng.sample(["Nature", "History", "Daily life", "Stories"], rng.randint(1, 3)):
        text = " ".join(prose.write_paragraph(rng) for _ in range(rng.randint(2, 4)))
        lines += [f"= = {heading} = =", _space_marks(text)]
    return lines


def _space_marks(text: str) -> str:
    return re.sub(r"[,.:;?]", r" \g<0>", text)


def _blank_rare_words(text: str, rng: Random) -> str:
    if text.startswith(" ="):
        return text
    return " ".join(
        "<unk>" if word.isalpha() and rng.random() < RARE_WORDS else word
        for word in text.split(" ")
    )
