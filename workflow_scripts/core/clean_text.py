"""Escape untrusted text for a terminal, Markdown, CSV, TeX or HTML.

All file names, licences, notes and library messages about downloaded files are escaped here before they are shown.
User names and passwords are removed from URLs.
"""

import re
import unicodedata
from functools import lru_cache

UNKNOWN = "\ufffd"
_MAX_CHARACTERS = 1_000  # of one reason in a list
# Invisible characters with an effect: control characters act on a terminal, direction marks reorder text. Also
# surrogates, which UTF-8 cannot encode, non-characters and private-use characters.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b"
    "\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ue000-\uf8ff\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff\U000f0000-\U0010ffff]"
)
_LINE_ENDS = re.compile("\r\n?")
_SPACES = re.compile("[\x0b\x0c\x1c-\x1f\x85\u2028\u2029]")
_ACCOUNT = re.compile(r"(?<=://)[^/?#\s'\"<>]*@")
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")
# A checkpoint's variant, which cannot be a formula.
_VARIANT = re.compile(r"[@+](k\d+m\d+|prune\d|cpt|sft|tuned)[\w.+-]*")
_MARKUP = re.compile(r"[\\|<`]|(?<=\])[(\[]")  # brackets make a link only if ( or [ follows them


def clean_lines(text: str) -> str:
    """Replace invisible characters other than tabs and line ends, and remove accounts from URLs."""
    text = _SPACES.sub(" ", _LINE_ENDS.sub("\n", _ACCOUNT.sub("", text)))
    return _INVISIBLE.sub(UNKNOWN, text)


def clean_line(text: str) -> str:
    """Clean text and put it on one line."""
    return re.sub(r"[\n\t]", " ", clean_lines(text))


def shorten_text(text: str) -> str:
    """Clean text and put it on one line of limited length."""
    text = " ".join(clean_line(text).split())
    return text if len(text) <= _MAX_CHARACTERS else text[:_MAX_CHARACTERS] + "…"


def escape_markdown(text: str) -> str:
    """Escape text for a cell of a Markdown table: links, images, HTML and cell separators."""
    return _MARKUP.sub(r"\\\g<0>", clean_line(text))


@lru_cache(100_000)  # tables repeat the names of models and tasks
def escape_csv(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would run as a formula."""
    text = clean_line(text)
    is_formula = _FORMULA.match(text.lstrip("'")) and not _VARIANT.fullmatch(text)
    return f"'{text}" if is_formula else text


def unescape_csv(text: str) -> str:
    """Undo `escape_csv`."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text.lstrip("'")) else text


# Each line is a character, a space and its LaTeX code. "[" and "*" after `\\` would be read as its options.
_LATEX_TABLE = r"""
\ \textbackslash{}
& \&
% \%
$ \$
# \#
_ \_
{ \{
} \}
~ \textasciitilde{}
^ \textasciicircum{}
< \textless{}
> \textgreater{}
| \textbar{}
[ {[}
* {*}
± $\pm$
− $-$
— ---
– --
∞ $\infty$
… \ldots{}
† $\dagger$
→ $\rightarrow$
· $\cdot$
× $\times$
√ $\surd$
² $^2$
° $^\circ$
≤ $\leq$
≥ $\geq$
≈ $\approx$
’ '
‘ `
“ ``
” ''
  ~
� ?
ß \ss{}
æ \ae{}
Æ \AE{}
œ \oe{}
Œ \OE{}
ø \o{}
Ø \O{}
ł \l{}
Ł \L{}
ı \i{}
å \aa{}
Å \AA{}
"""
_LATEX = dict(line.split(" ", 1) for line in _LATEX_TABLE.strip("\n").split("\n"))
# The combining accents, each with the LaTeX command that every engine and encoding has.
_ACCENTS = dict(zip("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0323\u0327",
                    "`'^~=u.\"rHvdc", strict=True))  # fmt: skip


def escape_latex(text: str) -> str:
    """Escape text for LaTeX; a character that some engine cannot typeset becomes its code point, `[U+0410]`."""
    return "".join(map(_format_latex, unicodedata.normalize("NFC", clean_line(text))))


def _format_latex(character: str) -> str:
    decomposed = unicodedata.normalize("NFD", character)
    letter, accent = decomposed[0], decomposed[1:]
    if character in _LATEX or character.isascii():
        return _LATEX.get(character, character)
    if letter.isascii() and accent in _ACCENTS:
        return rf"\{_ACCENTS[accent]}{{{letter}}}"
    return f"{{[}}U+{ord(character):04X}{{]}}"
