"""Which TeX engine this machine has."""

import shutil

ENGINES = ("pdflatex", "lualatex", "xelatex")
NONE_FOUND = (
    f"no TeX engine was found ({', '.join(ENGINES)}); Debian and Ubuntu have one in the package"
    " texlive-latex-recommended"
)


def find_engine() -> str | None:
    """The way to the first that is there."""
    return next((path for name in ENGINES if (path := shutil.which(name))), None)
