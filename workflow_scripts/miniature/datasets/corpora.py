"""Wikitext, twice: whole pages (EleutherAI) and one line a row, most of them empty (Salesforce)."""

import random

from workflow_scripts.miniature import prose
from workflow_scripts.miniature.items import Repository, Row, columns
from workflow_scripts.miniature.world import Kind, Town, World

TRAIN_PAGES = 400
RARE_WORDS = 0.02


def build(world: World, items: int) -> list[Repository]:
    counts = {"test": max(4, items // 5), "validation": max(4, items // 5), "train": TRAIN_PAGES}
    whole: dict[str, list[Row]] = {}
    lines: dict[str, list[Row]] = {}
    without_rare_words: dict[str, list[Row]] = {}
    for split, count in counts.items():
        pages = [_spread(_page(world, world.rng("wikitext", split, i))) for i in range(count)]
        whole[split] = [
            {"page": "".join(f" {line} \n" if line else " \n" for line in page)} for page in pages
        ]
        texts = [f" {line} \n" if line else "" for page in pages for line in ["", *page]]
        lines[split] = [{"text": text} for text in texts]
        without_rare_words[split] = [
            {"text": _blank_rare_words(text, world.rng("rare", split, i))}
            for i, text in enumerate(texts)
        ]
    by_page = {"wikitext-2-raw-v1": (columns("page"), whole)}
    by_line = {
        "wikitext-103-raw-v1": (columns("text"), lines),
        "wikitext-103-v1": (columns("text"), without_rare_words),
    }
    return [
        Repository("EleutherAI/wikitext_document_level", by_page),
        Repository("Salesforce/wikitext", by_line),
    ]


def _page(world: World, rng: random.Random) -> list[str]:
    """A heading, an opening paragraph and some sections, in wikitext's spaced-out spelling."""
    subject: Kind | Town = rng.choice(world.kinds + world.towns)
    title = subject.name.capitalize()
    lines = [f"= {title} ="]
    opening = (
        prose.about_kind(subject, rng)
        if isinstance(subject, Kind)
        else prose.about_town(subject, rng)
    )
    lines.append(_spaced(" ".join(opening)))
    for heading in rng.sample(["Nature", "History", "Daily life", "Stories"], rng.randint(1, 3)):
        lines.append(f"= = {heading} = =")
        text = " ".join(prose.paragraph(world, rng) for _ in range(rng.randint(2, 4)))
        lines.append(_spaced(text))
    return lines


def _spread(page: list[str]) -> list[str]:
    """An empty line after every line, as in the original files."""
    return [line for text in page for line in (text, "")]


def _spaced(text: str) -> str:
    for mark in ",.:;?":
        text = text.replace(mark, f" {mark}")
    return text


def _blank_rare_words(text: str, rng: random.Random) -> str:
    if not text or text.startswith(" ="):
        return text
    return " ".join(
        "<unk>" if word.isalpha() and rng.random() < RARE_WORDS else word
        for word in text.split(" ")
    )
