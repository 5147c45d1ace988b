"""Numbers as sentences say them."""


def many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"
