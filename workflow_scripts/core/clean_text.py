"""Text that somebody else wrote, made fit for what shows it: a terminal, Markdown, CSV, TeX or HTML.

Names of files, licences, notes, what a library said about a stranger's files: all of it goes through here, and
nothing else decides what of it is shown. Addresses lose the account that they are asked with.
"""

import html
import re
import unicodedata
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId

UNKNOWN = "\ufffd"
LONGEST = 1_000  # characters of what is said about one thing
# What shows nothing and does something: terminals obey control characters, and marks of direction turn words
# around. With halves of characters, what no file may hold, and what nobody has given a meaning.
_UNSEEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b"
    "\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ue000-\uf8ff\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff\U000f0000-\U0010ffff"
)
_UNSEEN_ONE, _SPACE_LIKE = re.compile(f"[{_UNSEEN}]"), "\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029"
_HALF = re.compile("[\ud800-\udfff]")
_ACCOUNT = re.compile(r"(?<=://)[^/?#\s'\"<>]*@")
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")
_MARKUP = re.compile(r"[\\|<`]|(?<=\])[(\[]")  # brackets alone, as of a plan, link to nothing


def plain_lines(text: str) -> str:
    """With its lines and tabs, and without all else that is no sign."""
    if _HALF.search(text):  # two halves make a character, one alone does not
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSEEN_ONE.sub(
        lambda one: " " if one[0] in _SPACE_LIKE else UNKNOWN, _ACCOUNT.sub("", text)
    )


def plain(text: str) -> str:
    """On one line."""
    return plain_lines(text).replace("\n", " ").replace("\t", " ")


def shortened(text: str) -> str:
    """On one line of bounded length, for a reason in a list of many."""
    text = " ".join(plain(text).split())
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def plain_values(value: Any) -> Any:
    """The same for every text in what goes into JSON."""
    if isinstance(value, str):
        return plain_lines(value)
    if isinstance(value, dict):
        return {plain_values(key): plain_values(below) for key, below in value.items()}
    return [plain_values(one) for one in value] if isinstance(value, list | tuple) else value


def for_html(text: str) -> str:
    return html.escape(plain_lines(text))


def for_markdown(text: str) -> str:
    """For a cell of a table: no link, no picture, no HTML, no end of the cell."""
    return _MARKUP.sub(r"\\\g<0>", plain(text))


def for_csv(text: str) -> str:
    """What a spreadsheet would run as a formula begins with an apostrophe, on which it is shown as text."""
    text = plain(text)
    return f"'{text}" if _FORMULA.match(text.lstrip("'")) and not _names_a_variant(text) else text


def from_csv(text: str) -> str:
    """As it was before `for_csv`."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text.lstrip("'")) else text


def _names_a_variant(text: str) -> bool:
    """Our own names begin so, as in @k2m12+cpt; no formula is spelt like one."""
    try:
        return text[0] in "@+" and str(CheckpointId.parse(f"a/b{text}")) == f"a/b{text}"
    except UserError:
        return False


_LATEX = {
    **{"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_"},
    **{"{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"±": r"$\pm$", "−": "$-$", "—": "---", "–": "--", "∞": r"$\infty$", "…": r"\ldots{}"},
    **{
        "†": r"$\dagger$",
        "→": r"$\rightarrow$",
        "·": r"$\cdot$",
        "×": r"$\times$",
        "√": r"$\surd$",
    },
    **{"²": "$^2$", "°": r"$^\circ$", "≤": r"$\leq$", "≥": r"$\geq$", "≈": r"$\approx$"},
    **{"’": "'", "‘": "`", "“": "``", "”": "''", "\u00a0": "~", UNKNOWN: "?"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"},
    **{"ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ø": r"\o{}"},
    **{"Ø": r"\O{}", "ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}", "å": r"\aa{}", "Å": r"\AA{}"},
    # Behind a line's end these would open an option, or be one.
    **{"[": "{[}", "*": "{*}"},
}
# Of an accent that follows its letter: the command that every engine and encoding has.
_ACCENTS = dict(zip("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0323\u0327",
                    ("`", "'", "^", "~", "=", "u", ".", '"', "r", "H", "v", "d", "c"), strict=True))  # fmt: skip


def latex_text(text: str) -> str:
    """As LaTeX prints it; a character that not every engine can set stands there by its number."""
    return "".join(map(_in_latex, unicodedata.normalize("NFC", plain(text))))


def _in_latex(character: str) -> str:
    if (known := _LATEX.get(character)) is not None:
        return known
    if character.isascii():
        return character
    parts = unicodedata.normalize("NFD", character)
    if len(parts) == 2 and parts[1] in _ACCENTS and parts[0].isascii():
        return rf"\{_ACCENTS[parts[1]]}{{{parts[0]}}}"
    return f"{{[}}U+{ord(character):04X}{{]}}"
